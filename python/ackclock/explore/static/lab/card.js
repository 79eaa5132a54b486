// A scorecard as a page of its own: as ackclock.scorecard.page has it, from `scorecard` of judge.js.

const escape = (text) => String(text).replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);

const table = (head, rows, look = "") =>
  `<div class="scroll"><table class="${look}"><tr>${head.map((each) => `<th>${escape(each)}</th>`).join("")}</tr>` +
  `${rows.map((cells) => `<tr>${cells.join("")}</tr>`).join("\n")}</table></div>`;
const cell = (text) => `<td>${escape(text)}</td>`;
const long = (text) => `<td class="long">${escape(text)}</td>`;
const mark = (text) => `<td class="${text.replace(/[()]/g, "")}">${escape(text)}</td>`;

// A number as short text, and with its interval.
function short(found, { unit }) {
  if (!found) return "—";
  const size = Math.abs(found.mean);
  const text = unit === "" && size >= 0.095 && size <= 1.5 ? found.mean.toFixed(2) : size < 1000 ? String(+found.mean.toPrecision(3)) : found.mean.toFixed(0);
  return `${found.censored ? "> " : ""}${text} ${unit}`.trim();
}

function decimals({ mean, low, high }) {
  let half = (high - low) / 2;
  if (!(half > 0 && half < Infinity)) half = Math.abs(mean) / 100;
  return half ? Math.min(Math.max(2 - Math.floor(Math.log10(half)), 0), 3) : 0;
}

function full(found, unit) {
  if (!found) return "—";
  const size = Math.abs(found.mean);
  const digits = unit === "" ? decimals(found) : size >= 100 ? 0 : size >= 1 ? 1 : 3;
  const say = (value) => (Math.abs(value) === Infinity ? (value > 0 ? "∞" : "-∞") : value.toFixed(digits)).replace(/^-(0\.?0*)$/, "$1");
  const text = `${say(found.mean)} ${unit}`.trim();
  if (found.censored) {
    const [above, below] = [found.high === Infinity, found.low === -Infinity];
    const of = `${found.censored} of ${found.n} cut off`;
    return above && below && found.censored === found.n ? `not known: ${of}` : `${above && below ? "about" : above ? ">" : "<"} ${text}, ${of}`;
  }
  return found.n > 1 ? `${text} (${say(found.low)} … ${say(found.high)})` : text;
}

// The number that says why the row is marked: the first unsafe one, or that of most marks.
function telling(row) {
  const unsafe = row.answers.find((answer) => answer.unsafe);
  if (unsafe) return unsafe;
  const says = ({ against }) => {
    const differ = against.map(({ mark: each }, at) => [each, at]).filter(([each]) => ["better", "worse"].includes(each));
    return differ.length + differ.filter(([each, at]) => each === row.marks[at]).length;
  };
  return row.answers.reduce((best, each) => (says(each) > says(best) ? each : best));
}

function line(row) {
  const shown = telling(row);
  const marks = row.marks.map((of, at) => {
    if (row.unsafe) return "unsafe";
    return ["better", "worse"].includes(of) && shown.against[at].mark !== of ? `(${of})` : of;
  });
  const { number } = shown;
  return [
    `<td><a href="#${row.row}">${row.row}</a></td>`, long(row.words), long(number.name), cell(short(shown.found, number)),
    ...shown.against.map(({ found }) => cell(short(found, number))), ...marks.map(mark),
  ];
}

function section(row, card) {
  const head = ["number", "margin", card.algorithm, ...card.others, ...card.others.flatMap((other) => [`− ${other}`, "mark"])];
  const rows = row.answers.map(({ number, found, against }) => [
    long(number.name), cell(`${number.margin} ${number.unit}`.trim()), cell(full(found, number.unit)),
    ...against.map((each) => cell(full(each.found, number.unit))),
    ...against.flatMap((each) => [cell(full(each.difference, number.unit)), mark(each.mark)]),
  ]);
  const unsafe = row.answers.filter((answer) => answer.unsafe).map(({ number, found }) => {
    const bound = `${number.unsafe} ${number.unit}`.trim();
    return `${number.name}: ${full(found, number.unit)}, unsafe ${number.more ? "below" : "above"} ${bound} (${number.because})`;
  });
  return `<section id="${row.row}"><h2>${row.row}: ${escape(row.words)}</h2><p>${escape(row.asked)}.</p>` +
    `${unsafe.length ? `<p>Unsafe: ${escape(unsafe.join("; "))}.</p>` : ""}${table(head, rows)}</section>`;
}

// The page; `css` is its stylesheet, `about` the lead and the words of scorecard.json, and who made it.
export function page(card, { css, lead, words, version }) {
  const title = `Scorecard of ${card.algorithm}`;
  const head = ["row", "question", "number", card.algorithm, ...card.others, ...card.others.map((other) => `v ${other}`)];
  const rows = card.rows.map(line);
  const { failed } = card;
  const broken = failed ? `<section><h2>${failed.row}: unsafe</h2><p>${escape(failed.problem)}</p><pre>${escape(failed.toml)}</pre></section>` : "";
  const command = `ackclock evaluate ${/^[\w./@:=,-]+$/.test(card.algorithm) ? card.algorithm : `'${card.algorithm}'`} --quick`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title><style>${css}</style></head><body>
<header class="bar"><a class="brand" href="#">ackclock <span>scorecard</span></a></header><div class="read"><main>
<h1>${escape(title)}</h1><p class="lead">${escape(card.says)}</p>
<p class="hint">ackclock ${escape(version)}, in this browser · a quick run: 3 seeds, intervals from the least to the most</p>
<section><h2>The card</h2><p>${escape(lead)}</p>${rows.length ? table(head, rows, `card of-${card.others.length}`) : ""}</section>
${broken}${card.rows.map((row) => section(row, card)).join("\n")}
<section><h2>Words</h2>${table(["word", "what it means"], Object.entries(words).map((each) => each.map(long)))}</section>
<section><h2>Repeat it</h2><pre>${escape(command)}</pre></section>
</main></div></body></html>`;
}
