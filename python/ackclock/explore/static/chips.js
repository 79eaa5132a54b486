// The chips above the panels: which runs there are, how far each is, and what can be done with it.

import { element, label } from "./form.js";

const MOST_NAMED = 12;

export function button(text, title, click) {
  const made = element("button", { type: "button", textContent: text, title });
  made.addEventListener("click", click);
  return made;
}

// The time that a run's rates are of: while all flows without a size were active.
function over({ common_s: [from_s, until_s], duration_s }) {
  const whole = from_s === 0 && until_s === duration_s;
  return whole ? "rates: whole run" : `rates: ${+from_s.toPrecision(4)}–${+until_s.toPrecision(4)} s`;
}

// A chip, and with it its buttons, stays the same element from one state to the next: a run tells
// ten times a second how far it is, and a click whose button is replaced meanwhile is lost.
export class Chips {
  // `actions`: what a click does with the id of a run (cancel, toggle, take, drop).
  constructor(root, about, actions) {
    Object.assign(this, { root, about, actions });
    this.made = new Map(); // id → its chip
  }

  // Shows these runs; `drawn` are the curves with their colours.
  show(runs, hidden, drawn) {
    const { root } = this;
    const wanted = runs.map((run) => this.chip(run, hidden.has(run.id), drawn));
    this.made = new Map(wanted.map((each) => [each.dataset.id, each]));
    for (const each of [...root.children]) if (!wanted.includes(each)) each.remove();
    wanted.forEach((each, index) => {
      if (root.children[index] !== each) root.insertBefore(each, root.children[index] ?? null);
    });
  }

  chip(run, off, drawn) {
    const { id, state } = run;
    const going = state === "waiting" || state === "running";
    const made = this.made.get(id) ?? this.blank();
    const [head, keys, error, progress] = made.children;
    const buttons = JSON.stringify([going, off, run.title]);
    if (made.buttons !== buttons) {
      made.buttons = buttons;
      head.replaceChildren(...this.head(run, going, off));
    }
    const words = { waiting: "waits", failed: "failed", cancelled: "cancelled" }[state] ?? "";
    const word = head.querySelector(".word");
    word.textContent = words;
    word.className = `word ${state === "failed" ? "fails" : "hint"}`;
    word.hidden = !words;
    keys.replaceChildren(...this.keys(run, drawn));
    error.textContent = run.error ?? "";
    error.hidden = !run.error;
    progress.hidden = !going;
    progress.value = run.done;
    made.className = `run${off ? " off" : ""}`;
    made.dataset.id = id;
    made.dataset.state = state;
    return made;
  }

  blank() {
    return element(
      "div",
      {},
      element("div", { className: "head" }),
      element("div", { className: "keys" }),
      element("div", { className: "error" }),
      element("progress", { max: 1 }),
    );
  }

  head({ id, title, judge, end }, going, off) {
    const { cancel, toggle, take, drop, read, rerun } = this.actions;
    const found = [];
    if (judge === "scorecard" && end.kept) found.push(button("Open", "Show the scorecard in a tab of its own", () => read(id)));
    if (judge && end.toml && !going) found.push(button("Run it", "Run the scenario that was found", () => rerun(id)));
    const buttons = going
      ? [button("Cancel", "End this run", () => cancel(id))]
      : judge
      ? [...found, button("✕", "Remove from the page; what was found stays in its folder", () => drop(id))]
      : [
          button(off ? "Show" : "Hide", "Show or hide its curves", () => toggle(id)),
          button("Edit", "Take its scenario into the form", () => take(id)),
          button("✕", `Remove from the page${this.about.keeps ? "; its results stay in their folder" : ""}`, () => drop(id)),
        ];
    return [element("b", { textContent: title, title }), element("span", { className: "word" }), ...buttons];
  }

  keys(run, drawn) {
    const flows = drawn.filter((each) => each.run === run.id && each.panel === "cwnd" && !each.edge);
    const keys = flows.slice(0, MOST_NAMED).map(({ number, colour, dash }) => {
      const line = element("span", { className: "line" });
      line.style.borderTop = `3px ${dash ? "dashed" : "solid"} ${colour}`;
      const { name } = run.about.flows[number - 1];
      const got = run.end.summary?.flows[number - 1]?.goodput_bps;
      const mbps = (each) => (each / 1e6).toPrecision(3);
      const { low, high } = run.end.summary?.flows[number - 1]?.spread_bps ?? {};
      const rate = got === undefined ? "" : ` ${mbps(got)} Mb/s${low === undefined ? "" : ` (${mbps(low)} to ${mbps(high)})`}`;
      const same = run.about.flows.filter((each) => each.name === name).length > 1;
      return element("span", {}, line, `${label(name, this.about)}${same ? ` ${number}` : ""}${rate}`);
    });
    if (flows.length > MOST_NAMED) keys.push(`and ${flows.length - MOST_NAMED} more`);
    if (run.end.says) keys.push(run.end.says);
    if (run.end.summary?.common_s) keys.push(over(run.end.summary));
    return keys;
  }
}
