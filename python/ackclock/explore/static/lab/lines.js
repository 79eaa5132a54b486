// The lines of C of a WebAssembly module: its section .debug_line, as clang writes it (DWARF 4, section 6.2).

class Bytes {
  constructor(buffer) {
    Object.assign(this, { view: new DataView(buffer), at: 0 });
  }
  u8 = () => this.view.getUint8(this.at++);
  i8 = () => this.view.getInt8(this.at++);
  u16 = () => this.view.getUint16((this.at += 2) - 2, true);
  u32 = () => this.view.getUint32((this.at += 4) - 4, true);
  uleb() {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = this.u8();
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  }
  sleb() {
    for (let value = 0, shift = 0; ; ) {
      const byte = this.u8();
      value |= (byte & 127) << shift;
      shift += 7;
      if (byte < 128) return shift < 32 && byte & 64 ? value | (-1 << shift) : value;
    }
  }
  string() {
    let text = "";
    for (let byte; (byte = this.u8()); ) text += String.fromCharCode(byte);
    return text;
  }
}

// Where the contents of the code section begin in a module, from which the table counts.
export function codeStart(module) {
  const bytes = new Bytes(module.buffer.slice(module.byteOffset, module.byteOffset + module.byteLength));
  bytes.at = 8;
  for (;;) {
    const [id, size] = [bytes.u8(), bytes.uleb()];
    if (id === 10) return bytes.at;
    bytes.at += size;
  }
}

// The rows of the table: [address, name of the file, line], in the order of the addresses.
export function linesOf(module) {
  const rows = [];
  for (const section of WebAssembly.Module.customSections(module, ".debug_line")) {
    const bytes = new Bytes(section);
    while (bytes.at < section.byteLength) rows.push(...program(bytes));
  }
  return rows.sort(([one], [other]) => one - other);
}

// The rows of one unit; another version than 4 has none.
function program(bytes) {
  const rows = [];
  const end = bytes.u32() + bytes.at;
  if (bytes.u16() !== 4) {
    bytes.at = end;
    return rows;
  }
  const start = bytes.u32() + bytes.at;
  const [step, , , base, range, special] = [bytes.u8(), bytes.u8(), bytes.u8(), bytes.i8(), bytes.u8(), bytes.u8()];
  const lengths = Array.from({ length: special - 1 }, bytes.u8);
  while (bytes.string()); // directories
  const files = [];
  for (let name; (name = bytes.string()); ) {
    files.push(name);
    for (let each = 0; each < 3; each++) bytes.uleb();
  }
  bytes.at = start;
  const first = { address: 0, file: 1, line: 1 };
  let state = { ...first };
  const row = () => rows.push([state.address, files[state.file - 1], state.line]);
  const standard = {
    1: row,
    2: () => (state.address += step * bytes.uleb()),
    3: () => (state.line += bytes.sleb()),
    4: () => (state.file = bytes.uleb()),
    8: () => (state.address += step * Math.floor((255 - special) / range)),
    9: () => (state.address += bytes.u16()),
  };
  const extended = {
    1: () => {
      row();
      state = { ...first };
    },
    2: () => (state.address = bytes.u32()),
  };
  while (bytes.at < end) {
    const code = bytes.u8();
    if (code >= special) {
      state.address += step * Math.floor((code - special) / range);
      state.line += base + ((code - special) % range);
      row();
    } else if (code === 0) {
      const next = bytes.uleb() + bytes.at;
      extended[bytes.u8()]?.();
      bytes.at = next;
    } else if (standard[code]) standard[code]();
    else for (let each = 0; each < lengths[code - 1]; each++) bytes.uleb();
  }
  return rows;
}
