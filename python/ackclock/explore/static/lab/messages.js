// Columns of tables as Rust and Python write them.

const KINDS = { "|u1": Uint8Array, "<u4": Uint32Array, "<i4": Int32Array, "<u8": BigUint64Array, "<i8": BigInt64Array };

// A column of a buffer, and where it ends. 64 bits become doubles, which hold whole numbers up to 2^53 exactly: no time
// or count of a run is larger.
export function column(buffer, type, at, length) {
  const end = at + KINDS[type].BYTES_PER_ELEMENT * length;
  const words = new KINDS[type](buffer.slice(at, end));
  return { values: words.BYTES_PER_ELEMENT === 8 ? Float64Array.from(words, Number) : words, end };
}

// The messages in a buffer: a line of JSON each, and behind it its columns.
export function* messages(buffer) {
  const bytes = new Uint8Array(buffer);
  for (let at = 0; at < bytes.length;) {
    const head = bytes.indexOf(10, at);
    const message = JSON.parse(new TextDecoder().decode(bytes.subarray(at, head)));
    at = head + 1;
    message.columns = Object.fromEntries(message.columns.map(([name, type, length]) => {
      const { values, end } = column(buffer, type, at, length);
      at = end;
      return [name, values];
    }));
    yield message;
  }
}
