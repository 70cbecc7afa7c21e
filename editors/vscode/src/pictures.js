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
  #drawn = '';
  #listeners;

  /** `ask` sends a request to the language server. */
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
      this.#panel.onDidDispose(() => (this.#panel = undefined));
    }
    await this.#draw();
  }

  #soon(document) {
    if (this.#panel && document.languageId === 'duologue') {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#draw(), REST);
    }
  }

  async #draw() {
    const editor = vscode.window.activeTextEditor;
    if (!this.#panel || editor?.document.languageId !== 'duologue') {
      return;
    }
    const { line, character } = editor.selection.active;
    const answer = await this.#ask('duologue/picture', {
      textDocument: { uri: editor.document.uri.toString() },
      position: { line, character },
    });
    // The panel may have been closed in the meantime. While a text has errors, the last picture stays.
    if (!this.#panel) {
      return;
    }
    if (answer) {
      this.#panel.title = answer.name;
      this.#drawn = page(answer.name, `<p>${escaped(answer.summary ?? '')}</p>${answer.svg}`);
    }
    this.#panel.webview.html = this.#drawn || page('Duologue', '<p>No protocol is at the cursor.</p>');
  }

  dispose() {
    clearTimeout(this.#timer);
    this.#panel?.dispose();
    this.#listeners.forEach(listener => listener.dispose());
  }
}

module.exports = { Pictures, page };
