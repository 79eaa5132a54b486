// Writes a scenario's fields as the text of a scenario file.

const plain = /^[A-Za-z0-9_-]+$/;

function value(each) {
  if (Array.isArray(each)) return `[${each.map(value).join(", ")}]`;
  if (each !== null && typeof each === "object") {
    const inner = Object.entries(each).map(([key, of]) => `${key} = ${value(of)}`);
    return `{ ${inner.join(", ")} }`;
  }
  return JSON.stringify(each);
}

const lines = (table) =>
  Object.entries(table)
    .filter(([key, each]) => plain.test(key) && each !== null && each !== undefined && each !== "")
    .map(([key, each]) => `${key} = ${value(each)}`);

export function toTOML(fields) {
  const { bottleneck, link, flow, session, change, ...top } = fields;
  const parts = [lines(top)];
  if (bottleneck) parts.push(["[bottleneck]", ...lines(bottleneck)]);
  for (const [name, tables] of Object.entries({ link, flow, session, change })) {
    for (const each of tables || []) parts.push([`[[${name}]]`, ...lines(each)]);
  }
  return parts.map((part) => part.join("\n")).join("\n\n") + "\n";
}
