// The side of the page that needs no server: runs in Web Workers of this browser, which keeps their curves.

import { page } from "./lab/card.js";
import { attack, scorecard } from "./lab/judge.js";
import { Pool } from "./lab/pool.js";
import { Run, view as viewOf } from "./lab/run.js";
import { Failure, Mistake } from "./side.js";

// Runs that go on at a time; runs, and rows of all runs, that the page has: the oldest leave it.
const AT_A_TIME = Math.min(navigator.hardwareConcurrency || 1, 4);
const MOST_RUNS = 200;
const MOST_ROWS = 12_000_000;
// Tables that the page draws.
const DRAWN = new Set(["samples", "queues", "events"]);
// Time between two looks for what has changed.
const LOOK_MS = 100;
// A run with a C file tells of itself ten times a second, unless a hook does not return. So many looks
// without a word end it, and a compiler is given so long.
const MOST_SILENT = 100;
const COMPILE_MS = 120_000;
const KEPT_FILES = 20;

const runs = new Map();
const waiting = [];
const idle = []; // workers whose run has ended
const asked = new Map(); // number of a question to the reader → what takes its answer
let reader; // the worker that reads scenarios
let version = 0;
let told; // what `about` told
let say = () => {}; // shows a line to the user
let compiler; // the worker that compiles C files
const compiled = new Map(); // text of a C file, after its path → the promise of what it was compiled to
let count = 0;

async function fetched(path) {
  const answer = await fetch(new URL(path, document.baseURI)).catch(() => null);
  if (!answer?.ok) throw new Failure(`${path} cannot be loaded; check the connection and load the page again.`);
  return answer;
}

export async function about() {
  told = await (await fetched("about.json")).json();
  reader = work();
  reader.onmessage = ({ data }) => asked.get(data.job)?.(data);
  reader.onerror = (event) => {
    event.preventDefault();
    for (const take of asked.values()) take({ kind: "error", text: brokenDown(event) });
  };
  idle.push(work()); // the engine loads while the user looks at the gallery
  // Offline after the first load, where the browser allows it: over HTTPS, and from this machine.
  navigator.serviceWorker?.register(new URL("offline.js", document.baseURI)).catch(() => {});
  return told;
}

const brokenDown = ({ message }) => `the run broke down: ${message || "the engine cannot be loaded"}`;

// What the C files of a scenario were compiled to; a mistake in one is thrown. The rest of `files` are texts.
async function guestsOf(files = {}) {
  const own = Object.entries(files).filter(([name]) => told.clang_bytes && name.endsWith(".c"));
  const found = await Promise.all(own.map(([name, text]) => compile(name, text)));
  const wrong = found.find(({ error }) => error);
  if (wrong) throw new Mistake(wrong.error);
  return found;
}

// One file after the other.
function compile(path, text) {
  const key = `${path}\n${text}`;
  if (!compiled.has(key)) {
    const before = [...compiled.values()].at(-1);
    const mine = Promise.resolve(before).then(() => compileNow(path, text));
    compiled.set(key, mine);
    mine.then(({ lost }) => lost && compiled.delete(key));
    if (compiled.size > KEPT_FILES) compiled.delete(compiled.keys().next().value);
  }
  return compiled.get(key);
}

async function compileNow(path, text) {
  compiler ??= new Worker(new URL("./lab/compile_worker.js", import.meta.url), { type: "module" });
  const job = `compile${++count}`;
  const ends = new AbortController();
  const answer = await new Promise((take) => {
    const of = { signal: ends.signal };
    let timer;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => take({ lost: true, error: `${path}: the compiler took longer than ${COMPILE_MS / 1000} s` }), COMPILE_MS);
    };
    ends.signal.addEventListener("abort", () => clearTimeout(timer));
    compiler.addEventListener("message", ({ data }) => {
      if (data.job !== job) return;
      if (data.fetched === undefined) return take(data);
      say(`Loading the C compiler: ${megabytes(data.fetched)} of ${megabytes(told.clang_bytes)} MB`);
      wait();
    }, of);
    compiler.addEventListener("error", (event) => {
      event.preventDefault();
      take({ lost: true, error: `${path}: ${brokenDown(event)}` });
    }, of);
    wait();
    compiler.postMessage({ job, path, text });
  });
  ends.abort();
  if (answer.lost) {
    compiler.terminate();
    compiler = null;
  }
  return answer;
}

const megabytes = (bytes) => Math.ceil(bytes / 1e6);

// What the reader answers; an error is thrown.
async function ask(question) {
  const job = `read${++count}`;
  const answer = await new Promise((take) => {
    asked.set(job, take);
    reader.postMessage({ job, ...question });
  });
  asked.delete(job);
  if (answer.kind === "error") throw new Mistake(answer.text);
  return answer;
}

// The fields of a scenario; a mistake in it is thrown.
export async function check({ toml, files }) {
  const { fields } = await ask({ toml, files, guests: await guestsOf(files), only: "resolve" });
  const flows = (fields.flow ?? []).reduce((sum, { count: each = 1 }) => sum + each, 0);
  if (flows > told.most_flows) throw new Mistake(`flow: the page draws at most ${told.most_flows} flows; \`ackclock run\` takes more`);
  return { fields, toml };
}

export const source = async (name) => (await fetched(`algorithms/${encodeURIComponent(name)}.c`)).text();

const work = () => new Worker(new URL("./lab/worker.js", import.meta.url), { type: "module" });

function changed(run) {
  run.version = ++version;
}

const going = () => [...runs.values()].filter(({ state }) => state === "running").length;

// Starts a run, or finds the one of the same source. A mistake in the scenario is thrown.
export async function start({ toml, files, on, title = "" }) {
  const source = { toml, files, on };
  await check(source);
  const same = (run) => JSON.stringify(run.source) === JSON.stringify(source) && !["failed", "cancelled"].includes(run.state);
  const found = [...runs.values()].find(same);
  if (found) return { id: found.id };
  const run = new Run(`run${++count}`, source, title.slice(0, 80), told.events);
  run.guests = await guestsOf(files);
  runs.set(run.id, run);
  waiting.push(run);
  changed(run);
  next();
  return { id: run.id };
}

function next() {
  while (waiting.length && going() < AT_A_TIME) {
    const run = waiting.shift();
    const { toml, files } = run.source;
    run.state = "running";
    run.worker = idle.pop() ?? work();
    run.worker.onmessage = ({ data }) => data.job === run.id && run.state === "running" && take(run, data);
    run.worker.onerror = (event) => {
      event.preventDefault();
      finish(run, "failed", brokenDown(event));
    };
    run.worker.postMessage({ job: run.id, toml, files, guests: run.guests });
    changed(run);
  }
  forget();
}

function take(run, { kind, columns, job: _, ...more }) {
  if (kind === "progress") run.done = more.done;
  else if (kind === "begin") run.begin(more);
  else if (kind === "end") {
    run.end = more;
    run.done = 1;
    finish(run, "done");
  } else if (kind === "error") {
    finish(run, "failed", more.text);
  } else if (DRAWN.has(kind)) run.take(kind, columns);
  changed(run);
}

function finish(run, state, error = "") {
  Object.assign(run, { state, error });
  if (state === "done") idle.push(run.worker);
  else run.worker?.terminate();
  run.worker = null;
  changed(run);
  next();
}

// Drops the oldest finished runs where there are too many, or too many rows.
function forget() {
  const ended = [...runs.values()].filter(({ state }) => state !== "waiting" && state !== "running");
  for (const run of ended.slice(0, -1)) {
    const rows = [...runs.values()].reduce((sum, each) => sum + each.rows, 0);
    if (runs.size <= MOST_RUNS && rows <= MOST_ROWS) return;
    runs.delete(run.id);
    version++;
  }
}

export async function cancel(id) {
  const run = runs.get(id);
  if (!run || !["waiting", "running"].includes(run.state)) return;
  if (waiting.includes(run)) waiting.splice(waiting.indexOf(run), 1);
  finish(run, "cancelled");
}

export async function remove(id) {
  await cancel(id);
  runs.delete(id);
  version++;
}

export async function view(ids, from, to, columns) {
  const there = ids.map((id) => runs.get(id)).filter(Boolean);
  return viewOf(there, from, to, columns);
}

export async function file(path) {
  const [, id, name] = /runs\/(\w+)\/(.*)$/.exec(path);
  const run = runs.get(id);
  return new Blob([name === "scenario.toml" ? run.source.toml : run.csv()], { type: "text/plain" });
}

export const figures = async () => (await fetched("figures.json")).json();
export const kept = async () => [];

export async function open() {
  throw new Failure("This page keeps nothing: a link is a run. `ackclock explore` keeps runs.");
}

// Judges the algorithm of the first flow: a scorecard, or an attack.
export async function judge({ toml, files, title, judge: what }) {
  const { fields } = await check({ toml, files });
  const { algorithm } = fields.flow?.[0] ?? {};
  if (!algorithm) throw new Mistake("flow: its algorithm is judged; add one");
  const run = new Run(`run${++count}`, { toml, files, judge: what }, title, told.events);
  const pool = new Pool(work, AT_A_TIME, await guestsOf(files), MOST_SILENT * LOOK_MS);
  Object.assign(run, { state: "running", worker: pool, guests: pool.guests });
  runs.set(run.id, run);
  changed(run);
  const tell = (of) => {
    if (run.state !== "running") return;
    Object.assign(run, of);
    changed(run);
  };
  judged(what, algorithm, pool, tell).then(
    (end) => tell({ end, done: 1, state: "done" }),
    (error) => tell({ error: error.message, state: "failed" }),
  ).finally(() => pool.terminate());
  return { id: run.id };
}

async function judged(what, algorithm, pool, tell) {
  const doors = { measure: (toml) => pool.measure(toml), judge: (of) => ask({ card: of, only: "judge" }) };
  const progress = (done) => tell({ done });
  const asked = await (await fetched(`${what}.json`)).json();
  if (what === "attack") return await attack(asked, algorithm, doors, progress, (says) => tell({ end: { says } }));
  const card = await scorecard(asked, algorithm, doors, progress);
  const css = await (await fetched("static/ackclock.css")).text();
  const html = page(card, { ...asked, css, version: told.version });
  const kept = URL.createObjectURL(new Blob([html], { type: "text/html" }));
  return { says: card.says, kept, ...(card.failed ? { toml: card.failed.toml } : {}) };
}

// Where a scorecard is shown.
export const card = async (kept) => kept;

// Ends a run whose C file does not return.
function watch(run) {
  run.silent = run.version === run.heard ? (run.silent ?? 0) + 1 : 0;
  run.heard = run.version;
  if (run.silent < MOST_SILENT) return;
  const names = run.guests.map(({ path }) => path).join(", ");
  finish(run, "failed", `${names}: a hook has not returned for ${(MOST_SILENT * LOOK_MS) / 1000} s: an endless loop?`);
}

// Calls `report` with what changes in the runs, and `line` with what to show to the user.
export function listen(report, line) {
  say = line;
  let seen = -1;
  const look = () => {
    for (const run of runs.values()) if (run.state === "running" && run.guests.length && run.about.flows) watch(run);
    if (version === seen) return;
    const news = [...runs.values()].filter((run) => run.version > seen).map((run) => run.told());
    seen = version;
    report({ changed: news, ids: [...runs.keys()] });
  };
  look();
  setInterval(look, LOOK_MS);
}
