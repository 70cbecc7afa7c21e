// The extension with stand-ins for VS Code and for the library that talks to the server: what it registers, starts, asks and shows.

'use strict';

const assert = require('node:assert');
const Module = require('node:module');
const path = require('node:path');
const { beforeEach, test } = require('node:test');

/** What the stand-ins recorded, and how they answer. */
let world;

function stubs() {
  const disposable = () => ({ dispose() {} });
  const on = name => listener => {
    world.listeners[name] = listener;
    return disposable();
  };
  const vscode = {
    ViewColumn: { Beside: -2 },
    commands: {
      registerCommand(name, run) {
        world.commands[name] = run;
        return disposable();
      },
      executeCommand: async (...words) => void world.executed.push(words),
    },
    languages: { setTextDocumentLanguage: async (document, id) => void (document.languageId = id) },
    window: {
      get activeTextEditor() {
        return world.editor;
      },
      createWebviewPanel(kind, title, place, options) {
        world.panel = { kind, title, place, options, webview: { html: '' }, onDidDispose: run => (world.close = run), dispose() {} };
        return world.panel;
      },
      onDidChangeTextEditorSelection: on('selection'),
      showErrorMessage: async text => void world.errors.push(text),
      showTextDocument: async document => void world.shown.push(document),
    },
    workspace: {
      get textDocuments() {
        return world.documents;
      },
      getConfiguration: () => ({ get: (key, other) => world.settings[key] ?? other }),
      onDidChangeConfiguration: on('configuration'),
      onDidChangeTextDocument: on('text'),
      onDidOpenTextDocument: on('open'),
      openTextDocument: async document => document,
    },
  };
  class LanguageClient {
    constructor(id, name, server, options) {
      world.clients.push({ id, name, server, options, state: 'new' });
      this.own = world.clients.at(-1);
    }
    async start() {
      if (world.isMissing) {
        throw new Error('spawn duologue ENOENT');
      }
      this.own.state = 'started';
    }
    async stop() {
      this.own.state = 'stopped';
    }
    async sendRequest(method, parameters) {
      world.requests.push([method, parameters]);
      return world.answer;
    }
  }
  return { vscode, 'vscode-languageclient/node': { LanguageClient } };
}

const document = (fileName, text, languageId = 'plaintext') => ({
  fileName, languageId, getText: () => text, uri: { toString: () => `file://${fileName}` },
});

/** The extension, newly loaded. */
function load() {
  const found = stubs();
  const original = Module._load;
  Module._load = (name, ...rest) => found[name] ?? original(name, ...rest);
  try {
    const sources = path.join(__dirname, '../src');
    Object.keys(require.cache).filter(file => file.startsWith(sources)).forEach(file => delete require.cache[file]);
    return require('../src/extension');
  } finally {
    Module._load = original;
  }
}

beforeEach(() => {
  world = { answer: null, clients: [], commands: {}, documents: [], editor: undefined, errors: [], executed: [], listeners: {}, requests: [], settings: {}, shown: [] };
});

async function activated() {
  const extension = load();
  const context = { subscriptions: [] };
  await extension.activate(context);
  return { extension, context };
}

test('it starts the server, and stops it', async () => {
  world.settings.path = '/opt/duologue';
  const { extension } = await activated();
  const [client] = world.clients;
  assert.deepStrictEqual(client.server, { command: '/opt/duologue', args: ['lsp'] });
  assert.deepStrictEqual(client.options.documentSelector, [{ language: 'duologue' }]);
  assert.strictEqual(client.state, 'started');
  await extension.deactivate();
  assert.strictEqual(client.state, 'stopped');
});

test('every command of the manifest is registered, and no other', async () => {
  await activated();
  const manifest = require('../package.json');
  const named = manifest.contributes.commands.map(command => command.command);
  assert.deepStrictEqual(Object.keys(world.commands).sort(), named.sort());
});

test('a missing program is reported, and the rest works', async () => {
  world.isMissing = true;
  await activated();
  assert.match(world.errors[0], /does not start .*ENOENT.*duologue\.path/);
  world.editor = { document: document('/a.duo', '', 'duologue'), selection: { active: { line: 0, character: 0 } } };
  await world.commands['duologue.showPicture']();
  assert.match(world.errors[1], /not running/);
});

test('the server starts again with a new path', async () => {
  await activated();
  await world.listeners.configuration({ affectsConfiguration: key => key === 'duologue.path' });
  assert.deepStrictEqual(world.clients.map(client => client.state), ['stopped', 'started']);
  await world.commands['duologue.restartServer']();
  assert.deepStrictEqual(world.clients.map(client => client.state), ['stopped', 'stopped', 'started']);
});

test('our .proto files are recognized, and those of Protocol Buffers are not', async () => {
  const ours = document('/bank.proto', '//! A bank.\nproto! bank { a:send { x -> ! } }');
  const theirs = document('/theirs.proto', 'syntax = "proto3";\n// proto! x {\nmessage A {}');
  const other = document('/notes.txt', 'proto! bank {');
  world.documents = [ours, theirs];
  await activated();
  await world.listeners.open(other);
  assert.deepStrictEqual([ours, theirs, other].map(file => file.languageId), ['duologue', 'plaintext', 'plaintext']);
  world.settings.detectProtoFiles = false;
  const late = document('/late.proto', 'proto! bank {');
  await world.listeners.open(late);
  assert.strictEqual(late.languageId, 'plaintext');
});

test('the picture is what the server draws, in a page without scripts', async () => {
  await activated();
  world.editor = { document: document('/a.duo', '', 'duologue'), selection: { active: { line: 3, character: 5 } } };
  world.answer = { name: 'bank', summary: 'states & messages', svg: '<svg id="drawn"/>' };
  await world.commands['duologue.showPicture']();
  assert.deepStrictEqual(world.requests, [['duologue/picture', { textDocument: { uri: 'file:///a.duo' }, position: { line: 3, character: 5 } }]]);
  assert.strictEqual(world.panel.title, 'bank');
  assert.strictEqual(world.panel.options.enableScripts, false);
  assert.match(world.panel.webview.html, /default-src 'none'/);
  assert.match(world.panel.webview.html, /states &#38; messages.*<svg id="drawn"\/>/);
  // With an error in the text there is no new picture, and the last one stays.
  world.answer = null;
  await world.commands['duologue.showPicture']();
  assert.match(world.panel.webview.html, /drawn/);
});

test('the picture follows the text, until it is closed', async () => {
  await activated();
  world.editor = { document: document('/a.duo', '', 'duologue'), selection: { active: { line: 0, character: 0 } } };
  await world.commands['duologue.showPicture']();
  assert.match(world.panel.webview.html, /No protocol/);
  const asked = () => world.requests.length;
  world.listeners.text({ document: world.editor.document });
  world.listeners.text({ document: world.editor.document });
  await new Promise(resolve => setTimeout(resolve, 600));
  assert.strictEqual(asked(), 2);
  world.close();
  world.listeners.selection({ textEditor: world.editor });
  await new Promise(resolve => setTimeout(resolve, 600));
  assert.strictEqual(asked(), 2);
});

test('the other side is shown as a document of its own', async () => {
  await activated();
  world.editor = { document: document('/a.duo', '', 'duologue') };
  world.answer = { text: 'proto! bank {}' };
  await world.commands['duologue.showOtherSide']();
  assert.deepStrictEqual(world.shown, [{ language: 'duologue', content: 'proto! bank {}' }]);
});
