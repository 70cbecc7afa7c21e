// The playground: the editor, the compiler, and the panes.
import { element } from "../dom.mjs";
import { contained, ownLink, reach, served, takeKey } from "./compiler.mjs";
import { editor } from "./editor.mjs";
import { checkedProject, readLink, writeLink } from "./link.mjs";
import { TABS, changesPane, codePane, findingsPane, protocolPane } from "./panes.mjs";
import { offsets, options } from "./text.mjs";

const byId = (id) => document.getElementById(id);
const [exampleChoice, fileChoice, pane, verdict, said] = ["example", "file", "pane", "verdict", "said"].map(byId);

const given = JSON.parse(byId("given").textContent);
const moduleText = byId("module").textContent;
const exampleProjects = given.examples.map((files) => Object.fromEntries(files));

// What answers requests, when it has been loaded.
let compiler = null;
let project = checkedProject(given.opened ?? { files: exampleProjects[0] });
const chosen = { rust: {}, c: {}, scala: {} };
const edit = editor(byId("editor"), changed);

const run = (request) => compiler.run({ files: project.files, import_dirs: project.import_dirs, ...request });

// The protocols of the last answer, which can be played: none if the text has errors.
let playableProtocols = [];

// Checks the text and shows what is found. An answer that comes after a newer question is not shown.
let questions = 0;
async function check() {
  if (compiler === null) return;
  questions += 1;
  const question = questions;
  const tab = project.tab;
  keep();
  try {
    const answer = await run(tab in chosen ? { command: "gen", targets: [tab] } : { command: "play" });
    if (question !== questions) return;
    const report = JSON.parse(answer.report);
    mark(report.diagnostics);
    const { errors, warnings } = report.summary;
    const counted = (many, word) => many === 1 ? `1 ${word}` : `${many} ${word}s`;
    verdict.textContent = errors + warnings === 0 ? "No errors, no warnings." : `${counted(errors, "error")}, ${counted(warnings, "warning")}.`;
    verdict.className = errors > 0 ? "error" : warnings > 0 ? "warning" : "good";
    playableProtocols = answer.protocols ?? [];
    show(tab, answer);
  } catch (error) {
    if (question === questions) failed(error);
  }
}

let waiting = 0;
function changed() {
  said.textContent = "";
  project.files[project.file] = edit.text();
  // An answer about the text before this change has the wrong places.
  questions += 1;
  clearTimeout(waiting);
  waiting = setTimeout(check, 60);
}

function failed(error) {
  verdict.className = "error";
  verdict.textContent = error.message;
  pane.replaceChildren(element("p", {}, error.message));
}

// The findings of the open file, in its text.
function mark(diagnostics) {
  const offset = offsets(project.files[project.file]);
  const own = diagnostics.filter((found) => found.path === project.file);
  edit.mark(own.map((found) => ({
    from: offset(found.range.start.byte),
    to: offset(found.range.end.byte),
    severity: found.level,
    message: found.message,
  })));
}

// What panes may do.
const page = {
  visit({ path, range }) {
    if (!Object.hasOwn(project.files, path)) return;
    open(path);
    const offset = offsets(project.files[path]);
    edit.goTo(offset(range.start.byte), offset(range.end.byte));
  },
  declaration(path, byte) {
    if (!Object.hasOwn(project.files, path)) return;
    open(path);
    const at = offsets(project.files[path])(byte);
    edit.goTo(at, at);
  },
  apply(fix) {
    const [first] = fix.edits;
    open(first.path);
    const offset = offsets(project.files[first.path]);
    const own = fix.edits.filter((change) => change.path === first.path);
    edit.change(own.map(({ range, text }) => ({ from: offset(range.start.byte), to: offset(range.end.byte), insert: text })));
  },
  choose(name) {
    project.protocol = name;
    project.play = [];
    check();
  },
  protocols: () => playableProtocols,
  play({ name, words }) {
    project.protocol = name;
    project.play = words();
    choose("protocol");
    byId("tab-protocol").focus();
  },
  keep,
  copy: copyText,
};

function show(tab, answer) {
  if (tab === "protocol") pane.replaceChildren(...protocolPane(answer, page, project));
  else if (tab === "breaking") compare();
  else if (tab in chosen) pane.replaceChildren(...codePane(answer, tab, chosen[tab], page));
  else pane.replaceChildren(...findingsPane(answer, page));
}

// The old version is edited in the pane, so that part stays while it is typed.
function compare() {
  let result = byId("compared");
  if (result === null) {
    const text = element("textarea", { id: "old", spellcheck: "false", input: compared });
    const take = () => {
      project.old = { ...project.files };
      text.value = project.old[project.file];
      compared();
    };
    result = element("div", { id: "compared" });
    pane.replaceChildren(
      element("p", {}, "Compares the text with an older version: whether old and new programs understand each other, and which side to deploy first."),
      element("p", {}, element("button", { type: "button", click: take }, "Take the text as the old version")),
      element("label", { for: "old" }, "Old version"), text, result);
  }
  byId("old").value = project.old[project.file] ?? "";
  compared();
}

let comparisons = 0;
async function compared() {
  comparisons += 1;
  const comparison = comparisons;
  const result = byId("compared");
  const text = byId("old").value;
  const isMissing = text.trim() === "";
  if (isMissing) delete project.old[project.file];
  else project.old[project.file] = text;
  keep();
  if (isMissing) {
    result.replaceChildren(element("p", {}, "There is no old version yet."));
    return;
  }
  // Files that have no old version are taken as they are, so that imports work.
  const old = { ...project.files, ...project.old };
  try {
    const answer = await run({ command: "breaking", old });
    if (comparison === comparisons) result.replaceChildren(...changesPane(answer, page));
  } catch (error) {
    if (comparison === comparisons) result.replaceChildren(element("p", { class: "error" }, error.message));
  }
}

// Keeps what is open in the address. Returns whether the address can contain it.
let keeping = 0;
async function kept() {
  try {
    history.replaceState(null, "", "#" + await writeLink(project));
    return true;
  } catch (error) {
    said.textContent = `The address does not contain what is open: ${error.message}.`;
    return false;
  }
}
function keep() {
  clearTimeout(keeping);
  keeping = setTimeout(kept, 300);
}

function open(path) {
  if (path !== project.file) {
    project.file = path;
    edit.open(project.files[path]);
    byId("compared")?.remove();
    check();
  }
  list();
}

function list() {
  const names = Object.keys(project.files);
  options(fileChoice, names, project.file);
  byId("remove").disabled = names.length === 1;
}

function begin(next) {
  project = next;
  byId("compared")?.remove();
  list();
  edit.open(project.files[project.file]);
  choose(project.tab);
}

// The tabs, of which one is in the order of the Tab key, and arrows move between them.
const tabs = TABS.map(([name, title]) => {
  const tab = element("button", { type: "button", role: "tab", id: "tab-" + name, "aria-controls": "pane", click: () => choose(name) }, title);
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = TABS.findIndex(([other]) => other === name);
    const next = TABS[(at + step + TABS.length) % TABS.length][0];
    choose(next);
    byId("tab-" + next).focus();
    event.preventDefault();
  });
  return tab;
});
byId("tabs").append(...tabs);

function choose(name) {
  said.textContent = "";
  project.tab = TABS.some(([known]) => known === name) ? name : "findings";
  for (const tab of tabs) {
    const isChosen = tab.id === "tab-" + project.tab;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
  }
  pane.setAttribute("aria-labelledby", "tab-" + project.tab);
  pane.replaceChildren();
  check();
}

const names = exampleProjects.map((files) => Object.keys(files)[0]);
options(exampleChoice, ["Example", ...names], "Example");
exampleChoice.addEventListener("change", () => {
  const files = exampleProjects.find((found) => Object.keys(found)[0] === exampleChoice.value);
  if (files) begin(checkedProject({ files, tab: project.tab }));
  exampleChoice.value = "Example";
});
fileChoice.addEventListener("change", () => open(fileChoice.value));
byId("format").addEventListener("click", async () => {
  try {
    const files = { [project.file]: project.files[project.file] };
    const { files: formatted } = await compiler.run({ command: "fmt", files });
    if (formatted) edit.replace(formatted[0].text);
    said.textContent = formatted ? "Formatted." : "The text does not parse; nothing changed.";
  } catch (error) {
    said.textContent = error.message;
  }
});
async function copyText(text, words) {
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = words;
  } catch {
    said.textContent = "The browser does not allow copying: select the text, and use the keyboard.";
  }
}

byId("copy").addEventListener("click", async () => {
  if (await kept()) await copyText(ownLink(), "Copied. " + reach(moduleText === ""));
});
byId("add").addEventListener("click", () => {
  byId("naming").hidden = false;
  byId("name").focus();
});
const unnamed = () => {
  byId("naming").hidden = true;
  byId("add").focus();
};
byId("unnamed").addEventListener("click", unnamed);
byId("naming").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = byId("name").value.trim();
  if (name === "" || Object.hasOwn(project.files, name)) {
    said.textContent = name === "" ? "A file needs a name." : "There is a file of this name.";
    return;
  }
  project.files = { ...project.files, [name]: "" };
  unnamed();
  open(name);
});
byId("remove").addEventListener("click", () => {
  const { [project.file]: _, ...rest } = project.files;
  project.files = rest;
  project.file = null;
  open(Object.keys(rest)[0]);
});

// A link that is opened in this page. Returns whether there is one.
async function follow() {
  try {
    const next = await readLink(location.hash);
    if (next) begin(next);
    return next !== null;
  } catch (error) {
    said.textContent = "The address cannot be read: " + error.message;
    return false;
  }
}

async function connect() {
  try {
    const isServed = moduleText === "";
    if (isServed) compiler = served(takeKey());
    // The module takes a while, and until then the address must not be replaced.
    const isLinked = await follow();
    if (!isServed) compiler ??= await contained(moduleText);
    else if (!isLinked) begin(checkedProject((await compiler.opened()) ?? project));
    document.documentElement.dataset.ready = "yes";
    check();
  } catch (error) {
    failed(error);
  }
}

addEventListener("hashchange", () => location.hash.startsWith("#key=") ? connect() : follow());
begin(project);
connect();
