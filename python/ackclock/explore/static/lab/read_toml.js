// Reads a scenario file: the part of TOML that scenarios use. What a key means is the engine's business.

import { Mistake } from "../side.js";

const ESCAPES = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", '"': '"', "\\": "\\" };

class Reader {
  constructor(text) {
    this.text = text.replaceAll("\r\n", "\n");
    this.at = 0;
  }

  fail(what) {
    const line = this.text.slice(0, this.at).split("\n").length;
    throw new Mistake(`line ${line}: ${what}`);
  }

  // Takes what matches here; null if nothing does.
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  need(pattern, what) {
    return this.match(pattern) ?? this.fail(`${what} expected`);
  }

  blanks() {
    this.match(/(?:\s|#[^\n]*)*/y);
  }

  lineEnd() {
    this.need(/[ \t]*(?:#[^\n]*)?(?:\n|$)/y, "the end of the line");
  }

  string() {
    const found = this.match(/"""\n?((?:\\[\s\S]|(?!""")[^\\])*)"""|"((?:\\.|[^"\\\n])*)"/y);
    if (!found) {
      const [, long, short] = this.match(/'''\n?([\s\S]*?)'''|'([^'\n]*)'/y) ?? this.fail("a text is not closed: \" or ' expected");
      return long ?? short;
    }
    return (found[1] ?? found[2]).replace(/\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[ \t]*\n\s*|.)/g, (all, code) => {
      if (/^[uU]/.test(code)) return String.fromCodePoint(parseInt(code.slice(1), 16));
      if (/^\s/.test(code)) return "";
      return ESCAPES[code] ?? this.fail(`${all} is not an escape of TOML`);
    });
  }

  key() {
    const parts = [];
    do {
      const bare = this.match(/[ \t]*([A-Za-z0-9_-]+)[ \t]*/y);
      parts.push(bare ? bare[1] : this.quotedKey());
    } while (this.match(/\./y));
    return parts;
  }

  quotedKey() {
    this.match(/[ \t]*/y);
    if (!/["']/.test(this.text[this.at] ?? "")) this.fail("a key expected");
    const name = this.string();
    this.match(/[ \t]*/y);
    return name;
  }

  value() {
    const next = this.text[this.at];
    if (next === '"' || next === "'") return this.string();
    if (this.match(/\[/y)) return this.array();
    if (this.match(/\{/y)) return this.inline();
    const word = this.match(/[^\s,\]}#]+/y)?.[0] ?? this.fail("a value expected");
    if (word === "true" || word === "false") return word === "true";
    if (/^[+-]?(?:inf|nan)$/.test(word)) return word.endsWith("nan") ? NaN : word[0] === "-" ? -Infinity : Infinity;
    const digits = word.replace(/(?<=[0-9a-fA-F])_(?=[0-9a-fA-F])/g, "");
    if (/^(?:[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+)$/.test(digits)) return Number(digits);
    return this.fail(`${word} is not a value: write a text in quotes, "${word}"`);
  }

  array() {
    const found = [];
    for (;;) {
      this.blanks();
      if (this.match(/\]/y)) return found;
      found.push(this.value());
      this.blanks();
      if (!this.match(/,/y)) {
        this.need(/\]/y, ", or ]");
        return found;
      }
    }
  }

  inline() {
    const found = {};
    this.match(/[ \t]*/y);
    if (this.match(/\}/y)) return found;
    do this.pair(found);
    while (this.match(/[ \t]*,/y));
    this.need(/[ \t]*\}/y, ", or }");
    return found;
  }

  pair(table) {
    const path = this.key();
    this.need(/=[ \t]*/y, "=");
    const owner = this.inside(table, path.slice(0, -1));
    if (Object.hasOwn(owner, path.at(-1))) this.fail(`${path.join(".")} stands there twice`);
    owner[path.at(-1)] = this.value();
  }

  // The table at a path, made where there is none; the last one of a list of tables.
  inside(table, path) {
    return path.reduce((owner, key) => {
      const next = Object.hasOwn(owner, key) ? owner[key] : (owner[key] = {});
      const inner = Array.isArray(next) ? next.at(-1) : next;
      return inner !== null && typeof inner === "object" ? inner : this.fail(`${key} is not a table`);
    }, table);
  }

  header(root, seen) {
    const list = this.match(/\[\[/y);
    if (!list) this.need(/\[/y, "[");
    const path = this.key();
    this.need(list ? /\]\]/y : /\]/y, list ? "]]" : "]");
    if (!list) {
      if (seen.has(path.join("."))) this.fail(`[${path.join(".")}] stands there twice`);
      seen.add(path.join("."));
      return this.inside(root, path);
    }
    const owner = this.inside(root, path.slice(0, -1));
    const tables = Object.hasOwn(owner, path.at(-1)) ? owner[path.at(-1)] : (owner[path.at(-1)] = []);
    if (!Array.isArray(tables)) this.fail(`${path.join(".")} is not a list of tables`);
    tables.push({});
    for (const each of seen) if (each.startsWith(`${path.join(".")}.`)) seen.delete(each);
    return tables.at(-1);
  }

  file() {
    const root = {};
    const seen = new Set();
    let table = root;
    for (this.blanks(); this.at < this.text.length; this.blanks()) {
      if (this.text[this.at] === "[") table = this.header(root, seen);
      else this.pair(table);
      this.lineEnd();
    }
    return root;
  }
}

// The fields of a scenario file; a `Mistake` names the line that cannot be read.
export const readTOML = (text) => new Reader(text).file();
