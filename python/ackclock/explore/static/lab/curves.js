// The curves of a run, as they grow, and what of them a window of time shows. Every curve of every run comes on the
// same grid of times: two points for each column of the window, the lowest and the highest value in it in the order of
// their times. So a peak of one sample is never lost, all curves share one time axis, and 10⁷ samples cost no more to
// draw than 10³.

// Samples in a block whose lowest and highest value are kept, for windows with many samples.
const BLOCK = 16;
// From so many samples a column of the window takes whole blocks.
const COARSE = 8 * BLOCK;

// Numbers that grow, with the lowest and highest of each whole block of them.
class Column {
  constructor(Kind) {
    this.store = new Kind(256);
    this.low = new Kind(256 / BLOCK);
    this.high = new Kind(256 / BLOCK);
    this.size = 0;
  }

  append(values) {
    const end = this.size + values.length;
    if (end > this.store.length) {
      const room = BLOCK * (Math.floor((2 * end) / BLOCK) + 1);
      this.store = grown(this.store, room);
      this.low = grown(this.low, room / BLOCK);
      this.high = grown(this.high, room / BLOCK);
    }
    this.store.set(values, this.size);
    for (let block = Math.floor(this.size / BLOCK); block < Math.floor(end / BLOCK); block++) {
      [this.low[block], this.high[block]] = extremes(this.store, block * BLOCK, (block + 1) * BLOCK);
    }
    this.size = end;
  }

  // The lowest and the highest value from each edge to the next; the edges rise.
  ranges(edges) {
    let least = Infinity;
    for (let i = 1; i < edges.length; i++) least = Math.min(least, edges[i] - edges[i - 1]);
    if (least < COARSE) return pairs(edges, (from, to) => extremes(this.store, from, to));
    const blocks = edges.map((edge) => Math.floor(edge / BLOCK));
    return pairs(blocks, (from, to) => [extremes(this.low, from, to)[0], extremes(this.high, from, to)[1]]);
  }
}

function grown(values, room) {
  const made = new values.constructor(room);
  made.set(values);
  return made;
}

const pairs = (edges, of) => edges.slice(1).map((to, index) => of(edges[index], to));

function extremes(values, from, to) {
  let [low, high] = [values[from], values[from]];
  for (let i = from + 1; i < to; i++) {
    const value = values[i];
    if (value < low) low = value;
    else if (value > high) high = value;
  }
  return [low, high];
}

// The first place of rising values, up to `size`, that is not below what is sought.
export function search(values, size, sought) {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < sought) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Values of the straight line through points at a rising grid, as numpy's interp; `outside` beyond them.
function interpolated(grid, xs, ys, first, end, outside) {
  const last = end - 1;
  let at = first;
  return grid.map((x) => {
    if (x < xs[first]) return outside ?? ys[first];
    if (x > xs[last]) return outside ?? ys[last];
    while (at < last && xs[at + 1] <= x) at++;
    if (at === last || xs[at] === x) return ys[at];
    return ((ys[at + 1] - ys[at]) / (xs[at + 1] - xs[at])) * (x - xs[at]) + ys[at];
  });
}

// A span of time on a screen, in columns.
export class Window {
  constructor(startUs, endUs, columns) {
    Object.assign(this, { startUs, endUs, columns });
    this.columnUs = (endUs - startUs) / columns;
    // The grid: two times for each column.
    this.timesUs = Float64Array.from({ length: 2 * columns }, (_, i) => startUs + ((i + 0.5) * this.columnUs) / 2);
  }
}

// What was sampled of one flow or of one queue: columns over time.
export class Curve {
  constructor(kinds) {
    this.times = new Column(Float64Array);
    this.columns = Object.fromEntries(Object.entries(kinds).map(([name, Kind]) => [name, new Column(Kind)]));
  }

  append(timesUs, columns) {
    this.times.append(timesUs);
    for (const [name, column] of Object.entries(this.columns)) column.append(columns[name]);
  }

  // The lowest and highest values of a column in the window, on its grid. Between two samples the line
  // is straight; before the first and after the last there is none.
  shown(name, window) {
    const { size, store: times } = this.times;
    const column = this.columns[name];
    if (size === 0) return new Float32Array(2 * window.columns).fill(NaN);
    const edges = Array.from({ length: window.columns + 1 }, (_, i) => search(times, size, window.startUs + i * window.columnUs));
    const filled = [];
    for (let i = 0; i < window.columns; i++) if (edges[i + 1] > edges[i]) filled.push(i);
    const from = Math.max(edges[0] - 1, 0);
    const to = Math.min(edges.at(-1) + 1, size);
    const line = filled.length < window.columns;
    const shown = line ? Float32Array.from(interpolated(window.timesUs, times, column.store, from, to, NaN)) : new Float32Array(2 * window.columns);
    if (filled.length) {
      const starts = [...filled.map((i) => edges[i]), edges.at(-1)];
      column.ranges(starts).forEach(([low, high], index) => {
        const falls = column.store[starts[index]] > column.store[starts[index + 1] - 1];
        shown[2 * filled[index]] = falls ? high : low;
        shown[2 * filled[index] + 1] = falls ? low : high;
      });
    }
    return shown;
  }

  // How fast a cumulative column rises at each time of the grid, over so long a time.
  ratePerS(name, window, overUs) {
    const { size, store: times } = this.times;
    const values = this.columns[name].store;
    if (size < 2) return new Float32Array(2 * window.columns).fill(NaN);
    const over = Math.max(overUs, window.columnUs);
    const [first, last] = [times[0], times[size - 1]];
    const within = (x) => Math.min(Math.max(x, first), last);
    const after = window.timesUs.map((x) => within(x + over / 2));
    const before = window.timesUs.map((x) => within(x - over / 2));
    const from = Math.max(search(times, size, before[0]) - 1, 0);
    const to = Math.min(search(times, size, after.at(-1)) + 1, size);
    const high = interpolated(after, times, values, from, to);
    const low = interpolated(before, times, values, from, to);
    return Float32Array.from(window.timesUs, (x, i) =>
      x < first || x > last ? NaN : ((high[i] - low[i]) / (after[i] - before[i])) * 1e6,
    );
  }
}
