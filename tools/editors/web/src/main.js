// The playground: the editor, the compiler, and the panes.
import { load } from "../../wasm/duologue.mjs";
import { element, offsets, options } from "./dom.js";
import { editor } from "./editor.js";
import { examples } from "./examples.js";
import * as link from "./link.js";
import * as panes from "./panes.js";

const byId = (id) => document.getElementById(id);
const [exampleChoice, fileChoice, pane, verdict, said] = ["example", "file", "pane", "verdict", "said"].map(byId);

// What checks, and the whole compiler, which only generated code needs: it is larger, so it is loaded when code is first shown.
let compiler = null;
let generator = null;
let isLoading = false;
let project = link.checked({ files: examples[0] });
const chosen = { rust: {}, c: {}, scala: {} };
const edit = editor(byId("editor"), changed);

// A module. A page from a disk may not fetch, so there it is in a script.
async function module(name) {
  try {
    if (location.protocol !== "file:") return await load(fetch(name + ".wasm"));
    await new Promise((resolve, reject) => {
      document.head.append(element("script", { src: name + ".wasm.js", load: resolve, error: reject }));
    });
    return await load(link.fromBase64(globalThis.duologueModule));
  } catch (error) {
    throw error instanceof Error ? error : new Error("the compiler cannot be loaded; `duologue play` serves this page with it");
  }
}

const run = (request, by = compiler) => by.run({ files: project.files, import_dirs: project.import_dirs, ...request });

let waiting = 0;
function changed() {
  project.files[project.file] = edit.text();
  clearTimeout(waiting);
  waiting = setTimeout(check, 60);
}

// Checks the text and shows what is found.
function check() {
  if (compiler === null) return;
  try {
    const answer = run({ command: "check" });
    const report = JSON.parse(answer.report);
    mark(report.diagnostics);
    const { errors, warnings } = report.summary;
    const counted = (many, word) => many === 1 ? `1 ${word}` : `${many} ${word}s`;
    verdict.textContent = errors + warnings === 0 ? "No errors, no warnings." : `${counted(errors, "error")}, ${counted(warnings, "warning")}.`;
    verdict.className = errors > 0 ? "error" : warnings > 0 ? "warning" : "good";
    show(answer);
  } catch (error) {
    failed(error);
  }
  keep();
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
    actions: found.fixes.filter((fix) => fix.edits.length > 0).map((fix) => ({ name: fix.title, apply: () => page.apply(fix) })),
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
  // Those that can be played: none if the text has errors.
  protocols: () => run({ command: "play" }).protocols ?? [],
  play({ name, words }) {
    project.protocol = name;
    project.play = words();
    choose("protocol");
    byId("tab-protocol").focus();
  },
  keep,
};

// Shows the chosen pane.
function show(answer) {
  const tab = project.tab;
  if (tab === "protocol") pane.replaceChildren(...panes.protocol(run({ command: "play" }), page, project));
  else if (tab === "breaking") compare();
  else if (tab in chosen) code(tab);
  else pane.replaceChildren(...panes.findings(answer, page));
}

function code(tab) {
  if (generator === null) {
    pane.replaceChildren(element("p", { role: "status" }, "The generators are loading."));
    loadGenerator();
    return;
  }
  const title = panes.TABS.find(([name]) => name === tab)[1];
  pane.replaceChildren(...panes.code(run({ command: "gen", targets: [tab] }, generator), title, chosen[tab]));
}

// After an error, the next tab or change tries again.
async function loadGenerator() {
  if (isLoading) return;
  isLoading = true;
  try {
    generator = await module("duologue");
    if (project.tab in chosen) check();
  } catch (error) {
    if (project.tab in chosen) failed(error);
  }
  isLoading = false;
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

function compared() {
  const result = byId("compared");
  const text = byId("old").value;
  const isMissing = text.trim() === "";
  if (isMissing) delete project.old[project.file];
  else project.old[project.file] = text;
  keep();
  // Files that have no old version are taken as they are, so that imports work.
  const old = { ...project.files, ...project.old };
  try {
    if (isMissing) result.replaceChildren(element("p", {}, "There is no old version yet."));
    else result.replaceChildren(...panes.changes(run({ command: "breaking", old }), page));
  } catch (error) {
    result.replaceChildren(element("p", { class: "error" }, error.message));
  }
}

// Keeps what is open in the address. Returns whether the address can contain it.
let keeping = 0;
async function kept() {
  try {
    history.replaceState(null, "", "#" + await link.write(project));
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

function start(next) {
  project = next;
  byId("compared")?.remove();
  list();
  edit.open(project.files[project.file]);
  choose(project.tab);
}

// The tabs, of which one is in the order of the Tab key, and arrows move between them.
const tabs = panes.TABS.map(([name, title]) => {
  const tab = element("button", { type: "button", role: "tab", id: "tab-" + name, "aria-controls": "pane", click: () => choose(name) }, title);
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = panes.TABS.findIndex(([other]) => other === name);
    const next = panes.TABS[(at + step + panes.TABS.length) % panes.TABS.length][0];
    choose(next);
    byId("tab-" + next).focus();
    event.preventDefault();
  });
  return tab;
});
byId("tabs").append(...tabs);

function choose(name) {
  project.tab = panes.TABS.some(([known]) => known === name) ? name : "findings";
  for (const tab of tabs) {
    const isChosen = tab.id === "tab-" + project.tab;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
  }
  pane.setAttribute("aria-labelledby", "tab-" + project.tab);
  pane.replaceChildren();
  check();
}

const names = examples.map((files) => Object.keys(files)[0]);
options(exampleChoice, ["choose", ...names], "choose");
exampleChoice.addEventListener("change", () => {
  const files = examples.find((found) => Object.keys(found)[0] === exampleChoice.value);
  if (files) start(link.checked({ files, tab: project.tab }));
  exampleChoice.value = "choose";
});
fileChoice.addEventListener("change", () => open(fileChoice.value));
byId("format").addEventListener("click", () => {
  try {
    const files = { [project.file]: project.files[project.file] };
    const formatted = compiler.run({ command: "fmt", files }).files;
    if (formatted) edit.replace(formatted[0].text);
    said.textContent = formatted ? "Formatted." : "The text does not parse; nothing changed.";
  } catch (error) {
    said.textContent = error.message;
  }
});
byId("copy").addEventListener("click", async () => {
  if (!(await kept())) return;
  try {
    await navigator.clipboard.writeText(location.href);
    said.textContent = "The link has been copied.";
  } catch {
    said.textContent = "The address of this page is the link: copy it.";
  }
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

// `duologue play FILE` serves the files at an address that ends so.
async function given() {
  if (location.search !== "?files") return;
  try {
    const answer = await fetch("files.json");
    if (!answer.ok) throw new Error("the server has none; open the address that `duologue play` printed");
    start(link.checked(await answer.json()));
  } catch (error) {
    throw new Error("The files cannot be loaded: " + error.message);
  }
}

// A link that is opened in this page. Returns whether there is one.
async function follow() {
  try {
    const next = await link.read(location.hash);
    if (next) start(next);
    return next !== null;
  } catch (error) {
    said.textContent = "The address cannot be read: " + error.message;
    return false;
  }
}
addEventListener("hashchange", follow);

async function begin() {
  start(project);
  try {
    if (!(await follow())) await given();
    compiler = await module("check");
    document.documentElement.dataset.ready = "yes";
    check();
  } catch (error) {
    failed(error);
  }
}

begin();
