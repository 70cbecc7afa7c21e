// What is beside the editor. Each pane is a function from an answer of the compiler to elements.
import { element } from "../dom.mjs";
import { replay, stepper } from "../stepper.mjs";
import { coloredFile, hasStart } from "./code.mjs";
import { options } from "./text.mjs";

export const TABS = [
  ["findings", "Findings"],
  ["protocol", "Protocol"],
  ["rust", "Rust"],
  ["c", "C"],
  ["scala", "Scala"],
  ["breaking", "Changes"],
];

// For each state that a dialogue leads to, the message before it and the state that has it.
function before(table) {
  const found = [null];
  const pending = [0];
  for (const at of pending) {
    for (const [name, next] of table.states[at].messages) {
      if (next === null || found[next] !== undefined) continue;
      found[next] = { name, at };
      pending.push(next);
    }
  }
  return found;
}

// What findings need of a protocol.
function playable({ name, file, states, table: json }) {
  const table = JSON.parse(json);
  return { name, file, table, before: before(table), at: new Map(states.map((byte, state) => [byte, state])) };
}

// The protocol of a finding, and a function that returns the messages of its dialogue: the one that shows it, as far as the open version
// of the protocol has it, or the shortest one that leads to the state that it is about. Null if the stepper has nothing to show.
function played(found, protocols) {
  for (const { name, file, table, before, at } of protocols) {
    if (found.dialogue.length === 0) {
      const state = file === found.path ? at.get(found.range.start.byte) : undefined;
      if (!before[state]) continue;
      const words = () => {
        const names = [];
        for (let last = before[state]; last !== null; last = before[last.at]) names.push(last.name);
        return names.reverse();
      };
      return { name, words };
    }
    if (![name, table.name].some((name) => found.message.includes("`" + name + "`"))) continue;
    const said = found.dialogue.map(({ label }) => label.slice(label.indexOf(": ") + 2));
    const { taken } = replay(table, said).position;
    if (taken.length > 0) return { name, words: () => taken };
  }
  return null;
}

// A finding with its places, which can be visited, its dialogue, which can be played, and its repairs, which can be applied.
function finding(found, page, protocols) {
  const at = found.range.start;
  const place = `${found.path}:${at.line}:${at.column}`;
  const visit = (labeled, words) => element("button", { type: "button", click: () => page.visit(labeled) }, words);
  const box = element("li", { class: "finding" },
    element("p", {}, element("strong", { class: found.level }, found.level), ` ${found.message} (${found.rule})`),
    element("p", {}, visit(found, place), " " + found.label));
  for (const other of found.related) {
    box.append(element("p", {}, visit(other, `${other.path}:${other.range.start.line}`), " " + other.label));
  }
  if (found.dialogue.length > 0) {
    const steps = found.dialogue.map((step) => element("li", {}, visit(step, step.label)));
    box.append(element("p", {}, "The shortest dialogue that shows it:"), element("ol", {}, ...steps));
  }
  const play = played(found, protocols);
  if (play !== null) {
    const label = found.dialogue.length > 0 ? "Play this dialogue" : "Play until this state";
    box.append(element("p", {}, element("button", { type: "button", click: () => page.play(play) }, label)));
  }
  for (const note of found.notes) box.append(element("p", {}, "Note: " + note));
  for (const fix of found.fixes) {
    const apply = fix.edits.length > 0 && element("button", { type: "button", click: () => page.apply(fix) }, "Apply");
    box.append(element("p", {}, "Help: " + fix.title + " ", apply || ""));
  }
  return box;
}

function findingList(diagnostics, page) {
  const protocols = diagnostics.length === 0 ? [] : page.protocols().map(playable);
  return element("ul", { class: "findings", role: "list" }, ...diagnostics.map((found) => finding(found, page, protocols)));
}

export function findingsPane(answer, page) {
  const { diagnostics } = JSON.parse(answer.report);
  if (diagnostics.length === 0) return [element("p", {}, "No errors, no warnings.")];
  return [findingList(diagnostics, page), element("h2", {}, "As the command line prints it"),
    element("pre", { tabindex: "0", role: "region", "aria-label": "As the command line prints it" }, answer.text.trim())];
}

const instead = () => [element("p", {}, "The text has errors; see the findings.")];

// A protocol: its picture, and both sides to play. `project` keeps the messages of the session.
export function protocolPane(answer, page, project) {
  if (!answer.ok) return instead();
  const all = answer.protocols ?? [];
  if (all.length === 0) return [element("p", {}, "The text has no protocol.")];
  const shown = all.find((found) => found.name === project.protocol) ?? all[0];
  project.protocol = shown.name;
  const choice = element("select", { change: () => page.choose(choice.value) });
  options(choice, all.map((found) => found.name), shown.name);
  const picture = element("div", { class: "picture", tabindex: "0", role: "region", "aria-label": "Picture" });
  if (shown.picture === undefined || shown.picture === null) picture.append("The protocol is too large for a picture.");
  // The compiler has escaped every name in it.
  else picture.innerHTML = shown.picture;
  picture.addEventListener("click", (event) => {
    const state = event.target.closest("[data-state]");
    if (!state) return;
    event.preventDefault();
    page.declaration(shown.file, shown.states[Number(state.getAttribute("data-state"))]);
  });
  const section = element("section", { id: "play" }, element("h2", { class: "unseen" }, "Play both sides"));
  const place = {
    read: () => project.play,
    write(taken, read) {
      project.play = taken;
      page.keep();
      read();
    },
  };
  stepper(section, JSON.parse(shown.table), picture, place);
  const look = element("div", { class: "look" }, section, element("div", {}, element("details", {}, element("summary", {}, "Full size")), picture));
  if (all.length === 1) return [look];
  return [element("div", { class: "tools" }, element("label", {}, "Protocol ", choice)), look];
}

// Generated code, one file at a time. `chosen` keeps which.
export function codePane(answer, target, chosen, page) {
  if (!answer.ok) return instead();
  const files = answer.files ?? [];
  if (files.length === 0) return [element("p", {}, "Nothing is generated.")];
  const shown = () => files.find((file) => file.path === chosen.path);
  chosen.path = (shown() ?? files.find((file) => hasStart(file, target)) ?? files[0]).path;
  const box = element("div", {});
  const choice = element("select", {
    change() {
      chosen.path = choice.value;
      box.replaceChildren(...coloredFile(shown(), target));
    },
  });
  options(choice, files.map((file) => file.path), chosen.path);
  box.append(...coloredFile(shown(), target));
  const copy = element("button", { type: "button", click: () => page.copy(shown().text, `${chosen.path} has been copied.`) }, "Copy file");
  const notes = (answer.notes ?? []).map((note) => element("p", {}, note));
  return [element("div", { class: "tools" }, element("label", {}, "File ", choice), copy), ...notes, box];
}

const verdictWords = {
  added: ["good", "is new"],
  removed: ["error", "was removed"],
  same: ["good", "has not changed"],
  "any-order": ["good", "can be deployed in any order"],
  "server-first": ["warning", "can be deployed, servers first"],
  "client-first": ["warning", "can be deployed, clients first"],
  incompatible: ["error", "is incompatible: no order is safe"],
};

// The comparison with the old version.
export function changesPane(answer, page) {
  const report = JSON.parse(answer.report);
  const verdicts = (report.protocols ?? []).map((found) => {
    const [style, text] = verdictWords[found.verdict] ?? ["", found.verdict];
    const reason = found.reason === "" ? "" : ` (${found.reason})`;
    return element("p", {}, found.name + " ", element("strong", { class: style }, text), reason);
  });
  return [...verdicts, findingList(report.diagnostics, page)];
}
