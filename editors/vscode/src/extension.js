// The entry of the extension: starts the language server, and registers the commands.

'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');
const { isDuologue } = require('./detect');
const { Pictures } = require('./pictures');

/** @type {LanguageClient | undefined} */
let client;

/** The client of `duologue lsp`, which is not started yet. */
function newClient() {
  const command = vscode.workspace.getConfiguration('duologue').get('path', 'duologue');
  const server = { command, args: ['lsp'] };
  const options = { documentSelector: [{ language: 'duologue' }] };
  return new LanguageClient('duologue', 'Duologue', server, options);
}

async function start() {
  client = newClient();
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const settings = 'Open Settings';
    const text = `Duologue: the language server does not start (${error.message}). Install duologue, or set duologue.path.`;
    if ((await vscode.window.showErrorMessage(text, settings)) === settings) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'duologue.path');
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

/** Asks the language server about a document; without one, says so. */
async function ask(method, parameters) {
  if (!client) {
    vscode.window.showErrorMessage('Duologue: the language server is not running.');
    return undefined;
  }
  return client.sendRequest(method, parameters);
}

/** A file that ends in .proto belongs to Protocol Buffers, unless its text says that it is ours. */
async function detect(document) {
  const settings = vscode.workspace.getConfiguration('duologue', document.uri);
  const isCandidate = document.languageId !== 'duologue' && document.fileName.endsWith('.proto');
  if (isCandidate && settings.get('detectProtoFiles', true) && isDuologue(document.getText())) {
    await vscode.languages.setTextDocumentLanguage(document, 'duologue');
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
    vscode.commands.registerCommand('duologue.restartServer', async () => {
      await stop();
      await start();
    }),
    vscode.workspace.onDidOpenTextDocument(detect),
    vscode.workspace.onDidChangeConfiguration(async change => {
      if (change.affectsConfiguration('duologue.path')) {
        await stop();
        await start();
      }
    }),
  );
  await start();
  await Promise.all(vscode.workspace.textDocuments.map(detect));
}

module.exports = { activate, deactivate: stop };
