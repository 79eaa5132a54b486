// A worker of the page that runs scenarios. The page writes {job, scenario} or {job, toml, files}, and
// gets the messages of engine.js with its `job` in each; with `only: "resolve"` only "resolved" or
// "error", with `only: "measure"` those of `measure`, and for {job, card, only: "judge"} "judged" or "error". `guests` are C files that compile_worker.js has compiled. Whoever wants no more of a run ends the worker.

import { describe, judge, measure, resolve, run } from "./engine.js";

const module = WebAssembly.compileStreaming(fetch(new URL("engine.wasm", import.meta.url)));

function send(job, message) {
  const buffers = Object.values(message.columns || {}).map((values) => values.buffer);
  postMessage({ job, ...message }, buffers);
}

onmessage = async ({ data: { job, scenario, toml, files, guests, card, only } }) => {
  try {
    const engine = await module;
    if (only === "resolve") send(job, resolve(engine, toml, files, guests));
    else if (only === "judge") send(job, judge(engine, card));
    else if (only === "measure") measure(engine, { toml, files, guests }, (message) => send(job, message));
    else if (scenario === undefined && toml === undefined) send(job, describe(engine));
    else run(engine, scenario ?? { toml, files, guests }, (message) => send(job, message));
  } catch (fault) {
    send(job, { kind: "error", text: `the simulator was not loaded: ${fault.message}` });
  }
};
