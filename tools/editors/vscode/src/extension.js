// The entry of the extension: starts the language server for the first document, and registers the commands.

'use strict';

const os = require('node:os');
const path = require('node:path');
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');
const { isDuologue } = require('./detect');
const { Pictures } = require('./pictures');

/** How long the server may take to start, in milliseconds. Until then it can be neither stopped nor replaced. */
const PATIENCE = 20_000;

/** @type {LanguageClient | undefined} */
let client;

/** Whether a document has needed the server. */
let isNeeded = false;

/** The starts and stops so far. Each waits for the one before it. */
let work = Promise.resolve();

function inTurn(step) {
  work = work.then(step, step);
  return work;
}

/** The client of `duologue lsp`, which is not started yet. */
function newClient() {
  const settings = vscode.workspace.getConfiguration('duologue');
  const command = settings.get('path', 'duologue');
  // A path like `./duologue` would start a program of the folder that happens to be the current one.
  if (/[\\/:]/.test(command) && !path.isAbsolute(command)) {
    throw new Error(`duologue.path is "${command}", which is neither a name nor an absolute path`);
  }
  const server = { command, args: ['lsp'], options: { cwd: os.homedir() } };
  const options = {
    documentSelector: [{ language: 'duologue' }],
    initializationOptions: { against: settings.get('against', 'HEAD') },
    synchronize: { configurationSection: 'duologue' },
  };
  return new LanguageClient('duologue', 'Duologue', server, options);
}

/** Starts a client, which is given up if its server does not answer. */
async function started(starting) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('it does not answer')), PATIENCE);
  });
  const start = starting.start();
  try {
    await Promise.race([start, late]);
  } catch (error) {
    start.then(() => starting.stop()).catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function startNow() {
  if (client) {
    return;
  }
  try {
    client = newClient();
    await started(client);
  } catch (error) {
    client = undefined;
    void report(error);
  }
}

async function stopNow() {
  const running = client;
  client = undefined;
  // A client whose server has crashed cannot be stopped, and does not have to be.
  await running?.stop().catch(() => {});
}

function restart() {
  return inTurn(async () => {
    await stopNow();
    await startNow();
  });
}

/** Says why the server does not run. */
async function report(error) {
  const settings = 'Open Settings';
  const text = `Duologue: the language server does not start (${error.message}). Install duologue, or set duologue.path.`;
  if ((await vscode.window.showErrorMessage(text, settings)) === settings) {
    await vscode.commands.executeCommand('workbench.action.openSettings', 'duologue.path');
  }
}

/** Asks the language server about a document. Without an answer it is `undefined`, and the user learns why unless the request is quiet. */
async function ask(method, parameters, isQuiet = false) {
  let failure = 'the language server is not running.';
  try {
    if (client) {
      return await client.sendRequest(method, parameters);
    }
  } catch (error) {
    failure = error.message;
  }
  if (!isQuiet) {
    void vscode.window.showErrorMessage(`Duologue: ${failure}`);
  }
  return undefined;
}

/** A file that ends in .proto belongs to Protocol Buffers, unless its text says that it is ours. */
async function detect(document) {
  const settings = vscode.workspace.getConfiguration('duologue', document.uri);
  const isCandidate = document.languageId !== 'duologue' && document.fileName.endsWith('.proto');
  if (isCandidate && settings.get('detectProtoFiles', true) && isDuologue(document.getText())) {
    await vscode.languages.setTextDocumentLanguage(document, 'duologue');
  }
}

/** Decides whose a document is, and starts the server for the first that is ours. */
async function opened(document) {
  try {
    await detect(document);
  } catch {
    // It has been closed in the meantime.
    return;
  }
  if (document.languageId === 'duologue' && !isNeeded) {
    isNeeded = true;
    void inTurn(startNow);
  }
}

async function showOtherSide() {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== 'duologue') {
    return;
  }
  const uri = document.uri.toString();
  const answer = await ask('duologue/dual', { textDocument: { uri } });
  if (answer) {
    const shown = await vscode.workspace.openTextDocument({ language: 'duologue', content: answer.text });
    await vscode.window.showTextDocument(shown, vscode.ViewColumn.Beside);
  }
}

async function activate(context) {
  const pictures = new Pictures(ask);
  context.subscriptions.push(
    pictures,
    vscode.commands.registerCommand('duologue.showPicture', () => pictures.show()),
    vscode.commands.registerCommand('duologue.showOtherSide', showOtherSide),
    vscode.commands.registerCommand('duologue.restartServer', () => {
      isNeeded = true;
      return restart();
    }),
    vscode.workspace.onDidOpenTextDocument(opened),
    vscode.workspace.onDidChangeConfiguration(change => {
      const isNews = isNeeded && change.affectsConfiguration('duologue.path');
      return isNews ? restart() : undefined;
    }),
  );
  await Promise.all(vscode.workspace.textDocuments.map(opened));
}

function deactivate() {
  return inTurn(stopNow);
}

module.exports = { activate, deactivate };
