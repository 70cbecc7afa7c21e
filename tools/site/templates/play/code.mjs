// Generated code in colors.
import { element } from "../dom.mjs";
import { coloredLines } from "./language.mjs";

// Where programs begin: the function that starts a session.
const starts = { rust: /^pub fn init\b/, c: /\b\w+_init\(/, scala: /^ *def init\b/ };

function startOf(lines, target) {
  let at = lines.findIndex((line) => starts[target].test(line));
  // Its documentation is above it.
  while (at > 0 && /^\s*(\/\*\*|\*|\/\/\/|#\[)/.test(lines[at - 1])) at -= 1;
  return at;
}

export function hasStart(file, target) {
  return startOf(file.text.split("\n"), target) >= 0;
}

// A file from what programs begin with. What is above that can be opened.
export function coloredFile(file, target) {
  const at = startOf(file.text.split("\n"), target);
  const block = (label, lines) => {
    const parts = lines.flatMap((line, index) => index === 0 ? line : ["\n", ...line]);
    return element("pre", { tabindex: "0", role: "region", "aria-label": label }, ...parts);
  };
  const lines = coloredLines(file.text, target);
  if (at <= 0) return [block(file.path, lines)];
  const head = `Lines 1 to ${at}`;
  return [element("details", {}, element("summary", {}, head), block(head, lines.slice(0, at))), block(file.path, lines.slice(at))];
}
