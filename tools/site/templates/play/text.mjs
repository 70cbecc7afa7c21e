import { element } from "../dom.mjs";

export function options(select, names, chosen) {
  select.replaceChildren(...names.map((name) => element("option", { value: name, selected: name === chosen }, name)));
  select.value = chosen;
}

// From a position in bytes, as the compiler counts, to one in the units of strings.
export function offsets(text) {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length === text.length) return (byte) => byte;
  return (byte) => new TextDecoder().decode(bytes.subarray(0, byte)).length;
}
