// What a page without a server says of an algorithm: its scorecard, from the runs of scorecard.json, and
// an attack on it, from the scenarios of attack.json (scripts/lab_judges.py), as ackclock.scorecard.attack has
// it. A number of three seeds has the interval from the least to the most; crates/measure has the marks.

const HARM = "harm_percent";

export const inPlace = (toml, algorithm) => toml.replaceAll('algorithm = "yours"', `algorithm = ${JSON.stringify(algorithm)}`);
const without = (toml) => toml.split("\n\n").filter((table) => !table.includes('algorithm = "yours"')).join("\n\n");
const withSeed = (toml, seed) => toml.replace(/^seed = .*\n/m, "").replace(/^/, `seed = ${seed}\n`);
const mean = (values) => values.reduce((sum, each) => sum + each, 0) / values.length;
const exactly = (value) => ({ value, low: value, high: value });

// A column of a run, or what is known of it: `low` to `high`.
function measured(numbers, column, aloneMbps) {
  if (column === HARM) return exactly(100 * (1 - numbers.others_mbps / aloneMbps));
  const value = numbers[column] ?? NaN;
  return numbers.at_least.includes(column) ? { value, low: value, high: Infinity } : exactly(value);
}

const difference = (one, other) => ({ value: one.value - other.value, low: one.low - other.high, high: one.high - other.low });

// Mean and interval of the seeds' numbers; null if none is known. One that needs no repeats is `exact`.
function estimate(repeats, exact) {
  const known = repeats.filter(({ value }) => Number.isFinite(value));
  if (!known.length) return null;
  const values = known.map(({ value }) => value);
  const found = { mean: mean(values), low: Math.min(...values), high: Math.max(...values), n: known.length, censored: 0 };
  if (exact) return { ...found, n: 0 };
  const falls = known.filter(({ low, value }) => low < value).length;
  const rises = known.filter(({ high, value }) => high > value).length;
  found.censored = falls + rises;
  if ((found.n === 1 && !found.censored) || falls) found.low = -Infinity;
  if ((found.n === 1 && !found.censored) || rises) found.high = Infinity;
  return found;
}

// The answers to a row: `ran` are the numbers of the algorithm's runs, by their places in `runs`.
function answered(row, runs, ran, others) {
  return row.numbers.map((number) => {
    const repeats = (numbersOf) => number.runs.map((places) => {
      const of = places.map((place) => measured(numbersOf(place), number.column, runs[place].alone_mbps));
      if (of.length === 1) return of[0];
      const values = of.map(({ value }) => value).filter((value) => !Number.isNaN(value));
      return exactly(values.length ? mean(values) : NaN);
    });
    const mine = repeats((place) => ran.get(place));
    const against = others.map((other) => {
      const theirs = repeats((place) => runs[place].others[other]);
      const of = estimate(mine.map((each, seed) => difference(each, theirs[seed])), row.exact);
      return { other, found: estimate(theirs, row.exact), difference: of };
    });
    return { number, found: estimate(mine, row.exact), against };
  });
}

// Rows with their answers and marks, and what the card says: `judge` is that of engine.js.
async function marked(judge, others, rows, failed) {
  const asked = rows.map(({ row, answers }) => ({
    row,
    numbers: answers.map(({ number: { more, margin, unsafe }, found, against }) => {
      return { more, margin, unsafe, found, against: against.map((of) => [of.found, of.difference]) };
    }),
  }));
  const { rows: told, says } = await judge({ others, rows: asked, failed });
  const withMarks = ({ against, ...answer }, { unsafe, marks }) => {
    return { ...answer, unsafe, against: against.map((of, at) => ({ ...of, mark: marks[at] })) };
  };
  const all = rows.map((row, at) => {
    const { marks, unsafe, answers } = told[at];
    return { ...row, marks, unsafe, answers: row.answers.map((answer, which) => withMarks(answer, answers[which])) };
  });
  return { rows: all, says };
}

// What a scenario comes to; an error has the scenario.
async function ran(measure, toml) {
  try {
    return await measure(toml);
  } catch (error) {
    throw Object.assign(error, { toml });
  }
}

// Runs what the card asks of an algorithm: `measure(toml)` measures a scenario, and `judge` marks. It ends after the
// easy links if the algorithm is unsafe there, and where it fails, which is `failed`.
export async function scorecard({ rows, runs }, algorithm, { measure, judge }, progress) {
  const others = Object.keys(runs[0].others).filter((other) => other !== algorithm);
  const card = { algorithm, others, rows: [], failed: null };
  const numbers = new Map();
  const run = async (place, row) => {
    try {
      numbers.set(place, (await ran(measure, inPlace(runs[place].toml, algorithm))).numbers);
    } catch (error) {
      card.failed ??= { row, problem: error.message, toml: error.toml };
      throw error;
    }
    progress(numbers.size / runs.length);
  };
  const [links, ...rest] = rows;
  for (const some of [[links], rest]) {
    const asked = new Map(); // place of a run → the first row that asks for it
    for (const { row, numbers: of } of some) {
      for (const place of of.flatMap((number) => number.runs.flat())) if (!numbers.has(place) && !asked.has(place)) asked.set(place, row);
    }
    await Promise.all([...asked].map(([place, row]) => run(place, row))).catch(() => {});
    if (card.failed) break;
    const found = some.map((row) => ({ ...row, answers: answered(row, runs, numbers, others) }));
    Object.assign(card, await marked(judge, others, found, null));
    if (some[0] !== links || !card.rows[0].unsafe) continue;
    return { ...card, ...(await marked(judge, others, card.rows, links.row)) };
  }
  return card.failed ? { ...card, ...(await marked(judge, others, card.rows, card.failed.row)) } : card;
}

// The part of their throughput alone that others lose.
const harm = (besideBps, aloneBps) => Math.min(Math.max(1 - besideBps / Math.max(aloneBps, 1), 0), 1);

// The scenario in which an algorithm hurts others most, of those that an attack tries first, or one in which it
// fails; what counts is how much more it hurts than another in its place. `found(says)` is told of each that is
// worse than those before.
export async function attack({ beside, seeds, scenarios }, algorithm, { measure }, progress, found) {
  let worst = null;
  let tried = 0;
  const besideBps = ({ own, others }, { goodputs_bps: bps }) => mean(bps.slice(own, own + others));
  const told = ({ mine, theirs }) => `harm to other flows ${(100 * mine).toFixed(0)} %; ${beside} in its place ${(100 * theirs).toFixed(0)} %`;
  const search = async (each, number) => {
    const mine = harm(besideBps(each, await ran(measure, inPlace(each.toml, algorithm))), each.alone_bps);
    const theirs = harm(each.beside_bps, each.alone_bps);
    const more = mine - theirs;
    progress((0.95 * ++tried) / scenarios.length);
    if (worst && (more < worst.more || (more === worst.more && number > worst.number))) return;
    worst = { number, each, mine, theirs, more };
    found(`${told(worst)}, after ${tried} of ${scenarios.length} scenarios`);
  };
  try {
    await Promise.all(scenarios.map(search));
    const { each } = worst;
    const judged = await Promise.all(seeds.map(async (seed) => {
      const alone = await ran(measure, withSeed(without(each.toml), seed));
      const aloneBps = mean(alone.goodputs_bps.slice(0, each.others));
      const of = async (name) => harm(besideBps(each, await ran(measure, withSeed(inPlace(each.toml, name), seed))), aloneBps);
      return { mine: await of(algorithm), theirs: await of(beside) };
    }));
    const all = { mine: mean(judged.map(({ mine }) => mine)), theirs: mean(judged.map(({ theirs }) => theirs)) };
    return { says: `${told(all)}: the worst of ${scenarios.length} scenarios, ${seeds.length} seeds`, toml: inPlace(each.toml, algorithm) };
  } catch (error) {
    if (!error.toml) throw error;
    return { says: error.message, toml: error.toml };
  }
}
