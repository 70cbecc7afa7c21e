// A session with the library that VS Code uses for language servers, with a stand-in for VS Code alone: the library starts the server, agrees
// with it on what both can do, opens the texts and registers providers, which are then asked as VS Code asks them. Prints one line for each
// step that worked.
//
// The argument is the folder of the extension, in which its packages are installed.

'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const library = Module.createRequire(path.join(path.resolve(process.argv[2]), 'package.json'));
const { Emitter, CancellationTokenSource } = library('vscode-languageserver-protocol/node');
const { DUOLOGUE: server, DUOLOGUE_FOLDER: folder } = process.env;

/** A class whose instances have these fields, in the order of its parameters. */
const record = (...names) =>
  class {
    constructor(...values) {
      names.forEach((name, at) => (this[name] = values[at]));
    }
  };

class Uri extends record('text') {
  static parse = text => new Uri(text);
  static file = file => new Uri(pathToFileURL(file).href);
  get scheme() {
    return this.text.split(':')[0];
  }
  get fsPath() {
    return this.text.replace('file://', '');
  }
  toString() {
    return this.text;
  }
}

class Kind extends record('value') {
  append = part => new Kind(this.value ? `${this.value}.${part}` : part);
}
const kinds = { Empty: new Kind(''), QuickFix: new Kind('quickfix'), Source: new Kind('source') };
kinds.SourceOrganizeImports = kinds.Source.append('organizeImports');
kinds.SourceFixAll = kinds.Source.append('fixAll');

class WorkspaceEdit {
  edits = [];
  set = (uri, edits) => this.edits.push([uri.toString(), edits]);
}

/** What the library has registered, and the events that it listens to. */
const providers = {};
const events = {};
const findings = new Map();
const changedFindings = new Emitter();
const nothing = { dispose() {} };

/** A part of VS Code: what is not given listens to events and returns nothing. */
const part = given =>
  new Proxy(given, {
    get(target, name) {
      if (name in target) return target[name];
      if (String(name).startsWith('onDid')) return (events[name] ??= new Emitter()).event;
      return () => nothing;
    },
  });

const open = (name, text) => {
  const uri = Uri.file(path.join(folder, name));
  fs.writeFileSync(path.join(folder, name), text);
  return {
    uri, text, languageId: 'duologue', version: 1, isUntitled: false, isDirty: false, fileName: uri.fsPath, eol: 1,
    getText() { return this.text; },
  };
};
const types = open('types.proto', 'type money = u64;\n');
open('other.proto', 'type other = u8;\n');
const bank = open('shop.proto', fs.readFileSync(process.env.DUOLOGUE_TEXT, 'utf8'));

const given = {
  Uri, Kind, WorkspaceEdit,
  EventEmitter: Emitter, CancellationTokenSource,
  Disposable: class { static from = () => nothing; dispose() {} },
  CodeActionKind: kinds,
  Position: record('line', 'character'),
  Range: class {
    constructor(...all) {
      const [start, end] = all.length === 4 ? [{ line: all[0], character: all[1] }, { line: all[2], character: all[3] }] : all;
      Object.assign(this, { start, end });
    }
  },
  Location: record('uri', 'range'),
  TextEdit: record('range', 'newText'),
  Diagnostic: record('range', 'message', 'severity'),
  DiagnosticRelatedInformation: record('location', 'message'),
  CodeAction: record('title', 'kind'),
  CompletionItem: record('label'),
  CompletionList: record('items', 'isIncomplete'),
  CallHierarchyItem: record('kind', 'name', 'detail', 'uri', 'range', 'selectionRange'),
  CallHierarchyIncomingCall: record('from', 'fromRanges'),
  CallHierarchyOutgoingCall: record('to', 'fromRanges'),
  DocumentLink: record('range', 'target'),
  SymbolInformation: record('name', 'kind', 'containerName', 'location'),
  TabInputText: record('uri'),
  MarkdownString: class { value = ''; appendMarkdown(text) { this.value += text; return this; } },
  workspace: part({
    textDocuments: [types, bank],
    workspaceFolders: [{ uri: Uri.file(folder), name: 'folder' }],
    getConfiguration: () => ({ get: (_, other) => other }),
    createFileSystemWatcher: () => part({}),
  }),
  window: part({
    activeTextEditor: undefined,
    showErrorMessage: async words => process.stderr.write(`${words}\n`),
    tabGroups: part({ all: [{ tabs: [types, bank].map(document => ({ input: undefined, document })) }] }),
    createOutputChannel: () => part({ append: words => process.stderr.write(words), appendLine: words => process.stderr.write(`${words}\n`) }),
  }),
  languages: part({
    match: () => 10,
    createDiagnosticCollection: () => ({
      set(uri, list) { findings.set(uri.toString(), list); changedFindings.fire(); },
      delete(uri) { findings.delete(uri.toString()); },
      clear() { findings.clear(); },
      dispose() {},
    }),
  }),
  commands: part({}),
  env: part({ appName: 'stand-in', language: 'en' }),
  version: '1.82.0',
};
for (const group of given.window.tabGroups.all) for (const tab of group.tabs) tab.input = new given.TabInputText(tab.document.uri);
given.languages = new Proxy(given.languages, {
  get(target, name) {
    const found = /^register(.*?)(Edit)?Provider$/.exec(String(name));
    if (!found) return target[name];
    // What documents a provider is for comes first, unless it is for all.
    return (...words) => ((providers[found[1]] = words[found[1] === 'WorkspaceSymbol' ? 0 : 1]), nothing);
  },
});

/** Anything else is a class that can be extended, with members that are numbers. */
const vscode = new Proxy(given, {
  get: (target, name) => (target[name] ??= new Proxy(class {}, { get: (own, key) => own[key] ?? 0 })),
});
const original = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? vscode : original(name, ...rest));
const { LanguageClient } = library('vscode-languageclient/node');

const step = words => process.stdout.write(`${words}\n`);
const token = new CancellationTokenSource().token;

/** Waits until the findings of a document fulfill something. */
async function found(document, is) {
  const now = () => findings.get(document.uri.toString());
  while (!(now() && is(now()))) await new Promise(resolve => { const once = changedFindings.event(() => { once.dispose(); resolve(); }); });
  return now();
}

/** Types something in place of a part of a document. */
function type(document, from, to) {
  const at = document.text.indexOf(from);
  assert(at >= 0, `no ${from}`);
  const place = offset => {
    const lines = document.text.slice(0, offset).split('\n');
    return { line: lines.length - 1, character: lines.at(-1).length };
  };
  const range = { start: place(at), end: place(at + from.length) };
  document.text = document.text.replace(from, () => to);
  document.version += 1;
  events.onDidChangeTextDocument.fire({ document, contentChanges: [{ range, rangeOffset: at, rangeLength: from.length, text: to }] });
}

/** The position of a text in a document. */
function at(document, text, more = 0) {
  const lines = document.text.slice(0, document.text.indexOf(text) + more).split('\n');
  return new given.Position(lines.length - 1, lines.at(-1).length);
}

/** The document's text after edits. */
function apply(document, edits) {
  const starts = [0];
  for (const line of document.text.split('\n')) starts.push(starts.at(-1) + line.length + 1);
  const offset = place => Math.min(starts[place.line] + place.character, document.text.length);
  return [...edits].sort((a, b) => offset(b.range.start) - offset(a.range.start))
    .reduce((text, { range, newText }) => text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end)), document.text);
}

async function main() {
  const client = new LanguageClient('duologue', 'Duologue', { command: server, args: ['lsp'] }, { documentSelector: [{ language: 'duologue' }] });
  await client.start();
  const whole = document => new given.Range(new given.Position(0, 0), new given.Position(document.text.split('\n').length, 0));
  const actions = async only => {
    const list = await providers.CodeActions.provideCodeActions(bank, whole(bank), { diagnostics: await found(bank, () => true), only }, token);
    return Object.fromEntries(list.map(action => [action.title, action.edit.edits.find(([uri]) => uri === bank.uri.toString())[1]]));
  };

  await found(bank, list => list.length === 0);
  type(bank, 'ok -> connected', 'ok -> conected');
  const [mistake] = await found(bank, list => list.length > 0);
  step(`asked for: ${mistake.message.split('\n')[0]}`);
  const repairs = await actions();
  step(`repairs: ${Object.keys(repairs).join(', ')}`);
  type(bank, bank.text, apply(bank, repairs['did you mean `connected`?']));
  await found(bank, list => list.length === 0);

  type(bank, 'type money = f64;', '');
  await found(bank, list => list.length > 0);
  const { items } = await providers.CompletionItem.provideCompletionItems(bank, at(bank, 'deposit(mo', 'deposit(mo'.length), token, { triggerKind: 0 });
  const item = items.find(found => (found.label.label ?? found.label) === 'money' && found.additionalTextEdits);
  step(`completed with: ${item.additionalTextEdits[0].newText.trim()}`);
  const imports = await actions();
  const title = 'import `money` from `types.proto`';
  type(bank, bank.text, apply(bank, imports[title]));
  await found(bank, list => list.length === 0);
  step(title);
  // A text on which it depends changes.
  type(types, 'type money', 'type coins');
  await found(bank, list => list.length > 0);
  type(types, 'type coins', 'type money');
  await found(bank, list => list.length === 0);
  step('findings follow another text');

  type(bank, 'import "types.proto";', 'import "types.proto";\nimport "other.proto";');
  await found(bank, list => list.length > 0);
  const organized = (await actions(kinds.SourceOrganizeImports))['Organize imports'];
  step(`organized: ${apply(bank, organized).match(/import.*/g).join(' ')}`);
  type(bank, '\nimport "other.proto";', '');

  const [link] = await providers.DocumentLink.provideDocumentLinks(bank, token);
  step(`link to ${path.basename(link.target.toString())}`);
  const places = await providers.TypeDefinition.provideTypeDefinition(bank, at(bank, 'amount:'), token);
  step(`type in ${path.basename(places[0].uri.toString())}`);
  const calls = providers.CallHierarchy;
  const [state] = await calls.prepareCallHierarchy(bank, at(bank, 'connected:send'), token);
  const names = async (list, key) => (await list).map(call => call[key].name).join(' ');
  step(`into ${state.name}: ${await names(calls.provideCallHierarchyIncomingCalls(state, token), 'from')}`);
  step(`out of it: ${await names(calls.provideCallHierarchyOutgoingCalls(state, token), 'to')}`);
  const symbols = await providers.WorkspaceSymbol.provideWorkspaceSymbols('insufficient', token);
  step(`symbol ${symbols[0].containerName}/${symbols[0].name}`);
  type(bank, '    connected:send {', '  connected:send{');
  type(bank, '    login:send {', '  login:send{');
  const ranges = providers.DocumentRangeFormatting;
  const edits = await ranges.provideDocumentRangeFormattingEdits(bank, new given.Range(at(bank, 'connected:send'), at(bank, 'quit')), { tabSize: 4, insertSpaces: true }, token);
  step(`formatted: ${apply(bank, edits).match(/ *(connected|login):send.*/g).map(line => JSON.stringify(line)).join(' ')}`);
  await client.stop();
}

main().catch(error => {
  console.error(error);
  process.exitCode = 1;
}).finally(() => process.exit());
