// Judges an algorithm in Node as the page without a server does: the directory of the page, "scorecard" or
// "attack", the algorithm; on standard output what is found, with "inf" for infinite ends.
import { readFile } from "node:fs/promises";
import { argv } from "node:process";
import { pathToFileURL } from "node:url";

const [, , root, what, algorithm] = argv;
const lab = `${root}/static/lab`;
const [engine, judging] = await Promise.all(["engine", "judge"].map((name) => import(pathToFileURL(`${lab}/${name}.js`))));
const module = await WebAssembly.compile(await readFile(`${lab}/engine.wasm`));

async function measure(toml) {
  let told;
  engine.measure(module, { toml }, (message) => (told = message));
  if (told.kind === "error") throw new Error(told.text);
  return told;
}

async function judge(card) {
  const told = engine.judge(module, card);
  if (told.kind === "error") throw new Error(told.text);
  return told;
}

const asked = JSON.parse(await readFile(`${root}/${what}.json`));
const found = await judging[what](asked, algorithm, { measure, judge }, () => {}, () => {});
console.log(JSON.stringify(found, (_, value) => (Math.abs(value) === Infinity ? String(value) : value)));
