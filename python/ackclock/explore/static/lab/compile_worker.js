// A worker of the page that compiles C files. The page writes {job, path, text}, and gets {job, path, text,
// module} or {job, path, error}, with `lost` if it could not even try; while clang is fetched {job, fetched}, the bytes so far.

import { Compiler } from "./compiler.js";

const CLANG = new URL("../../clang/", import.meta.url);
const TYPES = { headers: { "content-type": "application/wasm" } };

let job; // that is under way
let bytes = 0;

// Clang's own loader asks for its modules, which lie there packed, and for headers and libraries of
// systems, of which a user's file includes none: an empty archive.
const fetchOf = globalThis.fetch;
globalThis.fetch = async (url, options) => {
  const name = new URL(url).pathname.split("/").pop();
  if (name.endsWith(".tar")) return new Response(new Uint8Array(10240));
  if (!name.endsWith(".wasm") || name === "engine.wasm") return fetchOf(url, options);
  const answer = await fetchOf(`${url}.gz`, options);
  if (!answer.ok) throw new Error(`${name} cannot be loaded`);
  const count = new TransformStream({
    transform(chunk, into) {
      bytes += chunk.length;
      postMessage({ job, fetched: bytes });
      into.enqueue(chunk);
    },
  });
  return new Response(answer.body.pipeThrough(count).pipeThrough(new DecompressionStream("gzip")), TYPES);
};

async function made() {
  const [engine, clang] = await Promise.all([
    WebAssembly.compileStreaming(fetchOf(new URL("engine.wasm", import.meta.url))),
    import(new URL("bundle.js", CLANG)),
  ]);
  return new Compiler(engine, clang);
}
let compiler;

onmessage = async ({ data: { path, text, ...of } }) => {
  ({ job } = of);
  try {
    compiler ??= made();
    postMessage({ job, ...(await (await compiler).compile(path, text)) });
  } catch (fault) {
    compiler = null;
    postMessage({ job, path, lost: true, error: `the C compiler was not loaded: ${fault.message}; check the connection, and run again` });
  }
};
