// The form of a scenario: what people change most. Everything else stays as it is in the fields.

const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
export { element };

// Keys of the form; the rest of a scenario is shown as a list of names.
const TOP = ["duration", "rtt", "seed", "sample_interval", "bottleneck", "link", "flow"];
const LINK = ["rate", "buffer", "queue", "loss", "trace", "delay"];
const FLOW = ["algorithm", "start", "count", "size", "rtt", "stop", "ecn", "route", "back"];

export class Form {
  // `about` is the server's; `files` the page's own files by name; `changed` is called after each edit.
  constructor(root, about, files, changed) {
    Object.assign(this, { root, about, files, changed, fields: {} });
    this.colourOf = () => "";
    this.read = () => {};
  }

  set(fields) {
    this.fields = structuredClone(fields);
    this.fields.flow ??= [];
    this.draw();
  }

  input(label, table, key, { placeholder = "", title = "", full = false, path = key } = {}) {
    const input = element("input", { value: table[key] ?? "", placeholder, title });
    input.dataset.path = path;
    input.addEventListener("change", () => {
      const text = input.value.trim();
      if (text === "") delete table[key];
      else table[key] = typeof table[key] === "string" || !isNumber(text) ? text : Number(text);
      if (["duration", "rtt", "rate", "buffer", "start", "size", "stop", "delay"].includes(key) && text)
        table[key] = text;
      input.classList.remove("wrong");
      this.changed();
    });
    return element("label", { className: full ? "full" : "", title }, label, input);
  }

  choice(label, path, options, value, chosen) {
    const select = element("select");
    select.dataset.path = path;
    for (const [name, text] of options) {
      select.append(element("option", { value: name, textContent: text, selected: name === value }));
    }
    select.addEventListener("change", () => {
      chosen(select.value);
      this.draw();
      this.changed();
    });
    return element("label", {}, label, select);
  }

  draw() {
    const open = new Set([...this.root.querySelectorAll("details[open]")].map((d) => d.dataset.name));
    const { fields } = this;
    if (!fields) return; // before the first scenario
    const parts = [this.runFields(fields)];
    const links = fields.link ?? (fields.bottleneck ? [fields.bottleneck] : []);
    parts.push(...links.map((link, index) => this.linkFields(link, index, links)));
    if (links.length) parts.push(this.addLink(links));
    parts.push(this.flowFields(fields.flow));
    const others = this.others();
    if (others.length) {
      const names = others.map((name) => element("code", { textContent: name }));
      const list = names.flatMap((name, i) => (i ? [", ", name] : [name]));
      parts.push(element("p", { className: "hint" }, "Also set, in the TOML tab: ", ...list));
    }
    this.root.replaceChildren(...parts);
    for (const details of this.root.querySelectorAll("details")) {
      details.open = open.has(details.dataset.name);
    }
  }

  others() {
    const { fields } = this;
    const beyond = (table, known, prefix) =>
      Object.keys(table || {})
        .filter((key) => !known.includes(key))
        .map((key) => prefix + key);
    return [
      ...beyond(fields, TOP, ""),
      ...beyond(fields.bottleneck, LINK, "bottleneck."),
      ...(fields.link ?? []).flatMap((link, i) => beyond(link, LINK, `link ${i + 1}.`)),
      ...fields.flow.flatMap((flow, i) => beyond(flow, FLOW, `flow ${i + 1}.`)),
    ];
  }

  runFields(fields) {
    return element(
      "fieldset",
      {},
      element("legend", { textContent: "Run" }),
      element(
        "div",
        { className: "fields" },
        this.input("Duration", fields, "duration", { placeholder: "60s" }),
        this.input("Round-trip time", fields, "rtt", { placeholder: "40ms" }),
        this.input("Sample every", fields, "sample_interval", { placeholder: "100ms" }),
        this.input("Seed", fields, "seed", { placeholder: "1" }),
      ),
    );
  }

  // One link is the table [bottleneck]; several are [[link]], which packets pass in order.
  setLinks(links) {
    delete this.fields.bottleneck;
    delete this.fields.link;
    if (links.length === 1) this.fields.bottleneck = links[0];
    else this.fields.link = links;
    for (const flow of this.fields.flow) {
      for (const key of ["route", "back"]) {
        if (links.length === 1 || flow[key]?.some((number) => number > links.length)) delete flow[key];
      }
    }
    this.draw();
    this.changed();
  }

  addLink(links) {
    const title = "Packets pass the links in order";
    const add = element("button", { type: "button", id: "add-link", textContent: "Add a link", title });
    add.addEventListener("click", () => this.setLinks([...links, structuredClone(links.at(-1))]));
    return add;
  }

  // Numbers of links, such as 1 2.
  route(text, flow, key, path, title, placeholder) {
    const input = element("input", { value: (flow[key] ?? []).join(" "), placeholder, title });
    input.dataset.path = path;
    input.addEventListener("change", () => {
      const numbers = input.value.split(/[\s,]+/).filter(Boolean).map(Number);
      if (numbers.length) flow[key] = numbers.map((each) => (Number.isFinite(each) ? each : 0));
      else delete flow[key];
      this.changed();
    });
    return element("label", { title }, text, input);
  }

  linkFields(link, index, links) {
    const several = links.length > 1;
    const path = several ? `link ${index + 1}.` : "bottleneck.";
    const table = typeof link.queue === "object" ? link.queue : { kind: link.queue ?? "drop_tail" };
    const kinds = Object.keys(this.about.queues).map((kind) => [kind, kind.replaceAll("_", " ")]);
    const queue = this.choice("Queue discipline", `${path}queue`, kinds, table.kind, (kind) => {
      if (kind === "drop_tail") delete link.queue;
      else link.queue = kind;
    });
    const file = element("input", { type: "file", accept: ".trace,text/plain" });
    file.addEventListener("change", async () => {
      const name = file.files[0].name.replace(/\.[^.]*$/, "").replace(/[^\w-]/g, "_").slice(0, 40);
      link.trace = `${name || "link"}.trace`;
      this.files[link.trace] = await file.files[0].text();
      delete link.rate;
      this.draw();
      this.changed();
    });
    const rate = link.trace
      ? this.input("Trace (empty: a rate)", link, "trace", { path: `${path}trace` })
      : this.input("Rate", link, "rate", { placeholder: "100mbit", path: `${path}rate` });
    const legend = element("legend", { textContent: several ? `Link ${index + 1}` : "Link" });
    if (several) {
      const gone = element("button", { type: "button", className: "plain", textContent: "✕", title: "Remove this link" });
      gone.addEventListener("click", () => this.setLinks(links.filter((each) => each !== link)));
      legend.append(" ", gone);
    }
    return element(
      "fieldset",
      {},
      legend,
      element(
        "div",
        { className: "fields" },
        rate,
        this.input("Buffer", link, "buffer", { placeholder: "1bdp", path: `${path}buffer` }),
        queue,
        typeof link.loss === "object"
          ? ""
          : this.input("Random loss", link, "loss", { placeholder: "none, or 0.001", path: `${path}loss` }),
        several ? this.input("Delay behind it", link, "delay", { placeholder: "0s", path: `${path}delay` }) : "",
      ),
      this.parameters(`queue-${index}-${table.kind}`, this.about.queues[table.kind] ?? [], table, (key, value) => {
        const { kind, ...rest } = table;
        if (value === "") delete rest[key];
        else rest[key] = value;
        link.queue = Object.keys(rest).length ? { kind, ...rest } : kind;
      }),
      element(
        "details",
        {},
        element("summary", { textContent: "A recorded link instead of a rate" }),
        element("p", { className: "hint", textContent: "A trace as of mahimahi: times in ms, one a line." }),
        file,
      ),
    );
  }

  // Parameters that may be left at their defaults, folded.
  parameters(name, known, values, set) {
    if (!known.length) return "";
    const list = known.map(({ name: key, default: usual, doc }) => {
      const given = values[key];
      const input = element("input", { value: given ?? "", placeholder: String(usual ?? "") });
      input.addEventListener("change", () => {
        const text = input.value.trim();
        set(key, isNumber(text) ? Number(text) : text === "true" ? true : text === "false" ? false : text);
        this.draw();
        this.changed();
      });
      return element("label", { title: doc }, key.replaceAll("_", " "), input);
    });
    const count = known.filter(({ name: key }) => values[key] !== undefined).length;
    const details = element(
      "details",
      {},
      element("summary", { textContent: count ? `Parameters (${count} set)` : "Parameters" }),
      element("div", { className: "fields" }, ...list),
    );
    details.dataset.name = name;
    return details;
  }

  flowFields(flows) {
    const add = element("button", { type: "button", textContent: "Add a flow" });
    add.addEventListener("click", () => {
      flows.push(structuredClone(flows.at(-1) ?? { algorithm: "cubic" }));
      this.draw();
      this.changed();
    });
    return element(
      "fieldset",
      {},
      element("legend", { textContent: "Flows" }),
      ...flows.map((flow, index) => this.flowCard(flow, index, flows)),
      add,
    );
  }

  flowCard(flow, index, flows) {
    const path = (key) => `flow ${index + 1}.${key}`;
    const spec = parse(flow.algorithm ?? "cubic");
    const known = this.about.algorithms.find((each) => each.name === spec.name);
    const write = () => {
      flow.algorithm = unparse(spec);
    };
    const names = this.about.algorithms.map((each) => [each.name, label(each.name, this.about)]);
    names.sort((a, b) => a[1].localeCompare(b[1], "en", { sensitivity: "base" }));
    const own = Object.keys(this.files).filter((name) => name.endsWith(".c")).map((name) => [name, name]);
    const all = [...own, ...names];
    if (!all.some(([name]) => name === spec.name)) all.unshift([spec.name, spec.name]);
    const algorithm = this.choice("Algorithm", path("algorithm"), all, spec.name, (name) => {
      Object.assign(spec, { name, preset: "", values: {} });
      write();
    });
    algorithm.className = known && Object.keys(known.presets).length ? "" : "full";
    const preset = [];
    if (!algorithm.className) {
      const presets = [["", "the default"], ...Object.keys(known.presets).map((each) => [each, each])];
      preset.push(
        this.choice("Preset", path("preset"), presets, spec.preset, (name) => {
          spec.preset = name;
          write();
        }),
      );
    }
    const gone = element("button", { type: "button", className: "plain", textContent: "✕", title: "Remove" });
    gone.addEventListener("click", () => {
      flows.splice(index, 1);
      this.draw();
      this.changed();
    });
    const dot = element("span", { className: "dot" });
    dot.style.background = this.colourOf(spec.name);
    // The curves of two flows whose algorithms have one colour have other colours.
    const same = (each) => this.colourOf(parse(each.algorithm ?? "cubic").name) === this.colourOf(spec.name);
    dot.hidden = flows.filter(same).length > 1;
    const title = element("b", {}, dot, `Flow ${index + 1}`);
    const code = element("button", { type: "button", className: "plain code", textContent: "C file", title: "Read its C file" });
    code.addEventListener("click", () => this.read(spec.name));
    code.hidden = !known && this.files[spec.name] === undefined;
    return element(
      "div",
      { className: "flow" },
      element("div", { className: "head" }, title, code, flows.length > 1 ? gone : ""),
      element(
        "div",
        { className: "fields" },
        algorithm,
        ...preset,
        this.input("Starts at", flow, "start", { placeholder: "0s", path: path("start") }),
        this.input("Flows like this", flow, "count", { placeholder: "1", path: path("count") }),
        this.input("Own RTT", flow, "rtt", { placeholder: this.fields.rtt ?? "", path: path("rtt") }),
        this.input("Size", flow, "size", { placeholder: "endless", path: path("size") }),
        ...(this.fields.link
          ? [
              this.route("Links of its data", flow, "route", path("route"), "Their numbers, in order", "every link"),
              this.route("Links of its ACKs", flow, "back", path("back"), "Their numbers, in order", "none"),
            ]
          : []),
      ),
      this.parameters(`flow-${index}`, known?.params ?? [], spec.values, (key, value) => {
        if (value === "") delete spec.values[key];
        else spec.values[key] = value;
        write();
      }),
    );
  }

  // Shows which field an error names: "flow 2: start = …", "bottleneck.rate = …", "rtt is missing".
  accuse(message) {
    const found = /^(?:((?:flow|link) \d+)[.:] ?)?([\w.]+)/.exec(message);
    if (!found) return;
    const path = found[1] ? `${found[1]}.${found[2]}` : found[2];
    const input = this.root.querySelector(`[data-path="${CSS.escape(path)}"]`);
    input?.classList.add("wrong");
    input?.scrollIntoView({ block: "nearest" });
  }
}

const isNumber = (text) => /^-?\d+(\.\d+)?(e-?\d+)?$/i.test(text);

export const label = (name, about) => about.styles[name]?.label ?? name;

// An algorithm's spec, NAME[@PRESET][:PARAMETER=VALUE,…].
export function parse(spec) {
  const [, name, preset, values] = /^([^@:]*)(?:@([^:]*))?(?::(.*))?$/.exec(spec) ?? [null, spec];
  const pairs = (values ?? "").split(",").filter(Boolean).map((pair) => pair.split("="));
  return { name, preset: preset ?? "", values: Object.fromEntries(pairs) };
}

function unparse({ name, preset, values }) {
  const pairs = Object.entries(values).map(([key, value]) => `${key}=${value}`);
  return name + (preset ? `@${preset}` : "") + (pairs.length ? `:${pairs.join(",")}` : "");
}
