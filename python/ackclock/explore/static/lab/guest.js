// A user's C file as a WebAssembly module with a memory of its own (algorithms/checked/wasm.c): the
// engine's socket is copied into that memory for each hook, and back. Nothing else can be reached.

import { linesOf } from "./lines.js";

const PAGE_BYTES = 65536;
// Room for the sample of a hook.
const SAMPLE_BYTES = 256;
// What engines say of a trap → what the file does.
const TRAPS = [
  [/divi|overflow/i, "divides by zero, which the kernel's BPF makes 0, or the least integer by -1; test the divisor first"],
  [/out of bounds|call stack|recursion/i, "needs more stack than the kernel has (a large array, or recursion)"],
];

export class Guest {
  // `engine` has the memory of the engine; `file` is {path, text, module, code}, as of compiler.js.
  constructor(engine, file) {
    Object.assign(this, { engine, file });
    const { exports } = new WebAssembly.Instance(file.module);
    this.exports = exports;
    this.memory = exports.memory;
    // As it was linked: what it declares.
    this.linked = new Uint8Array(this.memory.buffer).slice();
    this.declared = exports.cc_module.value;
  }

  // Where everything lies in its memory, by the first hook.
  prepare(socketSize, paramsCount, blockCount) {
    const start = (this.exports.__heap_base.value + 15) & ~15;
    const sizes = [socketSize, 4 * paramsCount, 8 * blockCount, SAMPLE_BYTES].map((size) => (size + 15) & ~15);
    const [socket, params, block, sample, end] = sizes.reduce((places, size) => [...places, places.at(-1) + size], [start]);
    const missing = end - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE_BYTES));
    this.exports.cc_prepare(4 * paramsCount);
    this.own = new Uint8Array(this.memory.buffer);
    this.at = { socket, params, block, sample };
  }

  // Calls a hook with what lies in the engine's memory.
  hook(hook, socket, socketSize, first, second, sample, sampleSize, params, paramsCount, block, blockCount) {
    if (!this.at) this.prepare(socketSize, paramsCount, blockCount);
    const { own, at } = this;
    if (this.theirs?.buffer !== this.engine.memory.buffer) this.theirs = new Uint8Array(this.engine.memory.buffer);
    const { theirs } = this;
    const give = (from, size, to) => own.set(theirs.subarray(from, from + size), to);
    give(socket, socketSize, at.socket);
    if (paramsCount) give(params, 4 * paramsCount, at.params);
    if (sampleSize) give(sample, sampleSize, at.sample);
    if (blockCount) give(block, 8 * blockCount, at.block);
    let returned;
    try {
      returned = this.exports.cc_hook(hook, at.socket, first, second, sampleSize && at.sample, at.params, blockCount && at.block);
    } catch (trap) {
      throw new Breach(this.told(trap));
    }
    theirs.set(own.subarray(at.socket, at.socket + socketSize), socket);
    if (blockCount) theirs.set(own.subarray(at.block, at.block + 8 * blockCount), block);
    return returned;
  }

  string(at) {
    const bytes = new Uint8Array(this.memory.buffer);
    return at ? new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at))) : "";
  }

  // What a trap says, in one line that names file, line and function.
  told(trap) {
    const breach = this.string(this.exports.cc_breach());
    const what = breach
      ? breach.startsWith(" ") ? `writes ${this.string(this.exports.cc_breach_of())}${breach}` : breach
      : (TRAPS.find(([pattern]) => pattern.test(trap.message))?.[1] ?? `ends with: ${trap.message}`);
    // "at name (wasm://…:wasm-function[4]:0x1c2)"; Firefox has "module.name@…:wasm-function[4]:0x1c2". The first
    // that is of the file's own C counts: what is linked to it has no lines.
    const frames = (trap.stack ?? "").matchAll(/^(?:\s*at )?([\w.$]+)[ @].*wasm-function\[\d+\]:0x([0-9a-f]+)/gm);
    const { path, module, code } = this.file;
    const lines = linesOf(module);
    for (const [, name, at] of frames) {
      const [, file, line] = lines.findLast(([address]) => address <= parseInt(at, 16) - code) ?? [];
      const place = file && !path.endsWith(file) ? file : path;
      if (file) return `${place}${line ? `:${line}` : ""}, function ${name.split(".").pop()}: ${what}`;
    }
    return `${path}: ${what}`;
  }
}

// A file has done what it must not.
export class Breach extends Error {}
