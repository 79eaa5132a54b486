// What is marked on the curves: a sender's events, and the plateaus of CUBIC's curves.

import { search } from "./curves.js";

// Events that are marked.
const MARKED = new Set(["slow_start_exit", "recovery", "timeout", "undo", "cwr", "completed"]);
// Most epochs of a flow in one window: more plateaus nobody tells apart.
const MOST_EPOCHS = 40;

// Follows W_max and K of one CUBIC flow through its events, as cubic.h does (RFC 9438, section 4.2).
// W_max is the window at a loss, or less by fast convergence (4.7). K is the cube root of (W_max − cwnd) / C.
// A timeout forgets both (4.8), and a curve that an undo ends is none.
class Cubic {
  constructor(values) {
    this.values = values;
    this.epochs = []; // { start, k, wMax }: times in µs
    this.wMax = 0;
    this.reducedTo = null;
  }

  add(timeUs, kind, cwnd, ssthresh) {
    if (kind === "recovery" || kind === "cwr") {
      const lower = cwnd < this.wMax && this.values.fast_convergence;
      this.wMax = lower ? (cwnd * (1 + this.values.beta)) / 2 : cwnd;
      this.reducedTo = ssthresh;
    } else if (kind === "timeout") {
      [this.wMax, this.reducedTo] = [0, null];
    } else if (kind === "undo") {
      this.reducedTo = null;
    } else if (kind === "recovered" && this.reducedTo !== null) {
      const below = Math.max(this.wMax - this.reducedTo, 0);
      const k = Math.round((below / this.values.C) ** (1 / 3) * 1e6);
      this.epochs.push({ start: timeUs, k, wMax: this.wMax });
      this.reducedTo = null;
    }
  }
}

export class Marks {
  // `kinds` are the names of events, by their codes.
  constructor(kinds) {
    this.kinds = kinds;
    this.events = [];
    this.cubic = new Map(); // number of a flow → Cubic
  }

  follow(number, values) {
    this.cubic.set(number, new Cubic(values));
  }

  append(columns) {
    columns.time_us.forEach((time, i) => {
      const [flow, kind, cwnd] = [columns.flow[i], this.kinds[columns.kind[i]], columns.cwnd_packets[i]];
      this.cubic.get(flow)?.add(time, kind, cwnd, columns.ssthresh_packets[i]);
      if (MARKED.has(kind)) this.events.push([time, flow, kind, cwnd]);
    });
  }

  // [time in s, flow, kind, cwnd] of events in a window: one of a kind in each column.
  within(startUs, endUs, columns) {
    const seen = new Set();
    const found = [];
    for (const [time, flow, kind, cwnd] of this.events) {
      if (time < startUs || time > endUs) continue;
      const key = `${flow} ${kind} ${Math.floor(((time - startUs) * columns) / (endUs - startUs))}`;
      if (seen.has(key)) continue;
      seen.add(key);
      found.push([time / 1e6, flow, kind, cwnd]);
    }
    return found;
  }

  // [flow, start in s, K in s, W_max, end in s] of CUBIC's epochs in a window.
  epochsWithin(startUs, endUs) {
    const found = [];
    for (const [flow, { epochs }] of this.cubic) {
      const starts = epochs.map(({ start }) => start);
      const first = Math.max(search(starts, starts.length, startUs) - 1, 0);
      const last = search(starts, starts.length, endUs);
      if (last - first > MOST_EPOCHS) continue;
      for (let index = first; index < last; index++) {
        const { start, k, wMax } = epochs[index];
        const end = starts[index + 1] ?? Math.max(endUs, start);
        found.push([flow, start / 1e6, k / 1e6, wMax, end / 1e6]);
      }
    }
    return found;
  }
}
