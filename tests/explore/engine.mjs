// Runs the simulator of the laboratory in Node: a job on each line of standard input, and on each of
// standard output what its messages come to.
import { createInterface } from "node:readline";
import { readFile } from "node:fs/promises";
import { argv, stdin } from "node:process";
import { pathToFileURL } from "node:url";

const lab = argv[2];
const engine = await import(pathToFileURL(`${lab}/engine.js`));
const module = await WebAssembly.compile(await readFile(`${lab}/engine.wasm`));

// Each message without its columns, and of these how many rows they have.
function told(job) {
  const messages = [];
  const take = ({ columns, ...message }) => {
    const [first] = Object.values(columns ?? {});
    messages.push({ ...message, rows: first?.length ?? 0, names: Object.keys(columns ?? {}) });
  };
  if (job.only === "resolve") take(engine.resolve(module, job.toml, job.files));
  else if (job.toml) engine.run(module, job, take, job.interval_ms);
  else if (job.scenario) engine.run(module, job.scenario, take, job.interval_ms);
  else take(engine.describe(module));
  return messages;
}

for await (const line of createInterface({ input: stdin })) console.log(JSON.stringify(told(JSON.parse(line))));
