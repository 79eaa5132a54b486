// Runs of one scenario that differ by their seed, as one: a band of curves in the place of many.

export const SEEDS = 20;

const middle = (sorted) => {
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

// Lowest, median and highest of some values; null where there are none.
export function spread(values) {
  const there = values.filter((each) => each !== null && each !== undefined).sort((one, other) => one - other);
  return there.length ? { low: there[0], median: middle(there), high: there.at(-1) } : null;
}

// What the page shows of the runs of a group, as of one run.
export function together(group, members) {
  const states = members.map(({ state }) => state);
  const state = ["running", "waiting", "failed", "cancelled"].find((each) => states.includes(each)) ?? "done";
  const summaries = members.map(({ end }) => end.summary).filter(Boolean);
  const of = (index, key) => spread(summaries.map(({ flows }) => flows[index]?.[key]));
  const flows = summaries[0]?.flows.map((flow, index) => {
    const rate = of(index, "goodput_bps");
    return { ...flow, goodput_bps: rate?.median, spread_bps: rate, mean_rtt_s: of(index, "mean_rtt_s")?.median };
  });
  const end = flows ? { summary: { ...summaries[0], flows, jain_index: spread(summaries.map((each) => each.jain_index))?.median } } : {};
  return {
    ...group,
    state: state === "waiting" && states.includes("done") ? "running" : state,
    done: members.reduce((sum, { done }) => sum + done, 0) / members.length,
    error: members.find(({ error }) => error)?.error ?? "",
    about: members.find(({ about }) => about.flows)?.about ?? {},
    end: state === "done" ? end : {},
  };
}

// A view with the runs of each group as three curves: lowest, median and highest at each time.
export function banded(view, groups) {
  const curves = [];
  const of = new Map(groups.flatMap(({ id, members }) => members.map((member) => [member, id])));
  const parts = new Map();
  for (const curve of view.curves) {
    const group = of.get(curve.run);
    if (group === undefined) {
      curves.push(curve);
      continue;
    }
    const key = `${group} ${curve.panel} ${curve.number}`;
    if (!parts.has(key)) parts.set(key, { run: group, panel: curve.panel, number: curve.number, all: [] });
    parts.get(key).all.push(curve.values);
  }
  for (const { run, panel, number, all } of parts.values()) {
    const spreads = view.times.map((_, at) => spread(all.map((values) => values[at])));
    for (const [edge, name] of [["low", `${number} low`], ["high", `${number} high`], ["median", number]]) {
      curves.push({ run, panel, number: name, values: spreads.map((each) => each && each[edge]) });
    }
  }
  const single = (table) => Object.fromEntries(Object.entries(table).filter(([run]) => !of.has(run)));
  return { ...view, curves, marks: single(view.marks), epochs: single(view.epochs) };
}
