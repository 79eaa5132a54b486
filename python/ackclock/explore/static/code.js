// The tab "C file": the user's own algorithms to write, and the built-in ones to read.

import { source } from "./api.js";
import { accused, Editor } from "./editor.js";
import { element, label, parse } from "./form.js";

const $ = (selector) => document.querySelector(selector);

// The file that the page begins with.
const OWN = "my_cc.c";
// The names of files to read begin so; the rest of the name is that of the algorithm.
const BUILT_IN = "built-in ";
// How a file of the user's is run: a page without a server may have no compiler.
function running(name, { clang_bytes: bytes }) {
  if (bytes === 0) return "This page has no C compiler: write here, and run it with `ackclock explore` or `ackclock run`.";
  const once = bytes ? `; the first time this loads a C compiler of ${Math.ceil(bytes / 1e6)} MB` : "";
  return `Choose ${name} for a flow in the form; it is compiled when you run${once}.`;
}

export class Code {
  // `files` are the user's, by name; `form` has the fields of the scenario; `opened` shows the tab, and
  // `edited` is called where a flow takes another file.
  constructor(about, files, form, opened, edited) {
    Object.assign(this, { about, files, form, opened, edited, sources: new Map() }); // algorithm → its C file
    this.editor = new Editor($("#editor"), (text) => (files[$("#file").value] = text));
    this.begin();
    $("#file").addEventListener("change", () => this.draw($("#file").value));
    $("#anew").addEventListener("click", () => {
      this.begin();
      this.draw(OWN);
    });
    $("#change").addEventListener("click", () => this.change());
  }

  begin() {
    this.files[OWN] = this.about.skeleton;
  }

  async draw(chosen) {
    const { about, files, sources, editor } = this;
    const own = Object.keys(files).filter((name) => name.endsWith(".c"));
    const built = about.algorithms.map(({ name }) => BUILT_IN + name).sort();
    const select = $("#file");
    const now = chosen ?? ([...own, ...built].includes(select.value) ? select.value : own[0]);
    const group = (title, names) =>
      element(
        "optgroup",
        { label: title },
        ...names.map((name) => element("option", { value: name, textContent: name.replace(BUILT_IN, ""), selected: name === now })),
      );
    select.replaceChildren(group("Yours", own), group("Built in, to read", built));
    const [reads, name] = [now.startsWith(BUILT_IN), now.replace(BUILT_IN, "")];
    $("#anew").hidden = now !== OWN;
    $("#change").hidden = !reads || !sources.has(name);
    $("#code-hint").textContent = reads
      ? `${label(name, about)}, as the simulator and the kernel run it. "Change it" makes a copy of your own.`
      : `Your algorithm. ${running(now, about)}`;
    editor.readOnly = reads;
    if (reads && !sources.has(name)) sources.set(name, await source(name));
    if (select.value !== now) return; // another was chosen meanwhile
    $("#change").hidden = !reads;
    editor.text = reads ? sources.get(name) : (files[now] ?? "");
  }

  // Copies the built-in algorithm that is shown into a file of the user's, for the flows that use it.
  change() {
    const name = $("#file").value.replace(BUILT_IN, "");
    const copy = `my_${name}`.slice(0, 15); // TCP_CA_NAME_MAX
    const file = `${copy}.c`;
    if (this.files[file] === undefined) {
      this.files[file] = this.sources.get(name).replace(/(CC_ALGORITHM\()\w+/, `$1${copy}`);
      for (const flow of this.form.fields.flow) {
        const spec = flow.algorithm ?? "cubic";
        if (parse(spec).name === name) flow.algorithm = file + spec.slice(name.length);
      }
    }
    this.form.draw();
    this.edited();
    this.draw(file);
  }

  // Shows the C file of an algorithm.
  read(name) {
    this.opened();
    this.draw(this.files[name] === undefined ? BUILT_IN + name : name);
  }

  // Marks what an error names in a C file.
  accuse(message) {
    const { name, lines } = accused(message, this.files);
    if (!name) return;
    this.opened();
    this.draw(name);
    this.editor.mark(lines);
  }

  // The user's file that the tab shows; empty if it shows none.
  get shown() {
    const name = $('.tab[data-tab="code"]').hidden ? BUILT_IN : $("#file").value;
    return name.startsWith(BUILT_IN) ? "" : name;
  }
}
