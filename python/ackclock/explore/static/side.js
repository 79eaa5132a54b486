// What both sides of the page share: how they refuse, and the form of curves.

// It did not do what was asked, and the message says why; a mistake is one of the user's.
export class Failure extends Error {}
export class Mistake extends Failure {}

// Completes a view for uPlot: the times of its grid, and null where a curve has no value (NaN).
export function drawable(view) {
  const points = 2 * view.columns;
  const step = (view.to - view.from) / points;
  view.times = Array.from({ length: points }, (_, i) => view.from + (i + 0.5) * step);
  for (const curve of view.curves) curve.values = Array.from(curve.values, (value) => (value === value ? value : null));
  return view;
}
