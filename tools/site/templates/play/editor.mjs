// The editor: a text area whose own text is not painted. Behind it are the same text in colors, and lines below findings.
import { element } from "../dom.mjs";
import { coloredLines } from "./language.mjs";

// `changed` is called after each change that a person makes.
export function editor(parent, changed) {
  const numbers = element("pre", { class: "numbers", "aria-hidden": "true" });
  const colors = element("pre", { class: "colors", "aria-hidden": "true" });
  const marks = element("pre", { class: "marks", "aria-hidden": "true" });
  const area = element("textarea", { "aria-label": "Protocol file", spellcheck: "false", autocapitalize: "off", wrap: "off", rows: "1" });
  parent.replaceChildren(numbers, colors, marks, area);

  const lineAt = (at) => area.value.slice(0, at).split("\n").length;

  // Positions count units of strings. What overlaps an earlier finding is left out.
  function mark(findings) {
    const count = area.value.split("\n").length;
    const found = new Map();
    const parts = [];
    let done = 0;
    for (const { from, to, severity, message } of [...findings].sort((one, other) => one.from - other.from)) {
      const line = lineAt(from);
      found.set(line, { severity, message: [found.get(line)?.message, message].filter(Boolean).join("\n") });
      if (from < done) continue;
      parts.push(area.value.slice(done, from), element("u", { class: severity }, area.value.slice(from, to) || " "));
      done = Math.max(from, to);
    }
    marks.replaceChildren(...parts);
    const lines = Array.from({ length: count }, (_, index) => {
      const finding = found.get(index + 1);
      return finding ? element("b", { class: finding.severity, title: finding.message }, String(index + 1)) : String(index + 1);
    });
    numbers.replaceChildren(...lines.flatMap((line) => [line, "\n"]));
  }

  function draw() {
    // The end of a line that nothing follows would have no height.
    colors.replaceChildren(...coloredLines(area.value, "duologue").flatMap((line) => [...line, "\n"]));
    mark([]);
  }

  // As if it was typed, so that it can be undone.
  function insert(from, to, text) {
    area.focus({ preventScroll: true });
    area.setSelectionRange(from, to);
    const isDone = text === "" ? document.execCommand("delete") : document.execCommand("insertText", false, text);
    if (isDone) return;
    area.setRangeText(text, from, to, "end");
    area.dispatchEvent(new Event("input"));
  }

  area.addEventListener("input", () => {
    draw();
    changed();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const start = area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
    const [indent] = /^[ \t]*/.exec(area.value.slice(start, area.selectionStart));
    insert(area.selectionStart, area.selectionEnd, "\n" + indent);
  });
  return {
    text: () => area.value,
    // Another file, without a history.
    open(text) {
      area.value = text;
      draw();
    },
    // The same file with another text, which can be undone.
    replace: (text) => insert(0, area.value.length, text),
    change: (changes) => [...changes].sort((one, other) => other.from - one.from).forEach(({ from, to, insert: text }) => insert(from, to, text)),
    mark,
    goTo(from, to) {
      area.focus({ preventScroll: true });
      area.setSelectionRange(from, to);
      parent.scrollTop = lineAt(from) * parseFloat(getComputedStyle(area).lineHeight) - parent.clientHeight / 2;
      parent.scrollLeft = 0;
    },
  };
}
