// The TextMate grammar, as VS Code runs it.

'use strict';

const fs = require('node:fs');
const path = require('node:path');
const oniguruma = require('vscode-oniguruma');
const { INITIAL, Registry, parseRawGrammar } = require('vscode-textmate');

const GRAMMAR = path.join(__dirname, '../syntaxes/duologue.tmLanguage.json');

/** The grammar, loaded. */
async function load() {
  const wasm = fs.readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: patterns => new oniguruma.OnigScanner(patterns),
      createOnigString: text => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(fs.readFileSync(GRAMMAR, 'utf8'), GRAMMAR),
  });
  return registry.loadGrammar('source.duologue');
}

/** For each line, its tokens: text and the innermost scope. Whitespace is left out. */
function tokens(grammar, text) {
  let state = INITIAL;
  return text.split('\n').map(line => {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    const found = result.tokens.map(token => ({
      text: line.slice(token.startIndex, token.endIndex),
      scope: token.scopes.at(-1).replace(/\.duologue$/, ''),
    }));
    return found.filter(token => token.text.trim() !== '');
  });
}

module.exports = { load, tokens };
