// The extension with stand-ins for VS Code and for the library that talks to the server: what it registers, starts, asks and shows.

'use strict';

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const Module = require('node:module');
const os = require('node:os');
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
      // A message stays until the user answers it.
      showErrorMessage(text) {
        world.errors.push(text);
        return new Promise(resolve => (world.answerMessage = resolve));
      },
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
      world.order.push('start');
      if (world.isMissing) {
        throw new Error('spawn duologue ENOENT');
      }
      await world.startup;
      this.own.state = 'started';
      world.order.push('started');
    }
    async stop() {
      if (this.own.state !== 'started') {
        throw new Error(`it cannot be stopped: ${this.own.state}`);
      }
      this.own.state = 'stopped';
      world.order.push('stopped');
    }
    async sendRequest(method, parameters) {
      world.requests.push([method, parameters]);
      return world.replies ? new Promise((resolve, reject) => world.replies.push({ resolve, reject })) : world.answer;
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
  world = { answer: null, clients: [], commands: {}, documents: [], editor: undefined, errors: [], executed: [], listeners: {}, order: [], requests: [], settings: {}, shown: [] };
});

/** Lets everything happen that waits for nothing. */
const settled = () => new Promise(resolve => setImmediate(resolve));

async function activated() {
  const extension = load();
  const context = { subscriptions: [] };
  await extension.activate(context);
  await settled();
  return { extension, context };
}

/** The extension with a document of ours that is open, and so with a server. */
async function running() {
  world.documents = [document('/a.duo', '', 'duologue')];
  return activated();
}

const cursor = (name, line = 0, character = 0) => ({ document: document(name, '', 'duologue'), selection: { active: { line, character } } });

test('it starts the server for the first document of ours, and stops it', async () => {
  world.settings = { path: '/opt/duologue', against: 'origin/main' };
  const { extension } = await activated();
  assert.deepStrictEqual(world.clients, []);
  await world.listeners.configuration({ affectsConfiguration: () => true });
  await world.listeners.open(document('/theirs.proto', 'syntax = "proto3";'));
  await settled();
  assert.deepStrictEqual(world.clients, []);
  await world.listeners.open(document('/bank.proto', 'proto! bank {'));
  await world.listeners.open(document('/a.duo', '', 'duologue'));
  await settled();
  assert.strictEqual(world.clients.length, 1);
  const [client] = world.clients;
  assert.deepStrictEqual(client.server, { command: '/opt/duologue', args: ['lsp'], options: { cwd: os.homedir() } });
  assert.deepStrictEqual(client.options.documentSelector, [{ language: 'duologue' }]);
  assert.deepStrictEqual(client.options.initializationOptions, { against: 'origin/main' });
  assert.deepStrictEqual(client.options.synchronize, { configurationSection: 'duologue' });
  assert.strictEqual(client.state, 'started');
  await extension.deactivate();
  assert.strictEqual(client.state, 'stopped');
});

test('a workspace cannot choose the program', async () => {
  const manifest = require('../package.json');
  const settings = manifest.contributes.configuration.properties;
  assert.strictEqual(settings['duologue.path'].scope, 'machine');
  assert.strictEqual(manifest.capabilities.untrustedWorkspaces.supported, false);
  for (const wrong of ['./evil', 'bin/evil', '..\\evil', 'c:evil']) {
    world.settings.path = wrong;
    world.errors = [];
    await running();
    assert.deepStrictEqual(world.clients, [], wrong);
    assert.match(world.errors[0], /neither a name nor an absolute path/);
  }
});

test('starts and stops do not overlap', async () => {
  await running();
  let start;
  world.startup = new Promise(resolve => (start = resolve));
  world.order = [];
  const changed = () => world.listeners.configuration({ affectsConfiguration: key => key === 'duologue.path' });
  const all = [changed(), world.commands['duologue.restartServer'](), changed()];
  await settled();
  assert.deepStrictEqual(world.order, ['stopped', 'start']);
  start();
  await Promise.all(all);
  assert.deepStrictEqual(world.order, Array(3).fill(['stopped', 'start', 'started']).flat());
  assert.deepStrictEqual(world.clients.map(client => client.state), ['stopped', 'stopped', 'stopped', 'started']);
});

test('a server that does not answer is given up', async context => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let start;
  world.startup = new Promise(resolve => (start = resolve));
  await running();
  const restarted = world.commands['duologue.restartServer']();
  await settled();
  assert.strictEqual(world.clients.length, 1);
  world.startup = undefined;
  context.mock.timers.tick(60_000);
  await restarted;
  assert.match(world.errors[0], /does not answer/);
  start();
  await settled();
  assert.deepStrictEqual(world.clients.map(client => client.state), ['stopped', 'started']);
});

test('every command of the manifest is registered, and no other', async () => {
  await activated();
  const manifest = require('../package.json');
  const named = manifest.contributes.commands.map(command => command.command);
  assert.deepStrictEqual(Object.keys(world.commands).sort(), named.sort());
});

test('a missing program is reported, and the rest works', async () => {
  world.isMissing = true;
  await running();
  assert.match(world.errors[0], /does not start .*ENOENT.*duologue\.path/);
  world.editor = cursor('/a.duo');
  await world.commands['duologue.showPicture']();
  assert.match(world.errors[1], /not running/);
  // The next document does not bring the message again.
  await world.listeners.open(document('/b.duo', '', 'duologue'));
  await settled();
  assert.strictEqual(world.errors.length, 2);
});

test('the message about a missing program leads to the settings', async () => {
  world.isMissing = true;
  await running();
  world.answerMessage('Open Settings');
  await settled();
  assert.deepStrictEqual(world.executed, [['workbench.action.openSettings', 'duologue.path']]);
});

test('the server starts again with a new path', async () => {
  await running();
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
  await running();
  world.editor = cursor('/a.duo', 3, 5);
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
  await running();
  world.editor = cursor('/a.duo');
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

test('an older answer is not shown last, and a picture of another document does not stay', async () => {
  await running();
  world.editor = cursor('/a.duo');
  world.replies = [];
  const shown = () => /picture of \w+|No protocol/.exec(world.panel.webview.html)?.[0];
  const drawn = name => ({ name, svg: `picture of ${name}` });
  const show = () => world.commands['duologue.showPicture']();
  const first = show();
  const second = show();
  world.replies[1].resolve(drawn('second'));
  await second;
  world.replies[0].resolve(drawn('first'));
  await first;
  assert.strictEqual(shown(), 'picture of second');
  world.editor = cursor('/b.duo');
  const other = show();
  world.replies[2].resolve(null);
  await other;
  assert.strictEqual(shown(), 'No protocol');
  assert.strictEqual(world.panel.title, 'Duologue');
  // An answer to a panel that has been closed is not shown in the next one.
  const late = show();
  world.close();
  const next = show();
  world.replies[3].resolve(drawn('late'));
  await late;
  assert.strictEqual(shown(), undefined);
  world.replies[4].resolve(null);
  await next;
  assert.strictEqual(shown(), 'No protocol');
});

test('a failure is reported to the user who asked, and not to one who moves the cursor', async context => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  await running();
  world.editor = cursor('/a.duo');
  world.replies = [];
  const asked = world.commands['duologue.showPicture']();
  world.replies[0].reject(new Error('it has crashed'));
  await asked;
  assert.deepStrictEqual(world.errors, ['Duologue: it has crashed']);
  world.listeners.selection({ textEditor: world.editor });
  context.mock.timers.tick(600);
  world.replies[1].reject(new Error('it has crashed again'));
  await settled();
  assert.deepStrictEqual(world.errors, ['Duologue: it has crashed']);
});

// The texts are 16 times as long as what is looked at of a file. With a pattern that is quadratic, most of them take many minutes.
test('the time to decide whose a file is grows as its length', () => {
  const parts = ['\n', '\r\n', ' ', '/* ', '//', '/', '*', '#', '# [', '#[', '#[a]', '#[a]\n', '#[a\n]', 'type ', 'type\n', 'type a', 'message a', '.a', 'option', 'extern '];
  const lengths = parts.map(part => `isDuologue(${JSON.stringify(part)}.repeat(2 ** 20 / ${part.length}), 2 ** 20);`);
  const script = `const { isDuologue } = require('./src/detect'); ${lengths.join(' ')} console.log('done');`;
  const ran = spawnSync(process.execPath, ['-e', script], { cwd: path.join(__dirname, '..'), timeout: 120_000, encoding: 'utf8' });
  assert.strictEqual(ran.error, undefined);
  assert.strictEqual(ran.stdout, 'done\n', ran.stderr);
});

test('whose a file is', () => {
  const { isDuologue } = require('../src/detect');
  const ours = [
    'proto! p {', '\n\n\t#[allow(all)] #[deny(a)]\n#[a] proto !p', '#[allow(\n  a,\n)] proto! p', '/* proto */\r\n\r\nproto!p', 'package a;\nstruct b {',
    'type a = u8;', 'extern type a { }', 'extern\nbound b',
  ];
  const theirs = [
    '', '/* proto! p {', '// proto! p', 'message proto {', 'type a = u8;\nmessage b {', 'struct a {}\n\n  option b = 1;', 'import "a";\nservice a.b {',
    'a proto! b', 'struct a { }\nedition = "2023";',
  ];
  assert.deepStrictEqual(ours.filter(text => !isDuologue(text)), []);
  assert.deepStrictEqual(theirs.filter(text => isDuologue(text)), []);
});

test('the other side is shown as a document of its own', async () => {
  await running();
  world.editor = { document: document('/a.duo', '', 'duologue') };
  world.answer = { text: 'proto! bank {}' };
  await world.commands['duologue.showOtherSide']();
  assert.deepStrictEqual(world.shown, [{ language: 'duologue', content: 'proto! bank {}' }]);
});
