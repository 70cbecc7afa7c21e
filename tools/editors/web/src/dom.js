// Elements with attributes and children; a function as an attribute listens to the event of that name.
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

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
