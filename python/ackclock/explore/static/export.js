// The panels as an SVG picture, on white, as they are on the screen; the same as PNG.

import { PANELS } from "./plots.js";
import { SIGNS } from "./signs.js";

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const [WIDTH, LEFT, RIGHT, GAP] = [1000, 62, 20, 34];
const INK = "#1a1f26";

function steps(low, high, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => +((first + i) * step).toPrecision(12));
}

function path(times, values, x, y) {
  let text = "";
  let pen = false;
  times.forEach((time, i) => {
    if (values[i] === null) return;
    text += `${pen ? "L" : "M"}${x(time).toFixed(1)} ${y(values[i]).toFixed(1)}`;
    pen = true;
  });
  return text;
}

export function svg(plots, title, labels) {
  const { from, to } = plots;
  const parts = [];
  let top = 30;
  labels.forEach(({ colour, dash, text }, index) => {
    if (index % 3 === 0) top += 18;
    const left = LEFT + (index % 3) * 305;
    parts.push(`<path d="M${left} ${top - 5}h18" stroke="${colour}" stroke-width="3" stroke-dasharray="${dash ?? ""}"/>`);
    parts.push(`<text x="${left + 24}" y="${top - 1}">${escaped(text)}</text>`);
  });
  const marked = plots.showMarks ? (plots.marked?.signs ?? []) : [];
  const signs = marked.filter(({ row: [time] }) => time >= from && time <= to);
  const kinds = Object.keys(SIGNS).filter((kind) => signs.some(({ row }) => row[2] === kind));
  if (kinds.length) top += 18;
  kinds.forEach((kind, index) => {
    const left = LEFT + index * 140;
    const { text, points, hollow, line } = SIGNS[kind];
    const fill = hollow || line ? "none" : INK;
    parts.push(`<path transform="translate(${left + 9} ${top - 5})" d="${points}" fill="${fill}" stroke="${INK}"/>`);
    parts.push(`<text x="${left + 24}" y="${top - 1}">${text}</text>`);
  });
  top += 30;
  const x = (time) => LEFT + ((time - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
  for (const { plot, mine, panel } of plots.plots) {
    const height = 130 * PANELS.find(({ name }) => name === panel.name).share;
    const most = plot.scales.y.max || 1;
    const base = top + height;
    const y = (value) => base - (value / most) * height;
    parts.push(`<text x="${LEFT}" y="${top - 6}" font-weight="600">${panel.title} (${panel.unit})</text>`);
    for (const at of steps(0, most, 5)) {
      parts.push(`<path d="M${LEFT} ${y(at).toFixed(1)}H${WIDTH - RIGHT}" stroke="#e3e6ea"/>`);
      parts.push(`<text x="${LEFT - 6}" y="${(y(at) + 4).toFixed(1)}" text-anchor="end" fill="#5c6672">${at}</text>`);
    }
    parts.push(`<clipPath id="${panel.name}"><rect x="${LEFT}" y="${top - 2}" width="${WIDTH - LEFT - RIGHT}" height="${height + 4}"/></clipPath>`);
    parts.push(`<g clip-path="url(#${panel.name})" fill="none" stroke-width="1.5" stroke-linejoin="round">`);
    mine.forEach(({ colour, dash, edge }, index) => {
      const dashed = edge ? ` stroke-opacity=".35"` : dash ? ` stroke-dasharray="${dash.join(" ")}"` : "";
      parts.push(`<path d="${path(plot.data[0], plot.data[index + 1], x, y)}" stroke="${colour}"${dashed}/>`);
    });
    if (panel.name === "cwnd" && plots.showMarks && plots.marked) {
      const words = []; // where they are: none stands on another
      for (const { row: [, start, k, wMax, end], colour } of plots.marked.epochs) {
        const stop = Math.min(end, start + 2 * k);
        if (x(stop) - x(start) < 14) continue;
        parts.push(`<path d="M${x(start).toFixed(1)} ${y(wMax).toFixed(1)}H${x(stop).toFixed(1)}" stroke="${colour}" stroke-dasharray="5 4" stroke-width="1"/>`);
        const roomy = x(stop) - x(start) > 70;
        const write = (text, at, below) => {
          if (words.some(([left, foot]) => Math.abs(left - at) < 44 && Math.abs(foot - below) < 12)) return "";
          words.push([at, below]);
          return `<text x="${at.toFixed(1)}" y="${below.toFixed(1)}" fill="${colour}" stroke="none" font-size="10">${text}</text>`;
        };
        if (roomy) parts.push(write("W_max", x(start) + 3, y(wMax) - 4));
        if (start + k >= end) continue;
        const at = x(start + k);
        parts.push(`<path d="M${at.toFixed(1)} ${(y(wMax) - 8).toFixed(1)}V${base}" stroke="${colour}" stroke-dasharray="1.5 3" stroke-width="1"/>`);
        if (roomy) parts.push(write(`K ${k.toPrecision(2)} s`, at < WIDTH - RIGHT - 48 ? at + 4 : at - 44, base - 5));
      }
      const size = signs.length > 60 ? 0.55 : 1;
      for (const { row: [time, , kind, cwnd], colour } of signs) {
        const { points, hollow, line } = SIGNS[kind];
        const fill = line ? "none" : hollow ? "#fff" : colour;
        parts.push(`<path transform="translate(${x(time).toFixed(1)} ${y(cwnd).toFixed(1)}) scale(${size})" d="${points}" fill="${fill}" stroke="${kind === "timeout" ? "#c62828" : colour}"/>`);
      }
    }
    parts.push("</g>", `<path d="M${LEFT} ${base}H${WIDTH - RIGHT}" stroke="${INK}"/>`);
    for (const at of steps(from, to, 10)) {
      parts.push(`<path d="M${x(at).toFixed(1)} ${base}v4" stroke="${INK}"/>`);
    }
    top = base + GAP;
  }
  for (const at of steps(from, to, 10)) {
    parts.push(`<text x="${x(at).toFixed(1)}" y="${top - GAP + 17}" text-anchor="middle" fill="#5c6672">${at} s</text>`);
  }
  const height = Math.round(top + 4);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="${INK}"><rect width="100%" height="100%" fill="#fff"/><text x="${LEFT}" y="24" font-size="16" font-weight="600">${escaped(title)}</text>${parts.join("")}</svg>`;
}

export async function png(text) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width * 2, image.height * 2];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Puts links into the open menu. One that stays is the same element at the same place: a click whose
// element is replaced meanwhile is lost. `take` gets the address and the name of a file to save: a
// link that the browser follows by itself would not name the token.
export function follow(menu, links, take) {
  const there = new Map([...menu.children].map((each) => [each.dataset.name, each]));
  links.forEach(({ name, text, href }, index) => {
    const link = there.get(name) ?? document.createElement("a");
    there.delete(name);
    link.dataset.name = name;
    if (link.textContent !== text) link.textContent = text;
    if (href) {
      link.href = href;
      link.onclick = (event) => {
        event.preventDefault();
        take(href, name);
      };
    }
    if (menu.children[index] !== link) menu.insertBefore(link, menu.children[index] ?? null);
  });
  there.forEach((gone) => gone.remove());
}
