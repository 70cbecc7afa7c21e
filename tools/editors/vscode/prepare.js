// Copies into the extension what it shares with the rest of the repository: an extension contains all of its files.

'use strict';

const fs = require('node:fs');
const path = require('node:path');

const here = file => path.join(__dirname, file);

fs.mkdirSync(here('syntaxes'), { recursive: true });
fs.copyFileSync(here('../textmate/duologue.tmLanguage.json'), here('syntaxes/duologue.tmLanguage.json'));
for (const name of ['LICENSE-MIT', 'LICENSE-APACHE']) {
  fs.copyFileSync(here(`../../../${name}`), here(name));
}
