// Runs the simulator of the laboratory in Node: a job on each line of standard input, and on each of
// standard output what its messages come to. `c` of a job are C files, by their paths: clang in the
// directory that is the second argument compiles them.
import { createInterface } from "node:readline";
import { readFile } from "node:fs/promises";
import { argv, stdin } from "node:process";
import { pathToFileURL } from "node:url";

const lab = argv[2];
const engine = await import(pathToFileURL(`${lab}/engine.js`));
const module = await WebAssembly.compile(await readFile(`${lab}/engine.wasm`));

let compiler;
async function compiled([path, text]) {
  if (!compiler) {
    const { Compiler } = await import(pathToFileURL(`${lab}/compiler.js`));
    compiler = new Compiler(module, await import(pathToFileURL(`${argv[3]}/bundle.js`)));
  }
  return compiler.compile(path, text);
}

// Each message without its columns, and of these how many rows they have.
async function told(job) {
  const messages = [];
  job.guests = [];
  for (const file of Object.entries(job.c ?? {})) job.guests.push(await compiled(file));
  const wrong = job.guests.find(({ error }) => error);
  if (wrong) return [{ kind: "error", text: wrong.error }];
  const take = ({ columns, ...message }) => {
    const [first] = Object.values(columns ?? {});
    messages.push({ ...message, rows: first?.length ?? 0, names: Object.keys(columns ?? {}) });
  };
  if (job.only === "resolve") take(engine.resolve(module, job.toml, job.files, job.guests));
  else if (job.toml) engine.run(module, job, take, job.interval_ms);
  else if (job.scenario) engine.run(module, job.scenario, take, job.interval_ms);
  else take(engine.describe(module));
  return messages;
}

for await (const line of createInterface({ input: stdin })) console.log(JSON.stringify(await told(JSON.parse(line))));
