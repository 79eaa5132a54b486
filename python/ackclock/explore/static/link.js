// A value as a part of an address, and back.

// Empty where it would have more than `most` letters.
export function pack(value, most) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  if (bytes.length > most) return ""; // a call takes only so many arguments
  const text = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return text.length > most ? "" : text;
}

export function unpack(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}
