// Loads a packaged extension, whose folder is the argument, with a stand-in for VS Code alone: everything else that it needs is in the package.

'use strict';

const Module = require('node:module');
const path = require('node:path');

/** Whatever is asked of it, it has, and is a class, a function and an object. */
const anything = new Proxy(class {}, {
  get: (target, key) => (key in target ? target[key] : anything),
  apply: () => anything,
});

const original = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? anything : original(name, ...rest));

const folder = path.resolve(process.argv[2]);
const manifest = require(path.join(folder, 'package.json'));
const extension = require(path.join(folder, manifest.main));
console.log(`${typeof extension.activate} ${typeof extension.deactivate}`);
const library = require.resolve('vscode-languageclient/node', { paths: [folder] });
console.log(path.relative(folder, library).split(path.sep).slice(0, 2).join('/'));
