// Short names of scenarios, and the looks of their flows.

import { label, parse } from "./form.js";

// Keys of a scenario that a name tells.
const MOST_NAMED = 4;

function flat(table, prefix = "") {
  return Object.entries(table ?? {}).flatMap(([key, value]) =>
    value !== null && typeof value === "object"
      ? flat(value, Array.isArray(table) ? `${prefix}${+key + 1}.` : `${prefix}${key}.`)
      : [[Array.isArray(table) ? `${prefix}${+key + 1}` : prefix + key, String(value)]],
  );
}

const short = (key) => key.replace("bottleneck.", "").replace(/^flow\.(\d+)\./, "flow $1 ").replace(/ ?algorithm$/, "");

// The dashes of each round of colours.
const DASHES = [undefined, [7, 4], [2, 3], [7, 3, 2, 3]];

// {colour, dash} of each flow: its algorithm's colour where no two share one, else by number, as `style.looks`.
export function looks(names, about, numbers = [...names.keys()]) {
  const own = names.map((name) => about.styles[name]?.colour);
  if (new Set(own).size === own.length) return own.map((colour) => ({ colour }));
  const many = about.colours.length;
  return numbers.map((number) => ({ colour: about.colours[number % many], dash: DASHES[Math.floor(number / many) % DASHES.length] }));
}

// What differs from the run before it, or the name of the scenario by itself.
export function describe(fields, files, before, about) {
  if (before) {
    const [old, now] = [new Map(flat(before.fields)), new Map(flat(fields))];
    const changed = [...new Set([...old.keys(), ...now.keys()])].filter((key) => old.get(key) !== now.get(key));
    if (changed.length === 0) {
      const written = Object.keys(files).filter((name) => before.files?.[name] !== files[name]);
      return written.length ? `${written.join(", ")} changed` : "again";
    }
    if (changed.length <= 2) {
      return changed.map((key) => `${short(key)} ${now.get(key) ?? "as usual"}`.trim()).join(", ");
    }
  }
  return entitle(fields, about);
}

// A name for each scenario: of those that would have the same one, with what differs among them.
export function entitleAll(scenarios, about) {
  const titles = scenarios.map((fields) => (fields ? entitle(fields, about) : ""));
  const same = Map.groupBy(scenarios.keys(), (index) => titles[index]);
  for (const [title, group] of same) {
    if (!title || group.length < 2) continue;
    const tables = group.map((index) => new Map(flat(scenarios[index])));
    const keys = [...new Set(tables.flatMap((table) => [...table.keys()]))];
    const differ = keys.filter((key) => new Set(tables.map((table) => table.get(key))).size > 1);
    group.forEach((index, at) => {
      const own = differ.filter((key) => tables[at].has(key)).map((key) => `${short(key)} ${tables[at].get(key).split("/").at(-1)}`);
      const more = own.length > MOST_NAMED ? [`${own.length - MOST_NAMED} more`] : [];
      if (own.length) titles[index] = [title, ...own.slice(0, MOST_NAMED), ...more].join(", ");
    });
  }
  return titles;
}

// Algorithms, rates, round-trip time.
export function entitle(fields, about) {
  const names = (fields.flow ?? []).map((flow) => label(parse(flow.algorithm ?? "cubic").name.split("/").at(-1), about));
  const rates = (fields.link ?? [fields.bottleneck]).map((link) => link?.rate).filter(Boolean);
  return [[...new Set(names)].join(" and "), rates.join(" and "), fields.rtt].filter(Boolean).join(", ");
}
