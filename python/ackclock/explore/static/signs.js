// The marks on the curves of congestion windows: events, and the plateaus of CUBIC's curves.

import { element } from "./form.js";

// Event → its sign around (0, 0), as points of a path, and what it is called.
export const SIGNS = {
  slow_start_exit: { text: "slow start ends", points: "M-4.500 0L0-4.500L4.500 0L0 4.500Z", hollow: true },
  recovery: { text: "recovery", points: "M-4 -5L4 -5L0 2.500Z" },
  timeout: { text: "timeout", points: "M-4-4L4 4M4-4L-4 4", line: true },
  undo: { text: "undo", points: "M-4 4L4 4L0-3.500Z", hollow: true },
  cwr: { text: "ECN", points: "M-3-3L3-3L3 3L-3 3Z", hollow: true },
  completed: { text: "completed", points: "M0-7L0 7", line: true },
};

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Puts the sign and the name of each event of a sender into an element.
export function drawSigns(root) {
  const made = Object.values(SIGNS)
    .slice(0, 5)
    .map(({ text, points, hollow, line }) => {
      const sign = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      sign.setAttribute("viewBox", "-7 -7 14 14");
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const look = { d: points, stroke: "currentColor", "stroke-width": 1.5, fill: hollow || line ? "none" : "currentColor" };
      for (const [name, value] of Object.entries(look)) path.setAttribute(name, value);
      sign.append(path);
      return element("span", {}, sign, text);
    });
  root.replaceChildren(...made);
}

// Draws events and epochs, each with the colour of its flow, on the panel of the windows.
export function drawMarks(plot, signs, epochs) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  const x = (time) => plot.valToPos(time, "x", true);
  const y = (value) => plot.valToPos(value, "y", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = scale;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.font = `${10.5 * scale}px system-ui, sans-serif`;
  const words = [];
  for (const { row, colour } of epochs) drawEpoch(ctx, row, colour, x, y, scale, words);
  const size = scale * (signs.length > 60 ? 0.55 : 1); // where many stand close together
  for (const { row, colour } of signs) {
    const [time, , kind, cwnd] = row;
    const sign = SIGNS[kind];
    ctx.setTransform(size, 0, 0, size, x(time), y(cwnd) - (kind === "recovery" ? 3 * size : 0));
    const path = new Path2D(sign.points);
    ctx.lineWidth = kind === "timeout" ? 2 : 1.5;
    ctx.strokeStyle = kind === "timeout" ? css("--fails") : colour;
    ctx.fillStyle = sign.hollow ? css("--paper") : colour;
    if (!sign.line) ctx.fill(path);
    ctx.stroke(path);
  }
  ctx.restore();
}

// Writes a word, unless it would stand on one that is there.
function write(ctx, text, left, base, scale, words) {
  const box = [left, base - 10 * scale, left + ctx.measureText(text).width + 4 * scale, base + 2 * scale];
  if (words.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return;
  words.push(box);
  ctx.fillText(text, left, base);
}

// W_max as a dashed line from the start of CUBIC's curve to its end, K as a dotted line where it ends.
function drawEpoch(ctx, [, start, k, wMax, end], colour, x, y, scale, words) {
  const [left, right, at] = [x(start), x(Math.min(end, start + 2 * k)), x(start + k)];
  if (right - left < 14 * scale) return;
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.globalAlpha = 0.75;
  ctx.setLineDash([5 * scale, 4 * scale]);
  ctx.beginPath();
  ctx.moveTo(left, y(wMax));
  ctx.lineTo(right, y(wMax));
  ctx.stroke();
  const roomy = right - left > 70 * scale;
  if (roomy) write(ctx, "W_max", left + 3 * scale, y(wMax) - 4 * scale, scale, words);
  if (start + k < end) {
    ctx.setLineDash([1.5 * scale, 3 * scale]);
    ctx.beginPath();
    ctx.moveTo(at, y(wMax) - 8 * scale);
    ctx.lineTo(at, y(0));
    ctx.stroke();
    if (roomy) write(ctx, `K ${k.toPrecision(2)} s`, at + 4 * scale, y(0) - 5 * scale, scale, words);
  }
  ctx.globalAlpha = 1;
  ctx.setLineDash([]);
}
