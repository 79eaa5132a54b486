// What the page asks of its server.

import { addressOf } from "./kept.js";
import { messages } from "./lab/messages.js";
import { Run, view as viewOf } from "./lab/run.js";
import { Failure, Mistake } from "./side.js";

// The token behind the # of the printed address, for all tabs of this origin: storage is of one port
// of a host, as cookies are not. What follows it is a link. True if there was one.
function enter() {
  const found = location.hash.match(/^#token=([\w-]+)/);
  if (!found) return false;
  localStorage.setItem("token", found[1]);
  history.replaceState(null, "", location.pathname + location.hash.slice(found[0].length));
  return true;
}
enter();
addEventListener("hashchange", () => enter() && location.reload());

const rights = () => ({ Authorization: `Bearer ${localStorage.getItem("token")}` });

async function ask(method, path, body) {
  const options = { method, headers: rights() };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options).catch(() => {
    throw new Failure("The page's server does not answer. Start `ackclock explore` again.");
  });
  if (answer.status === 422) throw new Mistake((await answer.json()).error);
  if (answer.status === 401) throw new Failure(await answer.text());
  if (!answer.ok) throw new Failure(`${path}: ${await answer.text()}`);
  return answer;
}

const json = async (...asked) => (await ask(...asked)).json();

const runs = new Map(); // what the server told of each, and its rows so far
let events; // names of events, by their codes

export async function about() {
  const told = await json("GET", "/api/about");
  ({ events } = told);
  return told;
}

export const check = (source) => json("POST", "/api/check", source);
export const start = (source) => json("POST", "/api/runs", source);
export const judge = (source) => json("POST", "/api/judge", source);
export const cancel = (id) => ask("POST", `/api/runs/${id}/cancel`);
export const remove = (id) => ask("DELETE", `/api/runs/${id}`);
export const source = async (name) => (await ask("GET", `/api/algorithms/${encodeURIComponent(name)}`)).text();
export const file = async (path) => (await ask("GET", path)).blob();
export const figures = () => json("GET", "/api/figures");
export const kept = () => json("GET", "/api/kept");

// The address of a kept scorecard; none if it is not there any more.
export async function card(at) {
  const entry = (await kept()).find(({ path }) => path === at);
  return entry?.page && addressOf(entry);
}

export const open = (path, title) => json("POST", "/api/kept/open", { path, title });

// The curves of some runs in a window, in seconds.
export async function view(ids, from, to, columns) {
  const there = ids.map((id) => runs.get(id)).filter(Boolean);
  await Promise.all(there.map(upToDate));
  return viewOf(there, from, to, columns);
}

// Fetches the rows that a run does not have yet, one request of a run at a time.
function upToDate(run) {
  run.coming = (run.coming ?? Promise.resolve()).catch(() => {}).then(async () => {
    if (run.read >= run.bytes) return;
    const buffer = await (await ask("GET", `/api/runs/${run.id}/rows?from=${run.read}`)).arrayBuffer();
    run.read += buffer.byteLength;
    for (const { kind, columns } of messages(buffer)) run.take(kind, columns);
  });
  return run.coming;
}

function take({ changed, ids }) {
  for (const { about, rows: _, ...told } of changed) {
    const { id } = told;
    if (!runs.has(id)) runs.set(id, Object.assign(new Run(id, {}, "", events), { read: 0 }));
    const run = Object.assign(runs.get(id), told);
    if (about.flows && !run.about.flows) run.begin(about);
  }
  for (const id of runs.keys()) if (!ids.includes(id)) runs.delete(id);
}

// Calls `changed` with what changes in the runs, until the page is left: as an EventSource, which
// can name no token.
export async function listen(changed, say) {
  const heard = (news) => {
    take(news);
    changed(news);
  };
  for (;;) {
    const answer = await fetch("/api/events", { headers: rights() }).catch(() => null);
    if (answer && !answer.ok) return say("The page's server has ended. Start `ackclock explore` again.");
    if (answer) await eachLine(answer.body, (line) => line.startsWith("data: ") && heard(JSON.parse(line.slice(6))));
    say("Connection lost; trying again.");
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

async function eachLine(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let begun = "";
  for (;;) {
    const { value, done } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    const [end, ...lines] = value.split("\n");
    begun += end;
    for (const line of lines) {
      take(begun);
      begun = line;
    }
  }
}
