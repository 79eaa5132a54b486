// The papers' figures: cards with claims and verdicts, and what stands above a figure's curves.

import { button } from "./chips.js";
import { element } from "./form.js";

const pill = (verdict) => element("span", { className: `pill ${verdict.replaceAll(" ", "-")}`, textContent: verdict });

// Draws a card for each figure, below the title of its paper; a click on one calls `choose` with it.
export function drawFigures(root, figures, choose) {
  const papers = Map.groupBy(figures, ({ paper }) => paper);
  const parts = [...papers].flatMap(([paper, own]) => {
    const cards = own.map((figure) => {
      const verdicts = element("span", { className: "dots" }, ...figure.claims.map(({ verdict }) => pill(verdict)));
      const claims = figure.claims.map(({ says }) => element("span", { textContent: `${says}.` }));
      const card = element("button", { className: "card" }, verdicts, element("b", { textContent: figure.title }), ...claims);
      card.dataset.name = figure.name;
      card.addEventListener("click", () => choose(figure));
      return card;
    });
    return [element("h2", { textContent: paper }), element("div", { className: "cards" }, ...cards)];
  });
  root.replaceChildren(...parts);
}

// Shows the claims of a figure above its curves; they go with the curves.
export function drawClaims(banner, { title, claims }) {
  const lines = claims.map(({ says, verdict, firmness, measured, runs }) => {
    const found = [firmness, measured && `measured ${measured}`, /^\d/.test(runs) && runs.replace(/^\d+/, "$& runs")].filter(Boolean).join("; ");
    return element("p", {}, pill(verdict), ` ${says}.`, ...(found ? [element("span", { className: "hint", textContent: ` ${found}.` })] : []));
  });
  const close = button("Close", "Hide the claims; the curves stay", () => (banner.hidden = true));
  const head = element("p", {}, element("b", { textContent: title }), element("span", { className: "hint", textContent: " The curves are of seed 1." }));
  banner.replaceChildren(head, ...lines, element("div", { className: "row" }, close));
  banner.hidden = false;
}
