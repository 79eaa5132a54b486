// The simulator in WebAssembly (crates/wasm), in a browser's worker and in Node. One instance does
// one thing: its memory never shrinks, and an instance that trapped is of no use.

import { Breach, Guest } from "./guest.js";
import { column } from "./messages.js";

// `module`: the compiled engine.wasm. `take(message)` gets each message, an object with its `kind`
// and `columns` {name: typed array}; true asks for the rows so far. `guests` are the user's C files, as
// compiler.js makes them.
class Instance {
  constructor(module, take, guests = []) {
    this.failed = null;
    const added = [];
    const tell = (at, length) => {
      const { memory } = this.exports;
      const message = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, at, length)));
      if (message.kind === "error") this.failed = message;
      const columns = message.columns || [];
      message.columns = Object.fromEntries(columns.map(([name, ...of]) => [name, column(memory.buffer, ...of).values]));
      return take(message) ? 1 : 0;
    };
    const hook = (number, ...rest) => added[number].hook(...rest);
    const none = { ask: () => 0, answered: () => {} }; // only Python is asked
    this.exports = new WebAssembly.Instance(module, { page: { tell, hook, ...none } }).exports;
    this.take = take;
    for (const file of guests) {
      const guest = new Guest(this.exports, file);
      added.push(guest);
      this.call("add", file.path, file.text, guest.linked, guest.declared);
    }
  }

  // Calls a function with texts, bytes and numbers. What it does not survive is an error message, too.
  call(name, ...values) {
    if (this.failed) return;
    try {
      const given = values.flatMap((value) => {
        if (typeof value === "number") return [value];
        const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
        const at = this.exports.alloc(bytes.length);
        new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
        return [at, bytes.length];
      });
      this.exports[name](...given);
    } catch (fault) {
      // A panic of Rust has told why; what the processor refuses has not.
      if (this.failed) return;
      if (fault instanceof Breach) return void this.take({ kind: "error", text: fault.message, columns: {} });
      const full = this.exports.memory.buffer.byteLength > 3 * 2 ** 30 || fault instanceof RangeError;
      const why = full
        ? "the run needs more memory than a browser gives; sample less often, or use `ackclock run`"
        : `the simulator broke down: ${fault.message}; please report this with the scenario`;
      this.take({ kind: "error", text: why, columns: {} });
    }
  }
}

// The only message that a function tells, or null.
function answer(module, guests, name, ...values) {
  let told = null;
  new Instance(module, (message) => void (told = message), guests).call(name, ...values);
  return told;
}

// What is always the same: `algorithms`, as `_core.algorithms()` of Python, and the names that codes
// of the tables' columns stand for, `tables.events.kind[2]`.
export const describe = (module) => answer(module, [], "describe");

// Reads a scenario in TOML: "resolved" with `scenario`, canonical JSON, and the `fields` of the text, or
// "error". `files` are the texts of the files that its links name, by their paths; `guests` the C files of
// its flows.
export const resolve = (module, toml, files = {}, guests = []) => answer(module, guests, "resolve", toml, JSON.stringify(files || {}));

// "judged": of each row of a card its marks, whether it is `unsafe`, and the same of its numbers; and what the card
// `says`. `card` has the names of `others`, rows of numbers with estimates, and the row that `failed` or null.
export const judge = (module, card) => answer(module, [], "judge", JSON.stringify(card, finite));

// JSON has no infinite numbers.
const finite = (_, value) => (Math.abs(value) === Infinity ? Math.sign(value) * Number.MAX_VALUE : value);

// What clang compiles a user's C file with: `files`, `flags`, `user_flags`; `linked` to it, and the `link_flags`.
export const compiles = (module) => answer(module, [], "compile");

// "error" if a user's C file has what the kernel would refuse, or null.
export const refusal = (module, path, preprocessed, assembly) => answer(module, [], "check", path, preprocessed, assembly);

// Runs a scenario, canonical JSON, the object of it, or {toml, files, guests}, and gives `take` its messages: "begin", then
// "samples", "queues", "events" and "progress", at last "end" or "error". Rows come ten times a second.
export function run(module, scenario, take, interval_ms = 100) {
  const instance = new Instance(module, seldom(take, interval_ms), scenario.guests);
  if (typeof scenario === "string") instance.call("run", scenario);
  else if (scenario.toml === undefined) instance.call("run", JSON.stringify(scenario));
  else instance.call("run_toml", scenario.toml, JSON.stringify(scenario.files || {}));
}

// Runs a scenario {toml, files, guests} and gives `take` "progress", and at last "measured", what the scorecard
// and an attack measure of it, or "error".
export function measure(module, { toml, files, guests }, take, interval_ms = 100) {
  new Instance(module, seldom(take, interval_ms), guests).call("measure", toml, JSON.stringify(files || {}));
}

// Takes messages, of "progress" one each `interval_ms`; with that the rows so far are asked for.
function seldom(take, interval_ms) {
  let next_ms = 0;
  return (message) => {
    if (message.kind !== "progress") return void take(message);
    const now_ms = performance.now();
    if (now_ms < next_ms) return false;
    next_ms = now_ms + interval_ms;
    take(message);
    return true;
  };
}
