// A scenario in a notebook: sliders of its keys, and the picture of its run, which Python draws.
function render({ model, el }) {
  const picture = document.createElement("div");
  for (const { key, low, high, unit } of model.get("sliders")) {
    const [row, slider, said] = ["label", "input", "output"].map((each) => document.createElement(each));
    const step = (high - low) / 200;
    Object.assign(slider, { type: "range", min: low, max: high, step, value: model.get("values")[key] });
    const say = () => { said.textContent = `${Number(Number(slider.value).toPrecision(4))}${unit}`; };
    slider.addEventListener("input", () => {
      say();
      model.set("values", { ...model.get("values"), [key]: Number(slider.value) });
      model.save_changes();
    });
    say();
    row.style.display = "block";
    row.append(`${key} `, slider, " ", said);
    el.append(row);
  }
  const show = () => { picture.innerHTML = model.get("picture"); };
  model.on("change:picture", show);
  show();
  el.append(picture);
}

export default { render };
