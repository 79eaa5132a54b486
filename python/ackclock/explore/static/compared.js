// Two runs side by side, in numbers: before and after a change.

import { element, label } from "./form.js";

const tidy = (value, digits = 3) => (value >= 1000 ? Math.round(value).toLocaleString("en") : `${+value.toPrecision(digits)}`);

// [what, before, after] for each number that both runs tell.
function numbers(before, after, about) {
  const rows = [];
  const add = (what, one, other, scale, unit) => {
    if (Number.isFinite(one) && Number.isFinite(other)) rows.push([`${what}${unit && ` (${unit})`}`, one * scale, other * scale]);
  };
  before.flows.forEach((flow, index) => {
    const now = after.flows[index];
    if (!now) return;
    const [was, is] = [flow, now].map((each) => label(each.algorithm, about));
    const name = `Flow ${flow.flow} ${was === is ? was : `${was} → ${is}`}`;
    add(`${name}: goodput`, flow.goodput_bps, now.goodput_bps, 1e-6, "Mb/s");
    add(`${name}: mean RTT`, flow.mean_rtt_s, now.mean_rtt_s, 1e3, "ms");
    add(`${name}: retransmitted`, flow.retransmitted_packets, now.retransmitted_packets, 1, "packets");
  });
  if (before.flows.length > 1 && after.flows.length > 1) add("Jain index", before.jain_index, after.jain_index, 1, "");
  before.queues.forEach((queue, index) => {
    const now = after.queues[index] ?? {};
    const name = before.queues.length > 1 ? `Queue ${queue.queue}` : "Queue";
    add(`${name}: utilisation of its link`, queue.utilisation, now.utilisation, 100, "%");
    add(`${name}: mean`, queue.mean_queue_packets, now.mean_queue_packets, 1, "packets");
    add(`${name}: median delay`, queue.median_delay_s, now.median_delay_s, 1e3, "ms");
    add(`${name}: 95th percentile of the delay`, queue.high_delay_s, now.high_delay_s, 1e3, "ms");
  });
  return rows;
}

function change(before, after) {
  if (before === after) return "same";
  if (before === 0) return "";
  const percent = (after / before - 1) * 100;
  return `${percent > 0 ? "+" : "−"}${Math.abs(percent) < 1000 ? tidy(Math.abs(percent), 2) : ">1000"} %`;
}

// Shows two finished runs as a table; hides it where there are not two.
export function drawCompared(root, runs, about) {
  const [before, after] = runs.map(({ end }) => end.summary);
  root.hidden = !(runs.length === 2 && before && after);
  if (root.hidden) return;
  const cell = (text, properties = {}) => element("td", { textContent: text, ...properties });
  const head = ["", runs[0].title, runs[1].title, "change"].map((textContent) => element("th", { textContent, scope: "col" }));
  const rows = numbers(before, after, about).map(([what, one, other]) =>
    element("tr", {}, element("th", { textContent: what, scope: "row" }), cell(tidy(one)), cell(tidy(other)), cell(change(one, other))),
  );
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  root.querySelector(".scroll").replaceChildren(table);
}
