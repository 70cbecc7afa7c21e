// The picture of a protocol in a panel next to its text. It follows the cursor and the text.

'use strict';

const vscode = require('vscode');

/** How long the text must rest before it is drawn again, in milliseconds. */
const REST = 200;

const escaped = text => text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt(0)};`);

/** A page that runs no scripts and loads nothing. */
function page(title, body) {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>body { padding: 1em } svg { max-width: 100%; height: auto }</style>
</head>
<body>${body}</body>
</html>`;
}

class Pictures {
  #ask;
  #panel;
  #timer;
  /** The document that the panel shows, and its last picture. */
  #uri = '';
  #drawn = '';
  /** Counts the requests. The answer to one that is not the latest is not shown. */
  #turn = 0;
  #listeners;

  /** `ask` sends a request to the language server, and reports failures unless it is to be quiet. */
  constructor(ask) {
    this.#ask = ask;
    this.#listeners = [
      vscode.workspace.onDidChangeTextDocument(change => this.#soon(change.document)),
      vscode.window.onDidChangeTextEditorSelection(change => this.#soon(change.textEditor.document)),
    ];
  }

  /** Shows the protocol at the cursor. */
  async show() {
    if (!this.#panel) {
      const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      const options = { enableScripts: false, localResourceRoots: [] };
      this.#panel = vscode.window.createWebviewPanel('duologue.picture', 'Duologue', place, options);
      this.#panel.onDidDispose(() => this.#forget());
    }
    await this.#draw(false);
  }

  /** The panel has been closed. */
  #forget() {
    clearTimeout(this.#timer);
    this.#panel = undefined;
    this.#uri = this.#drawn = '';
    this.#turn += 1;
  }

  #soon(document) {
    if (this.#panel && document.languageId === 'duologue') {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#draw(true), REST);
    }
  }

  /** Draws the protocol at the cursor. A drawing that follows the cursor or the text is quiet: it reports no failures. */
  async #draw(isQuiet) {
    const editor = vscode.window.activeTextEditor;
    if (!this.#panel || editor?.document.languageId !== 'duologue') {
      return;
    }
    const uri = editor.document.uri.toString();
    if (uri !== this.#uri) {
      this.#uri = uri;
      this.#drawn = '';
    }
    this.#turn += 1;
    const turn = this.#turn;
    const { line, character } = editor.selection.active;
    const parameters = { textDocument: { uri }, position: { line, character } };
    const answer = await this.#ask('duologue/picture', parameters, isQuiet);
    // In the meantime the panel may have been closed, or a newer request sent.
    if (!this.#panel || turn !== this.#turn) {
      return;
    }
    // While a text has errors, the last picture stays.
    if (answer) {
      this.#drawn = page(answer.name, `<p>${escaped(answer.summary ?? '')}</p>${answer.svg}`);
    }
    if (answer || !this.#drawn) {
      this.#panel.title = answer?.name ?? 'Duologue';
    }
    this.#panel.webview.html = this.#drawn || page('Duologue', '<p>No protocol is at the cursor.</p>');
  }

  dispose() {
    this.#panel?.dispose();
    this.#forget();
    this.#listeners.forEach(listener => listener.dispose());
  }
}

module.exports = { Pictures, page };
