// Distinguishes our .proto files from those of Protocol Buffers, by the rule of the compiler.

'use strict';

/** How much of a file is looked at, in characters. */
const LIMIT = 64 * 1024;

/** A protocol, which no file of Protocol Buffers has. */
const PROTOCOL = /^\s*(#\s*\[[^\]]*\]\s*)*proto\s*!/m;

/** What a file has that declares types only. */
const TYPES = /^\s*(type\s+\w+\s*=|struct\s+\w+\s*\{|extern\s+(type|bound)\s)/m;

/** What only Protocol Buffers has. */
const THEIRS = /^\s*(syntax|edition)\s*=|^\s*(message|service|extend)\s+\w+(\.\w+)*\s*\{|^\s*option\s/m;

/** Whether a text is a file of Duologue, and not of Protocol Buffers. */
function isDuologue(text) {
  const start = text.slice(0, LIMIT).replace(/\/\*[^]*?\*\/|\/\/.*/g, ' ');
  return PROTOCOL.test(start) || (TYPES.test(start) && !THEIRS.test(start));
}

module.exports = { isDuologue };
