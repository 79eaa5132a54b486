// Short names of scenarios.

import { label, parse } from "/static/form.js";

function flat(table, prefix = "") {
  return Object.entries(table ?? {}).flatMap(([key, value]) =>
    value !== null && typeof value === "object"
      ? flat(value, Array.isArray(table) ? `${prefix}${+key + 1}.` : `${prefix}${key}.`)
      : [[Array.isArray(table) ? `${prefix}${+key + 1}` : prefix + key, String(value)]],
  );
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
      const name = (key) => key.replace("bottleneck.", "").replace(/^flow\.(\d+)\./, "flow $1 ").replace("algorithm", "");
      return changed.map((key) => `${name(key)} ${now.get(key) ?? "as usual"}`.replace("  ", " ").trim()).join(", ");
    }
  }
  return entitle(fields, about);
}

// Algorithms, rates, round-trip time.
export function entitle(fields, about) {
  const names = (fields.flow ?? []).map((flow) => label(parse(flow.algorithm ?? "cubic").name.split("/").at(-1), about));
  const rates = (fields.link ?? [fields.bottleneck]).map((link) => link?.rate).filter(Boolean);
  return [[...new Set(names)].join(" and "), rates.join(" and "), fields.rtt].filter(Boolean).join(", ");
}
