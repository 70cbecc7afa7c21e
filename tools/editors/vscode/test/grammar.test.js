'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { before, test } = require('node:test');
const { load, tokens } = require('./grammar');

const PROTOCOLS = path.join(__dirname, '../../../../protocols');
const read = name => fs.readFileSync(path.join(PROTOCOLS, name), 'utf8');
const examples = () => fs.readdirSync(PROTOCOLS).filter(name => /\.(proto|duo)$/.test(name));

let grammar;
before(async () => (grammar = await load()));

/** All scopes that a word of a text has. */
const scopes = (text, word) =>
  tokens(grammar, text).flat().filter(token => token.text === word).map(token => token.scope);

/** A line per token, to be compared with what was written down before. */
function snapshot(text) {
  const lines = tokens(grammar, text).map((line, at) =>
    [`${at + 1}`, ...line.map(token => `  ${token.text.trim()}  ${token.scope}`)].join('\n'));
  return `${lines.join('\n')}\n`;
}

for (const name of ['bank', 'everything']) {
  test(`the scopes of ${name} are the expected ones`, () => {
    const text = name === 'bank' ? read('bank.proto') : fs.readFileSync(path.join(__dirname, 'everything.duo'), 'utf8');
    const file = path.join(__dirname, `${name}.scopes`);
    if (process.env.UPDATE_SCOPES) {
      fs.writeFileSync(file, snapshot(text));
    }
    assert.strictEqual(snapshot(text), fs.readFileSync(file, 'utf8'), 'UPDATE_SCOPES=1 npm test writes the new scopes');
  });
}

test('keywords are contextual', () => {
  const text = 'proto! send {\n    type:send { proto -> type, import(struct: enum, from: bound) -> recv }\n    recv:recv { send -> ! }\n}';
  assert.deepStrictEqual(scopes(text, 'type'), ['entity.name.label.state', 'entity.name.label.state']);
  assert.deepStrictEqual(scopes(text, 'proto'), ['keyword.declaration.protocol', 'entity.name.function.message']);
  assert.deepStrictEqual(scopes(text, 'import'), ['entity.name.function.message']);
  assert.deepStrictEqual(scopes(text, 'struct'), ['variable.parameter']);
  assert.deepStrictEqual(scopes(text, 'enum'), ['entity.name.type']);
});

test('no correct file has an invalid token', () => {
  assert.ok(examples().length > 15);
  for (const name of examples()) {
    for (const token of tokens(grammar, read(name)).flat()) {
      assert.ok(!token.scope.startsWith('invalid'), `${name}: ${token.text}`);
    }
  }
});

test('every state, message and protocol of the examples is recognized', () => {
  for (const name of examples()) {
    const text = read(name).replace(/\/\/.*|\/\*[^]*?\*\//g, words => words.replace(/[^\n]/g, ' '));
    for (const [, state] of text.matchAll(/(?<![<,+]\s*)\b(\w+)\s*:\s*(?:send|recv)\b/g)) {
      assert.ok(scopes(text, state).includes('entity.name.label.state'), `${name}: state ${state}`);
    }
    for (const [, message] of text.matchAll(/\b(\w+)\s*->/g)) {
      assert.ok(scopes(text, message).includes('entity.name.function.message'), `${name}: message ${message}`);
    }
    for (const [, protocol] of text.matchAll(/\bproto!\s*(\w+)/g)) {
      assert.ok(scopes(text, protocol).includes('entity.name.type.protocol'), `${name}: protocol ${protocol}`);
    }
  }
});

// The grammar has no memory beyond the next brace or arrow, so a mistake cannot change what follows.
test('a broken line changes only what comes before the next brace or arrow', () => {
  const mistakes = ['(', '[', '<', '"', '#[', '#[allow(', 'proto!', 'proto! x (', 'deposit(amount: f64', 'a:send<T', 'import "', 'x ->', 'struct', ')', '}'];
  for (const name of ['bank.proto', 'shop.proto', 'stream.proto'].filter(name => examples().includes(name))) {
    const lines = read(name).split('\n');
    const right = tokens(grammar, lines.join('\n'));
    lines.forEach((_, at) => {
      for (const mistake of mistakes) {
        const wrong = tokens(grammar, [...lines.slice(0, at), mistake, ...lines.slice(at)].join('\n'));
        const passed = lines.slice(at).findIndex(line => /[{}]|->/.test(line.replace(/\/\/.*/, '')));
        if (passed >= 0) {
          const rest = at + passed + 1;
          assert.deepStrictEqual(wrong.slice(rest + 1), right.slice(rest), `${name}: ${mistake} before line ${at + 1}`);
        }
      }
    });
  }
});

test('an unclosed string ends with its line', () => {
  assert.deepStrictEqual(scopes('import "a.duo\ntype b = u8;', 'type'), ['keyword.declaration.type']);
});

test('block comments nest', () => {
  assert.deepStrictEqual(scopes('/* a /* b */ type */ type c = u8;', 'type'), ['keyword.declaration.type']);
});
