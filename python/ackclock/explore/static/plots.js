// Four panels over one time axis: curves, marks, zoom and the values under the pointer.

import uPlot from "./uplot/uPlot.esm.js";
import { element } from "./form.js";
import { css, drawMarks } from "./signs.js";

export const PANELS = [
  { name: "cwnd", title: "Congestion window", unit: "packets", share: 1.35 },
  { name: "throughput", title: "Throughput", unit: "Mb/s", share: 1 },
  { name: "queue", title: "Queue", unit: "packets", share: 1 },
  { name: "rtt", title: "Smoothed RTT", unit: "ms", share: 1 },
];

// Marks of more curves than these would hide them.
const MOST_MARKED = 8;
const MOST_VALUES = 8;
// Points of all curves together while the window moves: so many are drawn in each frame.
const MOST_MOVING = 40_000;
// A click so far from a mark, px, is on it.
const NEAR = 12;
// More curves than these are thin, and drawn by `drawMany`.
const MOST_BOLD = 6;

// How wide a curve of a panel is; the edges of a band are thin.
const areMany = (mine) => mine.length > MOST_BOLD && !mine.some(({ edge }) => edge);
const widthOf = (mine, { edge }) => (edge ? 0.5 : areMany(mine) ? 1 : 1.5);

// Between the lowest and the highest of several runs.
const bandsOf = (mine) =>
  mine.flatMap(({ edge, colour }, index) => (edge === "high" ? [{ series: [index + 1, index], fill: `${colour}2b` }] : []));

const tidy = (value) =>
  value >= 1000 ? Math.round(value).toLocaleString("en") : value >= 100 ? value.toFixed(0) : value.toPrecision(3);

// The same view with fewer points: the lowest and highest value of several columns in their order.
function coarser(view) {
  const points = view.times.length;
  const most = Math.max(Math.floor(MOST_MOVING / Math.max(view.curves.length, 1)), 100);
  const step = 2 * Math.ceil(points / most);
  if (step <= 2) return view;
  const times = [];
  for (let at = 0; at < points; at += step) {
    const wide = view.times[Math.min(at + step, points) - 1] - view.times[at];
    times.push(view.times[at] + wide / 4, view.times[at] + (wide * 3) / 4);
  }
  const curves = view.curves.map((curve) => {
    const values = [];
    for (let at = 0; at < points; at += step) {
      let low = null;
      let high = null;
      let lowFirst = true;
      for (const value of curve.values.slice(at, at + step)) {
        if (value === null) continue;
        if (low === null || value < low) {
          low = value;
          lowFirst = false;
        }
        if (high === null || value > high) {
          high = value;
          lowFirst = true;
        }
      }
      values.push(...(lowFirst ? [low, high] : [high, low]));
    }
    return { ...curve, values };
  });
  return { ...view, times, curves };
}

export class Plots {
  // `wanted(from, to)` is called when the window on the screen changes, `clicked(recovery, event)` when a
  // mark is clicked, or none.
  constructor(root, wanted, clicked) {
    this.root = root;
    this.wanted = wanted;
    this.clicked = clicked;
    this.curves = [];
    this.plots = [];
    this.whole = null;
    this.detail = null;
    this.end = 1;
    this.from = 0;
    this.to = 1;
    this.showMarks = true;
    this.frame = 0;
    this.key = "";
    new ResizeObserver(() => this.resize()).observe(root);
  }

  // The curves to draw: [{run, panel, number, colour, label, dash, edge}]; of a band first the edge "low",
  // then "high".
  setCurves(curves) {
    this.curves = curves;
    const key = JSON.stringify([curves, this.root.clientWidth > 0]);
    if (key !== this.key) {
      this.key = key;
      this.build();
    }
  }

  get zoomed() {
    return this.from > 0 || this.to < this.end;
  }

  setEnd(end) {
    const all = !this.zoomed;
    this.end = end;
    if (all) {
      this.from = 0;
      this.to = end;
    } else {
      this.to = Math.min(this.to, end);
      if (this.from >= this.to) [this.from, this.to] = [0, end];
    }
  }

  // Takes what the server decimated: of the whole time, or of a window.
  take(view) {
    // The server counts in microseconds: its end may be the page's but for the last bit.
    const whole = view.from <= 0 && view.to >= this.end * (1 - 1e-9);
    if (whole) this.whole = view;
    else this.detail = view;
    this.redraw(true);
  }

  forget() {
    this.whole = this.detail = null;
    this.from = 0;
    this.to = this.end;
  }

  // The finest data that covers the window on the screen.
  get data() {
    const { detail, from, to } = this;
    const slack = (to - from) * 0.001;
    const covers = detail && detail.from <= from + slack && detail.to >= to - slack;
    const finest = this.zoomed && covers ? detail : (this.whole ?? detail);
    return finest && this.moving ? (finest.coarse ??= coarser(finest)) : finest;
  }

  zoom(from, to) {
    const least = Math.min(1e-4, this.end);
    const span = Math.min(Math.max(to - from, least), this.end);
    from = Math.min(Math.max(from, 0), this.end - span);
    this.from = from;
    this.to = from + span;
    this.thinWhileMoving();
    this.redraw();
    this.wanted(this.from, this.to);
  }

  zoomBy(factor, around = (this.from + this.to) / 2) {
    this.zoom(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  all() {
    this.zoom(0, this.end);
  }

  // While the window moves, lines are of one pixel, which browsers draw much faster than wider
  // ones, and of fewer points.
  thinWhileMoving() {
    this.moving = true;
    this.setWidths(() => 1 / devicePixelRatio);
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.moving = false;
      this.setWidths(widthOf);
      this.redraw(true);
    }, 200);
  }

  setWidths(width) {
    for (const { plot, mine } of this.plots) {
      plot.series.slice(1).forEach((series, index) => (series.width = width(mine, mine[index])));
    }
  }

  // Draws once before the next frame.
  redraw(fresh = false) {
    this.fresh ||= fresh;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    const { data } = this;
    if (!data) return;
    if (data !== this.drawn || this.fresh) {
      this.drawn = data;
      this.fresh = false;
      this.marked = this.marksOf(data);
      const found = new Map(data.curves.map((each) => [`${each.run} ${each.panel} ${each.number}`, each.values]));
      const empty = new Array(data.times.length).fill(null);
      for (const { plot, mine } of this.plots) {
        const values = mine.map((each) => found.get(`${each.run} ${each.panel} ${each.number}`) ?? empty);
        plot.setData([data.times, ...values], false);
      }
    }
    for (const { plot } of this.plots) plot.setScale("x", { min: this.from, max: this.to });
  }

  // Which marks to draw, with the colour of their flow.
  marksOf(data) {
    const windows = this.curves.filter((each) => each.panel === "cwnd" && !each.edge);
    if (windows.length > MOST_MARKED) return { signs: [], epochs: [] };
    const of = new Map(windows.map((each) => [`${each.run} ${each.number}`, each]));
    const pick = (table, at) =>
      Object.entries(table).flatMap(([run, rows]) =>
        rows.flatMap((row) => {
          const curve = of.get(`${run} ${row[at]}`);
          return curve ? [{ run, row, colour: curve.colour }] : [];
        }),
      );
    const epochs = pick(data.epochs, 0);
    const flows = new Set(epochs.map(({ row, colour }) => `${row[0]} ${colour}`));
    return { signs: pick(data.marks, 1), epochs: flows.size <= 2 ? epochs : [] };
  }

  heights() {
    const narrow = this.root.clientWidth < 640;
    const room = Math.max(window.innerHeight - (narrow ? 190 : 250), narrow ? 560 : 440);
    const shares = PANELS.reduce((sum, { share }) => sum + share, 0);
    return PANELS.map(({ share }) => Math.max(Math.round((room * share) / shares) - 22, 100));
  }

  build() {
    for (const { plot } of this.plots) plot.destroy();
    this.plots = [];
    this.drawn = null;
    const heights = this.heights();
    this.root.replaceChildren();
    const width = this.root.clientWidth || 600;
    PANELS.forEach((panel, index) => {
      const mine = this.curves.filter((each) => each.panel === panel.name);
      const values = element("span", { className: "values" });
      const unit = element("span", { className: "unit", textContent: panel.unit });
      const title = element("div", { className: "title" }, element("span", {}, `${panel.title} `, unit), values);
      const box = element("div", { className: "panel" }, title);
      box.dataset.panel = panel.name;
      this.root.append(box);
      const last = index === PANELS.length - 1;
      const plot = new uPlot(this.options(panel, mine, width, heights[index], last), this.blank(mine), box);
      box.plot = plot;
      this.plots.push({ plot, mine, values, panel });
      this.bind(plot);
    });
    if (this.data) this.redraw(true);
  }

  blank(mine) {
    return [[0, this.end], ...mine.map(() => [null, null])];
  }

  options(panel, mine, width, height, last) {
    const quiet = css("--quiet");
    const axis = { stroke: quiet, grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    return {
      width,
      height: height + (last ? 22 : 0),
      pxAlign: 0,
      padding: [6, 22, last ? 0 : 4, 0],
      legend: { show: false },
      cursor: {
        y: false,
        sync: { key: "ackclock" },
        drag: { x: true, y: false, setScale: false },
        points: { show: mine.length <= MOST_VALUES && !bandsOf(mine).length, size: 6 },
        bind: { dblclick: () => () => this.all() },
      },
      scales: {
        x: { time: false, auto: false, range: (_, min, max) => [min, max] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        { ...axis, size: last ? 26 : 0, show: true, values: last ? (_, marks) => marks.map((at) => `${+at.toFixed(6)} s`) : (_, marks) => marks.map(() => "") },
        { ...axis, size: 52, values: (_, marks) => marks.map((at) => (at >= 1e4 ? `${at / 1000}k` : at)) },
      ],
      series: [
        {},
        ...mine.map((each) => ({
          label: each.label,
          stroke: each.colour,
          width: widthOf(mine, each),
          alpha: mine.length > 40 ? 0.55 : 1,
          dash: each.dash,
          spanGaps: true,
          points: { show: false },
          ...(areMany(mine) ? { paths: () => null } : {}),
        })),
      ],
      bands: bandsOf(mine),
      hooks: {
        setSelect: [
          (plot) => {
            const { left, width: wide } = plot.select;
            if (wide > 4) this.zoom(plot.posToVal(left, "x"), plot.posToVal(left + wide, "x"));
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
        setCursor: [(plot) => this.tell(plot)],
        draw: [
          ...(areMany(mine) ? [(plot) => this.drawMany(plot, mine)] : []),
          ...(panel.name === "cwnd" ? [(plot) => this.drawMarks(plot)] : []),
        ],
      },
    };
  }

  bind(plot) {
    const { over } = plot;
    over.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const span = this.to - this.from;
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          const by = ((event.deltaX || event.deltaY) / over.clientWidth) * span;
          this.zoom(this.from + by, this.to + by);
          return;
        }
        const at = this.from + (event.offsetX / over.clientWidth) * span;
        this.zoomBy(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) * 0.002), at);
      },
      { passive: false },
    );
    over.addEventListener(
      "mousedown",
      (event) => {
        if (!event.shiftKey) return;
        event.stopImmediatePropagation();
        this.pan(event.clientX, over.clientWidth);
      },
      { capture: true },
    );
    over.addEventListener("click", (event) => this.clicked(plot === this.plots[0].plot && this.recoveryAt(plot, event.offsetX, event.offsetY), event));
    over.addEventListener("touchstart", (event) => this.pinch(event, over), { passive: true });
  }

  // The recovery whose mark is there: its run and flow, its time and the RTT then, s.
  recoveryAt(plot, left, top) {
    const isNear = ({ row: [time, , kind, cwnd] }) =>
      kind === "recovery" && Math.hypot(plot.valToPos(time, "x") - left, plot.valToPos(cwnd, "y") - top) < NEAR;
    const found = this.showMarks && this.marked?.signs.find(isNear);
    if (!found) return null;
    const { run, row: [time, flow] } = found;
    const { curves, times } = this.data;
    const { values } = curves.find((each) => each.run === run && each.panel === "rtt" && each.number === flow);
    const until = times.findLastIndex((each, at) => each <= time && values[at] !== null);
    return { run, flow, time, rtt: values[Math.max(until, 0)] / 1e3 };
  }

  pan(startX, width) {
    const { from, to } = this;
    const move = ({ clientX }) => {
      const by = ((startX - clientX) / width) * (to - from);
      this.zoom(from + by, to + by);
    };
    window.addEventListener("mousemove", move);
    window.addEventListener("mouseup", () => window.removeEventListener("mousemove", move), { once: true });
  }

  // Two fingers zoom and move.
  pinch(event, over) {
    if (event.touches.length !== 2) return;
    const box = over.getBoundingClientRect();
    const places = ({ touches }) => [...touches].map(({ clientX }) => (clientX - box.left) / box.width).sort();
    const [left, right] = places(event);
    const span = this.to - this.from;
    const held = [this.from + left * span, this.from + right * span];
    const move = (next) => {
      if (next.touches.length !== 2) return;
      next.preventDefault();
      const [a, b] = places(next);
      const wide = (held[1] - held[0]) / Math.max(b - a, 0.01);
      this.zoom(held[0] - a * wide, held[0] + (1 - a) * wide);
    };
    over.addEventListener("touchmove", move, { passive: false });
    over.addEventListener("touchend", () => over.removeEventListener("touchmove", move), { once: true });
  }

  // The values under the pointer, at the right of each title.
  tell(source) {
    const { idx } = source.cursor;
    if (source.cursor.left < 0 && source.cursor.event === undefined) return;
    for (const { plot, mine, values, panel } of this.plots) {
      if (plot !== source) continue;
      const time = idx === null || idx === undefined ? undefined : plot.data[0][idx];
      if (time === undefined || source.cursor.left < 0) {
        values.replaceChildren();
        continue;
      }
      const lines = [...mine.entries()].filter(([, { edge }]) => !edge);
      const shown = lines.slice(0, MOST_VALUES).map(([index, each]) => {
        const dot = element("span", { className: "dot" });
        dot.style.background = each.colour;
        const value = plot.data[index + 1]?.[idx];
        return element("span", {}, dot, value === null || value === undefined ? "–" : tidy(value));
      });
      const more = lines.length > MOST_VALUES ? [`… ${lines.length - MOST_VALUES} more`] : [];
      const at = panel.name === "cwnd" ? [element("span", { textContent: `${time.toFixed(3)} s` })] : [];
      values.replaceChildren(...at, ...shown, ...more);
    }
  }

  // Many curves: all of a look as one path, which is much faster than a path for each.
  drawMany(plot, mine) {
    const { ctx, bbox, data } = plot;
    const [times, ...curves] = data;
    const most = plot.scales.y.max || 1;
    const across = bbox.width / (this.to - this.from);
    const up = bbox.height / most;
    const base = bbox.top + bbox.height;
    const step = times[1] - times[0] || 1;
    const first = Math.max(Math.floor((this.from - times[0]) / step) - 2, 0);
    const last = Math.min(Math.ceil((this.to - times[0]) / step) + 2, times.length - 1);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.lineWidth = this.moving ? 1 : devicePixelRatio;
    ctx.globalAlpha = mine.length > 40 ? 0.55 : 1;
    const ofLook = Map.groupBy(mine.map((each, index) => ({ ...each, index })), ({ colour, dash }) => `${colour} ${dash}`);
    for (const group of ofLook.values()) {
      ctx.strokeStyle = group[0].colour;
      ctx.setLineDash(group[0].dash ?? []);
      ctx.beginPath();
      for (const { index } of group) {
        const values = curves[index];
        let pen = false;
        for (let at = first; at <= last; at++) {
          const value = values[at];
          if (value === null || value === undefined) continue;
          const x = bbox.left + (times[at] - this.from) * across;
          if (pen) ctx.lineTo(x, base - value * up);
          else ctx.moveTo(x, base - value * up);
          pen = true;
        }
      }
      ctx.stroke();
    }
    ctx.restore();
  }

  drawMarks(plot) {
    if (!this.showMarks || !this.marked) return;
    const signs = this.marked.signs.filter(({ row: [time] }) => time >= this.from && time <= this.to);
    drawMarks(plot, signs, this.marked.epochs);
  }

  resize() {
    const width = this.root.clientWidth;
    if (!width || !this.plots.length) return;
    const heights = this.heights();
    this.plots.forEach(({ plot }, index) => {
      const last = index === this.plots.length - 1;
      plot.setSize({ width, height: heights[index] + (last ? 22 : 0) });
    });
  }
}
