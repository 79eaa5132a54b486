// The list of kept results: runs, figures, sweeps and scorecards.

import { button } from "./chips.js";
import { element } from "./form.js";
import { entitleAll } from "./names.js";

// The address of an entry's page.
export const addressOf = ({ path, key, page }) => `/kept/${key}/${path.split("/").map(encodeURIComponent).join("/")}/${page}`;

// Draws what is kept; `open` is called with the path and the title of a run that is to be shown.
export function drawKept(root, kept, about, open) {
  const titles = entitleAll(kept.map(({ scenario }) => scenario), about);
  const rows = kept.map(({ path, kind, page, key, written_s: written, scenario, valid }, index) => {
    const actions = [];
    const title = titles[index] || path.split("/").at(-1).slice(0, 12);
    if (kind === "run") actions.push(button("Open", "Show its curves beside the others", () => open(path, title)));
    if (page) {
      actions.push(element("a", { href: addressOf({ path, key, page }), target: "_blank", textContent: page.endsWith(".png") ? "Picture" : "Page" }));
    } else if (kind === "sweep") {
      actions.push(element("span", { className: "without", textContent: "no picture: sweep it with --plot" }));
    }
    const when = element("time", { textContent: new Date(written * 1000).toLocaleString() });
    const what = element("span", { className: "kind", textContent: valid === false ? `invalid ${kind}` : kind });
    const name = element("span", { className: "path" }, element("span", { className: "mono", textContent: path }));
    if (scenario) name.prepend(element("b", { textContent: title }));
    return element("div", { className: "kept-row" }, what, name, when, ...actions);
  });
  root.replaceChildren(...(rows.length ? rows : ["Nothing yet: run a scenario."]));
}
