// One run of the page: its curves so far, and the curves of runs in a window.

import { Curve, Window } from "./curves.js";
import { Marks } from "./marks.js";

// Points of all curves of a window together, and the fewest columns of one.
const MOST_POINTS = 160_000;
const LEAST_COLUMNS = 60;

const SAMPLES = { cwnd_packets: Int32Array, srtt_us: Int32Array, delivered_packets: Float64Array };
const QUEUES = { queue_packets: Int32Array };

export class Run {
  // `kinds` are the names of events, by their codes.
  constructor(id, source, title, kinds) {
    Object.assign(this, { id, source, title, state: "waiting", done: 0, error: "", about: {}, end: {}, version: 0, rows: 0 });
    this.flows = new Map();
    this.queues = new Map();
    this.marks = new Marks(kinds);
  }

  // What the page is told of it, as by a server.
  told() {
    const { id, title, state, done, error, rows, about, end, source } = this;
    return { id, title, state, done, error, rows, about, end, ...source };
  }

  begin(about) {
    this.about = about;
    if (about.backend !== "sim") return; // what the kernel's CUBIC was told is not known
    about.flows.forEach((flow, index) => flow.name === "cubic" && this.marks.follow(index + 1, flow.values));
  }

  // Takes rows of a table.
  take(kind, columns) {
    if (kind === "events") return this.marks.append(columns);
    this.rows += columns.time_us.length;
    const [key, curves, kinds] = kind === "samples" ? ["flow", this.flows, SAMPLES] : ["queue", this.queues, QUEUES];
    const numbers = columns[key];
    for (const number of new Set(numbers)) {
      const mine = (values) => values.filter((_, i) => numbers[i] === number);
      if (!curves.has(number)) curves.set(number, new Curve(kinds));
      const own = Object.fromEntries(Object.keys(kinds).map((name) => [name, mine(columns[name])]));
      curves.get(number).append(mine(columns.time_us), own);
    }
  }

  // Panel, number of the flow or queue, and values on the window's grid.
  *series(window) {
    const rising = (curves) => [...curves].sort(([one], [other]) => one - other);
    for (const [number, curve] of rising(this.flows)) {
      const flow = this.about.flows[number - 1];
      const scale = Math.fround(flow.mss_bytes * 8e-6); // packets → Mb
      const overUs = Math.max(flow.rtt_ns / 1000, 2 * this.about.sample_interval_us);
      yield ["cwnd", number, curve.shown("cwnd_packets", window)];
      yield ["throughput", number, curve.ratePerS("delivered_packets", window, overUs).map((each) => each * scale)];
      yield ["rtt", number, curve.shown("srtt_us", window).map((each) => (each > 0 ? each / 1000 : NaN))];
    }
    for (const [number, curve] of rising(this.queues)) yield ["queue", number, curve.shown("queue_packets", window)];
  }

  // The samples of all flows in the order of time, as CSV.
  csv() {
    const names = Object.keys(SAMPLES);
    const at = new Map([...this.flows.keys()].sort((one, other) => one - other).map((number) => [number, 0]));
    const lines = [["time_us", "flow", ...names].join(",")];
    for (;;) {
      let next = null;
      for (const [number, place] of at) {
        const { store, size } = this.flows.get(number).times;
        if (place < size && (next === null || store[place] < next.time)) next = { number, place, time: store[place] };
      }
      if (next === null) return `${lines.join("\n")}\n`;
      at.set(next.number, next.place + 1);
      const { columns } = this.flows.get(next.number);
      lines.push([next.time, next.number, ...names.map((name) => columns[name].store[next.place])].join(","));
    }
  }
}

// The curves of some runs in a window, in seconds, for uPlot: null where a curve has no value. With many curves, each
// has fewer points.
export function view(runs, from, to, most) {
  const curves = runs.reduce((sum, { flows, queues }) => sum + 3 * flows.size + queues.size, 0);
  const columns = Math.min(most, Math.max(Math.floor(MOST_POINTS / (2 * Math.max(curves, 1))), LEAST_COLUMNS));
  const window = new Window(from * 1e6, to * 1e6, columns);
  const times = Array.from(window.timesUs, (time) => time / 1e6);
  const found = { from: window.startUs / 1e6, to: window.endUs / 1e6, columns, times, curves: [], marks: {}, epochs: {} };
  for (const run of runs) {
    for (const [panel, number, shown] of run.series(window)) {
      const values = Array.from(shown, (value) => (value === value ? value : null));
      found.curves.push({ run: run.id, panel, number, values });
    }
    found.marks[run.id] = run.marks.within(window.startUs, window.endUs, columns);
    found.epochs[run.id] = run.marks.epochsWithin(window.startUs, window.endUs);
  }
  return found;
}
