// Curves to zoom into, in the place of a picture. report.write_scripts puts uPlot before it.
const ink = () => getComputedStyle(document.body).color;
const soft = () => getComputedStyle(document.documentElement).getPropertyValue("--grid").trim();

function show(figure, panels) {
  const box = document.createElement("div");
  box.className = "zoom";
  figure.querySelector(".picture").before(box);
  const plots = [];
  let linked = false;
  const link = (plot) => {
    if (linked) return;
    linked = true;
    const { min, max } = plot.scales.x;
    for (const other of plots) if (other !== plot) other.setScale("x", { min, max });
    linked = false;
  };
  for (const panel of panels) {
    const points = panel.series[0].values.length;
    const step = (panel.to - panel.from) / points;
    const times = panel.series[0].values.map((_, i) => panel.from + (i + 0.5) * step);
    const axis = { stroke: ink, grid: { stroke: soft, width: 1 }, ticks: { stroke: soft, width: 1 } };
    const options = {
      title: panel.title,
      width: box.clientWidth,
      height: Math.max(190, Math.min(300, box.clientWidth * 0.38)),
      scales: { x: { time: false } },
      axes: [{ ...axis, label: panel.x, labelSize: 20 }, { ...axis, label: panel.y, labelSize: 20, size: 62 }],
      series: [
        { label: panel.x, value: (_, x) => (x == null ? "–" : x.toFixed(2)) },
        ...panel.series.map(({ label, colour, dashed }) => ({
          label: label || panel.y, stroke: colour || ink(), width: 1.4, dash: dashed ? [6, 4] : [], points: { show: false }, spanGaps: true,
        })),
      ],
      cursor: { drag: { x: true, y: false }, sync: { key: figure.dataset.zoom } },
      hooks: { setScale: [(plot, key) => key === "x" && link(plot)] },
    };
    plots.push(new uPlot(options, [times, ...panel.series.map(({ values }) => values)], box));
  }
  return box;
}

for (const [number, data] of document.querySelectorAll("script.curves").entries()) {
  const figure = data.closest("figure");
  const picture = figure.querySelector(".picture");
  const button = document.createElement("button");
  const hint = document.createElement("span");
  let box = null;
  figure.dataset.zoom = `figure-${number}`;
  hint.textContent = "Drag to zoom, double-click for all.";
  const toggle = () => {
    if (box) {
      box.remove();
      box = null;
    }
    const zooms = !picture.hidden;
    picture.hidden = zooms;
    hint.hidden = !zooms;
    button.textContent = zooms ? "Show the picture" : "Zoom into it";
    if (zooms) box = show(figure, JSON.parse(data.textContent));
  };
  button.textContent = "Zoom into it";
  hint.hidden = true;
  button.addEventListener("click", toggle);
  figure.querySelector("figcaption").append(hint, button);
}
