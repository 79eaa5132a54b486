// The tour for a student: steps, each a scenario with two sentences that stand above its curves.

import { button } from "./chips.js";
import { element } from "./form.js";

export class Tour {
  // `list` is where the steps are chosen, `banner` where the sentences of the step stand that is shown;
  // `choose` runs the scenario of a step.
  constructor(list, banner, steps, choose) {
    Object.assign(this, { banner, steps, choose });
    const items = steps.map(({ title }, index) => element("li", {}, button(title, "Begin the tour here", () => this.go(index))));
    list.replaceChildren(...items);
  }

  async go(index) {
    const { banner, steps } = this;
    await this.choose(steps[index]); // which ends the step before
    const { title, sentence } = steps[index];
    const back = button("Back", "The step before", () => this.go(index - 1));
    const next = button("Next", "The next step", () => this.go(index + 1));
    back.disabled = index === 0;
    next.disabled = index === steps.length - 1;
    const end = button("End", "End the tour; the curves stay", () => this.end());
    const text = element("p", {}, element("b", { textContent: `${index + 1} of ${steps.length}: ${title}. ` }), sentence);
    banner.replaceChildren(text, element("div", { className: "row" }, back, next, end));
    banner.hidden = false;
  }

  end() {
    this.banner.hidden = true;
  }
}
