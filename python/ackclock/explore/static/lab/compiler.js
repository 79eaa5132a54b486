// A user's C file to a WebAssembly module, by clang, which runs here. It is the same C
// as everywhere: with the headers and the checks of the engine.

import { compiles, refusal } from "./engine.js";
import { codeStart } from "./lines.js";

const decode = (told) => (typeof told === "string" ? told : new TextDecoder().decode(told));

// "a/b.h": text → {a: {"b.h": text}}
function tree(files) {
  const root = {};
  for (const [path, text] of Object.entries(files)) {
    const parts = path.split("/");
    const name = parts.pop();
    parts.reduce((folder, part) => (folder[part] ??= {}), root)[name] = text;
  }
  return root;
}

export class Compiler {
  // `engine` is the compiled engine.wasm, `clang` the module of @yowasp/clang.
  constructor(engine, clang) {
    const { files, flags, user_flags: userFlags, linked, link_flags: link } = compiles(engine);
    Object.assign(this, { engine, clang, flags, userFlags, linked, link, headers: tree(files), objects: null });
  }

  // Runs a tool, and returns the files; what it complains about is thrown.
  async tool(name, words, files) {
    let said = "";
    const stderr = (bytes) => void (bytes && (said += decode(bytes)));
    try {
      return await this.clang.commands[name](words, files, { stdout: () => {}, stderr, fetchProgress: () => {} });
    } catch (fault) {
      if (fault instanceof this.clang.Exit) throw new Complaint(said);
      throw fault;
    }
  }

  // What is linked to every file.
  async made() {
    // Loads it; when "clang" does, it writes how far it is to the console.
    await this.tool("wasm-ld", ["--version"], {});
    let files = { ...this.headers };
    const names = this.linked.map((path) => path.replace(/.*\/(.*)c$/, "$1o"));
    for (const [index, path] of this.linked.entries()) {
      const words = [...this.flags, "-I", "include", "-DCC_CHECKED", "-fno-builtin", "-c", path, "-o", names[index]];
      files = await this.tool("clang", words, files);
    }
    return Object.fromEntries(names.map((name) => [name, files[name]]));
  }

  // {path, text, module, code} of a C file, `code` where its code begins in the module, or {path, error}: one text for the user.
  async compile(path, text) {
    const name = path.split("/").pop();
    try {
      this.objects ??= this.made();
      const objects = await this.objects;
      const words = [...this.flags, ...this.userFlags, "-I", "include", "-fno-caret-diagnostics", name];
      const given = { ...this.headers, [name]: text.replace(/^\ufeff/, "") };
      const { "user.i": preprocessed } = await this.tool("clang", [...words, "-E", "-o", "user.i"], given);
      const { "user.s": assembly } = await this.tool("clang", [...words, "-S", "-o", "user.s"], given);
      const refused = refusal(this.engine, path, decode(preprocessed), decode(assembly));
      if (refused) return { path, error: refused.text };
      const { "user.o": object } = await this.tool("clang", [...this.flags, "-c", "user.s", "-o", "user.o"], { "user.s": assembly });
      const parts = { ...objects, "user.o": object };
      const made = await this.tool("wasm-ld", [...this.link, ...Object.keys(parts), "-o", "user.wasm"], parts);
      const linked = made["user.wasm"];
      return { path, text, module: await WebAssembly.compile(linked), code: codeStart(linked) };
    } catch (fault) {
      if (!(fault instanceof Complaint)) throw fault;
      return { path, error: fault.told(path, name) };
    }
  }
}

// What a tool has written instead of files.
class Complaint extends Error {
  told(path, name) {
    if (this.message.includes("undefined symbol: cc_module"))
      return `${path} registers no algorithm; end the file with CC_ALGORITHM(name, "summary", .ssthresh = ..., .cong_avoid = ...);`;
    // One in a macro is told for each of its uses.
    const lines = new Set(this.message.split("\n").filter((line) => /error:/.test(line)));
    const errors = [...lines].slice(0, 5).map((line) => line.replaceAll(`${name}:`, `${path}:`).replace("fatal error:", "error:"));
    return `${path} does not compile:\n${errors.join("\n") || this.message.slice(0, 500)}`;
  }
}
