// The page: what is shown, what is to run next, and what a click does.

import * as api from "./api.js";
import { Chips } from "./chips.js";
import { Code } from "./code.js";
import { drawCompared } from "./compared.js";
import { follow, png, save, svg } from "./export.js";
import { drawClaims, drawFigures } from "./figures.js";
import { Form, label } from "./form.js";
import { drawGallery } from "./gallery.js";
import { drawKept } from "./kept.js";
import { pack, unpack } from "./link.js";
import { describe, looks } from "./names.js";
import { Plots } from "./plots.js";
import { SEEDS, banded, together } from "./seeds.js";
import { drawSigns } from "./signs.js";
import { toTOML } from "./toml.js";
import { Tour } from "./tour.js";

const $ = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];

// Longest address that a link may have.
const MOST_LINK = 16_000;

const OF_SEEDS = `, ${SEEDS} seeds`; // ends the title of a group

let about;
let form;
let code;
let plots;
let chips;
let tour;
const runs = new Map(); // id → what the server told
let shown = []; // ids, in the order of their start
const hidden = new Set();
const slots = new Map(); // id → number of its first colour
const draft = { title: "", files: {} };
let tomlEdited = false;
let cleared = 0; // how often the page was emptied for a scenario of the gallery
let latest = Promise.resolve(); // the start of the latest run; the next one waits for it
let filled; // the form has its first scenario

// ---- Small things -------------------------------------------------------------------------------

function note(text) {
  $("#note").textContent = text;
  $("#note").hidden = false;
  clearTimeout(note.timer);
  note.timer = setTimeout(() => ($("#note").hidden = true), 5000);
}

function problem(text) {
  $("#problem").textContent = text ?? "";
  $("#problem").hidden = !text;
  all(".wrong").forEach((each) => each.classList.remove("wrong"));
  if (text) form.accuse(text);
}

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

// A colour of the figures, lighter where the page is dark; without one that of text.
function onPage(colour) {
  if (!colour) return isDark() ? "#e4e8ec" : "#1a1f26";
  if (!isDark()) return colour;
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `#${parts.map((each) => Math.round(each + (255 - each) * 0.28).toString(16).padStart(2, "0")).join("")}`;
}

const looksOf = (names, numbers) => looks(names, about, numbers).map(({ colour, dash }) => ({ colour: onPage(colour), dash }));

// On a phone the form stands above what is shown.
const fold = () => $("#side").classList.add("folded");

function show(section) {
  for (const name of ["stage", "gallery", "figures", "kept"]) $(`#${name}`).hidden = name !== section;
  if (section === "stage") plots.resize();
}

// ---- What to run next ---------------------------------------------------------------------------

function fill(fields, files, title) {
  draft.title = title;
  for (const [name, text] of Object.entries(files)) draft.files[name] = text;
  form.set(fields);
  $("#toml").value = toTOML(form.fields);
  tomlEdited = false;
  code.draw();
}

// What somebody has typed or chosen while the page opened stays.
async function first({ title, toml }) {
  const { fields } = await api.check({ toml });
  if (tomlEdited) form.set(fields);
  else if (!form.fields.flow) fill(fields, {}, title);
  if (document.activeElement === $("#toml") && !tomlEdited) $("#toml").select(); // a paste on its way replaces it
}

// The form has changed.
function edited() {
  draft.title = "";
  $("#toml").value = toTOML(form.fields);
  tomlEdited = false;
  problem();
}

function tab(name) {
  all(".tabs button").forEach((each) => each.setAttribute("aria-selected", each.dataset.tab === name));
  all(".tab").forEach((each) => (each.hidden = each.dataset.tab !== name));
  $("#side").classList.toggle("wide", name === "code");
}

// The scenario as it is written now; the form takes what was typed as TOML.
async function written() {
  await filled;
  if (tomlEdited) {
    const toml = $("#toml").value;
    const { fields } = await api.check({ toml, files: used(toml) });
    form.set(fields);
    tomlEdited = false;
    draft.title = "";
  }
  const toml = toTOML(form.fields);
  const files = used(toml);
  const before = shown.map((id) => runs.get(id)).filter((each) => each?.fields).at(-1);
  const title = draft.title || describe(form.fields, files, before, about);
  return { toml, files, title, fields: structuredClone(form.fields) };
}

const used = (toml) => Object.fromEntries(Object.entries(draft.files).filter(([name]) => toml.includes(`"${name}`)));

// Starts what is written with one seed after another; returns the id of the group.
async function startSeeds({ fields, toml, files, title }) {
  const from = Number(fields.seed ?? 1);
  const members = [];
  for (let seed = from; seed < from + SEEDS; seed++)
    members.push((await api.start({ toml: toTOML({ ...fields, seed }), files, title: `${title}, seed ${seed}`, on: "sim" })).id);
  const id = `seeds-${members[0]}`;
  runs.set(id, { id, members, toml, files, title: title + OF_SEEDS, on: "sim", rows: 0, about: {}, end: {}, done: 0, error: "" });
  gather();
  return id;
}

// The runs of a group, or the run itself.
const membersOf = (id) => runs.get(id)?.members ?? [id];
const cancel = (id) => Promise.all(membersOf(id).map(api.cancel));

// A group shows what its runs come to.
function gather() {
  for (const [id, group] of runs) {
    const members = group.members?.map((each) => runs.get(each)).filter(Boolean);
    if (members?.length) runs.set(id, together(group, members));
  }
}

// Runs what is written, once or with many seeds. A card that is clicked before the run has begun replaces it.
async function run(many = false) {
  const mine = cleared;
  const before = latest;
  let begun;
  latest = new Promise((resolve) => (begun = resolve));
  problem();
  for (const each of [$("#run"), $("#seeds")]) each.disabled = true;
  try {
    const source = await written();
    await before;
    if (mine !== cleared) return;
    const { fields, ...asked } = source;
    const ids = [many ? await startSeeds(source) : (await api.start({ ...asked, on: "sim" })).id];
    if (!many && $("#on-kernel").checked && about.kernel_lacks === "") {
      ids.push((await api.start({ ...asked, title: `${source.title}, kernel`, on: "kernel" })).id);
    }
    if (mine !== cleared) return await Promise.all(ids.map(cancel));
    fold();
    for (const id of ids) add(id, source);
    const file = code.shown;
    if (file && !(file in asked.files)) note(`No flow runs ${file}: choose it as an algorithm in the tab "Scenario".`);
  } catch (error) {
    if (mine !== cleared) return;
    if (!(error instanceof api.Mistake)) note(String(error.message));
    problem(error.message);
    accuseCode(error.message);
  } finally {
    begun();
    for (const each of [$("#run"), $("#seeds")]) each.disabled = false;
  }
}

// Judges the algorithm of the first flow.
async function judge(what) {
  problem();
  try {
    const { title: _, ...source } = await written();
    const { algorithm } = source.fields.flow[0] ?? {};
    const title = `${what === "attack" ? "Attack on" : "Scorecard of"} ${algorithm}`;
    const { id } = await api.judge({ toml: source.toml, files: source.files, title, judge: what });
    fold();
    add(id, { ...source, title, judge: what });
  } catch (error) {
    if (!(error instanceof api.Failure)) throw error;
    failed(error.message);
  }
}

// Shows a scorecard.
async function read(id) {
  const address = await api.card(runs.get(id).end.kept);
  if (address) open(address, "_blank");
  else note("The scorecard is not in the results' folder any more.");
}

// Runs what an attack has found.
async function rerun(id) {
  const { end, files, title } = runs.get(id);
  const { fields } = await api.check({ toml: end.toml, files });
  fill(fields, files, `${title}: what it found`);
  await run();
}

// Offers the branch of a run in which a recovery is not needed.
function offer(recovery, { clientX, clientY }) {
  const { fields, on, members } = runs.get(recovery?.run) ?? {};
  const button = $("#what-if");
  button.hidden = !fields || on !== "sim" || members;
  Object.assign(button.style, { left: `${clientX}px`, top: `${clientY}px` });
  button.onclick = () => branch(recovery);
}

// Runs the same, but a flow loses nothing of what it sent in the time before its recovery.
async function branch({ run: id, flow, time, rtt }) {
  $("#what-if").hidden = true;
  const { files, fields } = runs.get(id);
  const at = (s, keep_packets) => ({ at: `${+s.toFixed(6)}s`, flow, keep_packets });
  const change = [...(fields.change ?? []), at(Math.max(time - 1.5 * rtt, 1e-6), 1e6), at(time, 0)];
  const source = { fields: { ...fields, change }, files, title: `without the loss of flow ${flow} at ${+time.toFixed(2)} s`, on: "sim" };
  source.toml = toTOML(source.fields);
  try {
    add((await api.start({ toml: source.toml, files, title: source.title, on: "sim" })).id, source);
  } catch (error) {
    if (!(error instanceof api.Failure)) throw error;
    failed(error.message);
  }
}

// A run has failed.
function failed(message) {
  problem(message);
  $("#side").classList.remove("folded");
  accuseCode(message);
}

// Marks what an error names in a C file.
function accuseCode(message) {
  code.accuse(message);
  $("#problem").scrollIntoView({ block: "nearest" }); // on a phone it may be below the screen
}

// ---- What is shown ------------------------------------------------------------------------------

function add(id, source) {
  if (!shown.includes(id)) shown.push(id);
  hidden.delete(id);
  runs.set(id, { id, state: "waiting", done: 0, about: {}, end: {}, error: "", rows: 0, title: "", ...source, ...runs.get(id), fields: source.fields });
  show("stage");
  drawRuns();
  fetchWhole();
  writeLink();
  // It may have been told so before the server's answer with its id came.
  if (runs.get(id).state === "failed") failed(runs.get(id).error);
}

function clear() {
  cleared += 1;
  tour.end();
  shown.filter((id) => ["waiting", "running"].includes(runs.get(id)?.state)).forEach(cancel);
  shown = [];
  hidden.clear();
  slots.clear();
  plots.forget();
}

const visible = () => shown.filter((id) => !hidden.has(id) && runs.get(id)?.about.flows);

// The curves to draw, with their colours.
function curves() {
  const flows = visible().flatMap((id) => runs.get(id).about.flows.map((flow, index) => ({ id, flow, number: index + 1 })));
  let next = Math.max(0, ...[...slots.values()].map((slot) => slot + 1));
  const keys = flows.map(({ id, number }) => `${id} ${number}`);
  for (const key of keys) if (!slots.has(key)) slots.set(key, next++);
  const drawn = looksOf(flows.map(({ flow }) => flow.name), keys.map((key) => slots.get(key)));
  const lookOf = new Map(keys.map((key, index) => [key, drawn[index]]));
  const several = visible().length > 1;
  const found = flows.flatMap(({ id, flow, number }) =>
    ["cwnd", "throughput", "rtt"].map((panel) => {
      const own = about.styles[flow.name] ? label(flow.name, about) : flow.name;
      const text = `${several ? `${runs.get(id).title}: ` : ""}flow ${number} ${own}`;
      return { run: id, panel, number, ...lookOf.get(`${id} ${number}`), label: text };
    }),
  );
  for (const id of visible()) {
    const { colour } = (several && lookOf.get(`${id} 1`)) || { colour: onPage() };
    for (let number = 1; number <= runs.get(id).about.queues; number++) {
      const dash = number > 1 ? [2 + 2 * number, 3] : undefined;
      found.push({ run: id, panel: "queue", number, colour, dash, label: `queue ${number}` });
    }
  }
  const edges = (each) => ["low", "high"].map((edge) => ({ ...each, number: `${each.number} ${edge}`, edge }));
  return found.flatMap((each) => (runs.get(each.run).members ? [...edges(each), each] : [each]));
}

// Where a run's time ends, in seconds: a run that was cancelled has no more than it simulated.
function reached({ state, done, about: { duration_us: duration } }) {
  const ended = ["cancelled", "failed"].includes(state) && done > 0;
  return (ended ? done * duration : duration) / 1e6;
}

function drawRuns() {
  const drawn = curves();
  plots.setEnd(Math.max(1e-3, ...visible().map((id) => reached(runs.get(id)))));
  plots.setCurves(drawn);
  chips.show(shown.map((id) => runs.get(id)), hidden, drawn);
  drawCompared($("#compared"), visible().map((id) => runs.get(id)), about);
  $("#share").disabled = shown.length === 0;
  for (const each of [$("#panels"), $(".tools"), $(".keys.hint")]) each.hidden = !drawn.length;
  drawExport();
}

function toggle(id) {
  if (!hidden.delete(id)) hidden.add(id);
  drawRuns();
  fetchWhole();
}

async function take(id) {
  const { toml, files } = runs.get(id);
  try {
    const { fields } = await api.check({ toml, files });
    fill(fields, files, "");
  } catch (error) {
    return failed(error.message);
  }
  tab("form");
  $("#side").classList.remove("folded");
}

function drop(id) {
  shown = shown.filter((each) => each !== id);
  membersOf(id).forEach(api.remove);
  runs.delete(id);
  if (shown.length === 0) {
    plots.forget();
    tour.end();
    show("gallery");
  }
  drawRuns();
  fetchWhole();
  writeLink();
}

// ---- Curves from the server ---------------------------------------------------------------------

// One request at a time; the last one that was wanted meanwhile follows.
function oneAtATime(work) {
  let going = false;
  let wanted = false;
  return async () => {
    wanted = true;
    if (going) return;
    going = true;
    while (wanted) {
      wanted = false;
      try {
        await work();
      } catch (error) {
        note(String(error.message));
      }
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    going = false;
  };
}

// The curves of what is shown in a window.
async function look(ids, from, to, most) {
  const groups = ids.map((id) => runs.get(id)).filter(({ members }) => members);
  const view = await api.view(ids.flatMap(membersOf), from, to, most);
  return groups.length ? banded(view, groups) : view;
}

const columns = () => Math.min(Math.max(Math.round(plots.root.clientWidth || 800), 300), 1400);

const fetchWhole = oneAtATime(async () => {
  const ids = visible();
  if (!ids.length) return;
  plots.take(await look(ids, 0, plots.end, columns()));
  if (plots.zoomed) fetchDetail();
});

const fetchDetail = oneAtATime(async () => {
  const ids = visible();
  if (!ids.length || !plots.zoomed) return;
  // Half a window more on each side, so that the next step of a zoom finds its data.
  const more = (plots.to - plots.from) / 2;
  const [from, to] = [Math.max(plots.from - more, 0), Math.min(plots.to + more, plots.end)];
  plots.take(await look(ids, from, to, Math.min(columns() * 2, 2000)));
});

function told({ changed, ids }) {
  let visibly = false;
  for (const each of changed) {
    const before = runs.get(each.id);
    const gone = each.about.job ? {} : each.about;
    runs.set(each.id, { ...before, ...each, about: gone, title: each.title || before?.title || "a kept run" });
    visibly ||= visible().some((id) => runs.get(id).members?.includes(each.id));
    if (!shown.includes(each.id)) continue;
    visibly ||= !hidden.has(each.id);
    if (before?.state !== each.state && each.state === "failed") failed(each.error);
  }
  gather();
  shown = shown.filter((id) => ids.includes(id) || runs.get(id)?.rows === 0);
  for (const id of [...runs.keys()]) if (!ids.includes(id) && !shown.includes(id)) runs.delete(id);
  if (visibly) {
    drawRuns();
    fetchWhole();
  }
}

// ---- Links --------------------------------------------------------------------------------------

function writeLink() {
  const sources = shown.map((id) => runs.get(id)).filter((run) => !run.judge).map(({ toml, files, title, on, members }) => {
    return { toml, files, title: members ? title.replace(OF_SEEDS, "") : title, on, ...(members && { many: true }) };
  });
  const hash = sources.length ? pack(sources, MOST_LINK) : "";
  history.replaceState(null, "", `${location.pathname}${hash && `#${hash}`}`);
  return hash !== "";
}

// A link brings scenarios. It never starts code: what has a C file or needs the kernel waits for Run.
async function readLink(link) {
  if (link.length < 2) return;
  let sources;
  try {
    sources = unpack(link.slice(1));
    for (const { toml, files } of sources) await api.check({ toml, files });
  } catch (error) {
    note(`The link does not hold a scenario: ${error.message}`);
    return;
  }
  for (const { toml, files, title, on, many } of sources.slice(0, 20)) {
    const { fields } = await api.check({ toml, files });
    fill(fields, files, title);
    const foreign = Object.keys(files).some((name) => name.endsWith(".c")) || on === "kernel";
    const known = [...runs.values()].find((run) => run.toml === toml && JSON.stringify(run.files) === JSON.stringify(files) && run.on === on && run.state === "done");
    if (known) add(known.id, { ...known, fields });
    else if (foreign) {
      note("This link brings C code. Read it before you press Run.");
      tab("code");
    } else if (many) add(await startSeeds({ fields, toml, files, title }), { fields });
    else add((await api.start({ toml, files, title, on: "sim" })).id, { toml, files, title, on: "sim", fields });
  }
}

// ---- Gallery, kept results, export --------------------------------------------------------------

// Runs a scenario of the gallery in the place of what is shown.
async function choose({ title, toml }) {
  clear();
  const mine = cleared;
  const { fields } = await api.check({ toml });
  if (mine !== cleared) return;
  fill(fields, {}, title);
  tab("form");
  await run();
}

// Runs the scenarios of a paper's figure in the place of what is shown, below its claims.
async function chooseFigure(figure) {
  clear();
  const mine = cleared;
  drawClaims($("#step"), figure);
  tab("form");
  for (const { title, toml } of figure.runs) {
    const { fields } = await api.check({ toml });
    if (mine !== cleared) return;
    fill(fields, {}, title);
    await run();
  }
}

async function showFigures() {
  show("figures");
  if (!$("#figures .card")) drawFigures($("#figures .list"), await api.figures(), chooseFigure);
}

const drawCards = () => drawGallery($("#gallery .cards"), about, looksOf, choose);

async function showKept() {
  show("kept");
  drawKept($("#kept .list"), await api.kept(), about, async (path, title) => {
    const { id } = await api.open(path, title);
    add(id, { title });
  });
}

function picture() {
  const labels = plots.curves
    .filter(({ panel, edge }) => panel === "cwnd" && !edge)
    .slice(0, 12)
    .map(({ colour, dash, label: text }) => ({ colour, dash, text }));
  const titles = visible().map((id) => runs.get(id).title);
  return svg(plots, titles.length > 3 ? `${titles.length} runs` : titles.join(" · "), labels);
}

function drawExport() {
  const single = visible().filter((id) => !runs.get(id).members);
  const links = single.flatMap((id) => {
    const { title, state } = runs.get(id);
    const going = state === "waiting" || state === "running";
    const csv = { name: `${id}-samples.csv`, text: `CSV: samples of ${title}${going ? ", when it has ended" : ""}` };
    if (!going) csv.href = `/api/runs/${id}/samples.csv`;
    const toml = { name: `${id}.toml`, text: `TOML: scenario of ${title}`, href: `/api/runs/${id}/scenario.toml` };
    return going || state === "done" ? [csv, toml] : [toml];
  });
  follow($("#export .links"), $("#export").open ? links : [], async (path, name) => save(name, await api.file(path)));
}

// ---- Start --------------------------------------------------------------------------------------

// What no caller of the server expects: a kept run that is gone, a server that has ended.
addEventListener("unhandledrejection", (event) => {
  if (!(event.reason instanceof api.Failure)) return;
  event.preventDefault();
  note(event.reason.message);
});

async function begin() {
  $("#unstarted")?.remove();
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "";
  if (!document.documentElement.dataset.theme) delete document.documentElement.dataset.theme;
  about = await api.about();
  plots = new Plots($("#panels"), fetchDetail, offer);
  chips = new Chips($("#runs"), about, { cancel, toggle, take, drop, read, rerun });
  form = new Form($("#form"), about, draft.files, edited);
  form.colourOf = (name) => onPage(about.styles[name]?.colour);
  code = new Code(about, draft.files, form, () => tab("code"), edited);
  form.read = (name) => code.read(name);
  drawCards();
  tour = new Tour($("#steps"), $("#step"), about.tour, choose);
  filled = first(about.gallery[0]);
  drawSigns($("#mark-legend"));
  $("#on-kernel-box").hidden = about.kernel_lacks !== "";
  $("#on-kernel-box").title = `It refuses ${about.kernel_refuses.join(", ")}.`;
  $("#show-kept").hidden = !about.keeps;
  $("#judge").hidden = !about.judges;
  all("#judge button").forEach((each) => each.addEventListener("click", () => judge(each.dataset.judge)));
  if (matchMedia("(max-width: 820px)").matches) fold();

  all(".tabs button").forEach((each) => each.addEventListener("click", () => tab(each.dataset.tab)));
  $("#form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  // What is said goes while a field is mended. Later it would move the button under a click.
  $("#form").addEventListener("input", () => problem());
  $("#toml").addEventListener("input", () => (tomlEdited = true));
  $("#run").addEventListener("click", () => run());
  $("#seeds").addEventListener("click", () => run(true));
  $("#show-form").addEventListener("click", () => $("#side").classList.toggle("folded"));
  $("#show-gallery").addEventListener("click", () => {
    show($("#gallery").hidden || !shown.length ? "gallery" : "stage");
    fold();
  });
  for (const [name, open] of [["figures", showFigures], ["kept", showKept]]) {
    $(`#show-${name}`).addEventListener("click", async () => {
      if ($(`#${name}`).hidden) await open();
      else show(shown.length ? "stage" : "gallery");
      fold();
    });
  }
  $("#share").addEventListener("click", async () => {
    if (!writeLink()) return note("These runs, with their files, are too long for a link; remove some.");
    await navigator.clipboard?.writeText(location.href);
    note("Copied. The link holds the scenario, and runs it where it is opened.");
  });
  $("#theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("theme", document.documentElement.dataset.theme);
    plots.key = "";
    drawCards();
    form.draw();
    drawRuns();
    plots.redraw(true);
  });
  $("#zoom-in").addEventListener("click", () => plots.zoomBy(0.5));
  $("#zoom-out").addEventListener("click", () => plots.zoomBy(2));
  $("#zoom-all").addEventListener("click", () => plots.all());
  $("#marks").addEventListener("change", () => {
    plots.showMarks = $("#marks").checked;
    $("#mark-legend").hidden = !plots.showMarks;
    plots.redraw(true);
  });
  $("#export-png").addEventListener("click", async () => save("ackclock.png", await png(picture())));
  $("#export-svg").addEventListener("click", () => save("ackclock.svg", new Blob([picture()], { type: "image/svg+xml" })));
  $("#export").addEventListener("toggle", drawExport);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    // The field in which somebody types has not told the form yet.
    if (event.target.matches("#form input:not([type=file])")) event.target.dispatchEvent(new Event("change"));
    run();
  });
  document.addEventListener("click", ({ target }) => target.closest("#export") || ($("#export").open = false));
  await filled;
  // A run that is started before the server first tells of its runs writes a link of its own.
  const link = location.hash;
  let first_told = true;
  api.listen(
    (message) => {
      told(message);
      if (first_told) readLink(link);
      first_told = false;
    },
    note,
  );
}

begin().catch((error) => ($("#gallery .lead").textContent = error.message));
