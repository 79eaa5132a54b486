// The gallery: a card for each scenario, with a small picture of its congestion windows.

import { element, label } from "./form.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [100, 28];

// A line for each flow over the whole run; `lines` are [algorithm, numbers from 0 to 100].
function sparkline(lines, looks) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  picture.classList.add("spark");
  for (const [at, [, values]] of lines.entries()) {
    const path = document.createElementNS(SVG, "path");
    const x = (index) => ((index / (values.length - 1)) * WIDTH).toFixed(1);
    const y = (value) => (1 + (1 - value / 100) * (HEIGHT - 2)).toFixed(1);
    const there = values.map((value, index) => [index, value]).filter(([, value]) => value !== null);
    path.setAttribute("d", there.map(([index, value], nth) => `${nth ? "L" : "M"}${x(index)} ${y(value)}`).join(""));
    path.setAttribute("stroke", looks[at].colour);
    picture.append(path);
  }
  return picture;
}

// Draws the cards; a click on one calls `choose` with its scenario.
export function drawGallery(root, about, looksOf, choose) {
  const cards = about.gallery.map((scenario) => {
    const { name, title, sentence, toml, sparkline: lines } = scenario;
    const names = [...toml.matchAll(/^algorithm = "(\w+)"/gm)].map((match) => match[1]);
    const dots = element("span", { className: "dots" });
    const looks = looksOf(names);
    for (const [index, each] of names.entries()) {
      const dot = element("span", { className: "dot" });
      dot.style.background = looks[index].colour;
      const same = names.filter((name) => name === each).length > 1;
      dots.append(dot, label(each, about) + (same ? ` ${index + 1}` : ""));
    }
    const picture = lines ? [sparkline(lines, looks)] : [];
    const card = element("button", { className: "card" }, dots, ...picture, element("b", { textContent: title }), element("span", { textContent: sentence }));
    card.dataset.name = name;
    card.addEventListener("click", () => choose(scenario));
    return card;
  });
  root.replaceChildren(...cards);
}
