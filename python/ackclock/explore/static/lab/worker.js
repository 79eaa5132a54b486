// A worker of the page that runs scenarios. The page writes {job, scenario}, and gets the messages of
// engine.js with its `job` in each. Whoever wants no more of a run ends the worker.

import { describe, run } from "./engine.js";

const module = WebAssembly.compileStreaming(fetch(new URL("engine.wasm", import.meta.url)));

function send(job, message) {
  const buffers = Object.values(message.columns || {}).map((values) => values.buffer);
  postMessage({ job, ...message }, buffers);
}

onmessage = async ({ data: { job, scenario } }) => {
  try {
    const engine = await module;
    if (scenario === undefined) send(job, describe(engine));
    else run(engine, scenario, (message) => send(job, message));
  } catch (fault) {
    send(job, { kind: "error", text: `the simulator was not loaded: ${fault.message}` });
  }
};
