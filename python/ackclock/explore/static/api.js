// What the page asks of its side: a server, or this browser alone. The page says which it is.

const { side } = document.documentElement.dataset;
const chosen = side === "lab" ? await import("./lab.js") : await import("./server.js");

export { Failure, Mistake } from "./side.js";
export const { about, card, check, start, judge, cancel, remove, source, file, figures, kept, open, view, listen } = chosen;
