// A small editor for C: line numbers, colours, the line of an error.

const WORDS =
  "auto break case char const continue default do else enum extern for goto if inline int long return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false u8 u16 u32 u64 s8 s16 s32 s64";
const TOKENS = new RegExp(
  [
    String.raw`(?<comment>/\*[\s\S]*?(?:\*/|(?![\s\S]))|//[^\n]*)`,
    String.raw`(?<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')`,
    String.raw`(?<pre>^[ \t]*#[ \t]*\w+)`,
    String.raw`(?<word>\b(?:${WORDS.split(" ").join("|")})\b)`,
    String.raw`(?<number>\b\d[\w.]*)`,
  ].join("|"),
  "gm",
);

const escaped = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);

function painted(text) {
  let html = "";
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    const [kind] = Object.entries(match.groups).find(([, each]) => each !== undefined);
    // A token never crosses a line here, so that each line can be marked.
    const parts = match[0].split("\n").map((part) => `<span class="${kind}">${escaped(part)}</span>`);
    html += escaped(text.slice(end, match.index)) + parts.join("\n");
    end = match.index + match[0].length;
  }
  return (html + escaped(text.slice(end))).split("\n");
}

// The file that an error names, and its lines: those that it names, or where its function begins.
export function accused(message, files) {
  const places = [...message.matchAll(/([\w-]+\.c)(?::(\d+)(?::\d+)?[:,]|, function (\w+):)/g)];
  const name = places[0]?.[1];
  if (!name || files[name] === undefined) return {};
  const begins = (called) => {
    const start = new RegExp(`^\\w.*\\b${called}\\b`);
    return 1 + files[name].split("\n").findIndex((line) => start.test(line));
  };
  const own = places.filter((each) => each[1] === name);
  return { name, lines: own.map(([, , line, called]) => (line ? Number(line) : begins(called))) };
}

export class Editor {
  constructor(element, changed) {
    this.element = element;
    this.gutter = element.querySelector(".gutter");
    this.paint = element.querySelector(".paint");
    this.area = element.querySelector("textarea");
    this.bad = new Set();
    this.area.addEventListener("input", () => {
      this.bad.clear();
      this.draw();
      changed(this.text);
    });
    this.area.addEventListener("keydown", (event) => {
      if (this.area.readOnly || event.key !== "Tab" || event.shiftKey || event.ctrlKey) return;
      event.preventDefault();
      this.area.setRangeText("\t", this.area.selectionStart, this.area.selectionEnd, "end");
      this.area.dispatchEvent(new Event("input"));
    });
  }

  set readOnly(reads) {
    this.area.readOnly = reads;
    this.element.classList.toggle("reads", reads);
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.bad.clear();
    this.draw();
    this.element.scrollTop = 0;
  }

  mark(lines) {
    this.bad = new Set(lines);
    this.draw();
    const first = this.gutter.querySelector(".bad");
    if (first) this.element.scrollTop = first.offsetTop - 80;
  }

  draw() {
    const lines = painted(this.text);
    const number = (_, i) => (this.bad.has(i + 1) ? `<span class="bad">${i + 1}</span>` : i + 1);
    this.gutter.innerHTML = lines.map(number).join("\n");
    const line = (html, i) => (this.bad.has(i + 1) ? `<span class="bad">${html || " "}</span>` : html);
    this.paint.innerHTML = lines.map(line).join("\n") + "\n";
  }
}
