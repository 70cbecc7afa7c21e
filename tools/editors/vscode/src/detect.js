// Distinguishes our .proto files from those of Protocol Buffers, by the rule of the compiler. The time is linear in the length of the text: no
// pattern looks at a character again from a later start.

'use strict';

/** How much of a file is looked at, in characters. */
const LIMIT = 64 * 1024;

/** A comment. One that is not closed reaches to the end of the text. */
const COMMENT = /\/\*[^]*?(?:\*\/|$)|\/\/.*/g;

/** A protocol, which no file of Protocol Buffers has. */
const PROTOCOL = /^ ?(?:# ?\[[^\]#]*\] ?)*proto\s?!/m;

/** What a file has that declares types only. */
const TYPES = /^ ?(?:type\s\w+\s?=|struct\s\w+\s?\{|extern\s(?:type|bound)\s)/m;

/** What only Protocol Buffers has. */
const THEIRS = /^ ?(?:(?:syntax|edition)\s?=|(?:message|service|extend)\s\w+(?:\.\w+)*\s?\{|option\s)/m;

/** The text without comments, in which any whitespace is one line break or one space. */
function reduced(text) {
  return text.replace(COMMENT, ' ').replace(/\s+/g, run => (/[\n\r]/.test(run) ? '\n' : ' '));
}

/** Whether a text is a file of Duologue, and not of Protocol Buffers. */
function isDuologue(text, limit = LIMIT) {
  const start = reduced(text.slice(0, limit));
  return PROTOCOL.test(start) || (TYPES.test(start) && !THEIRS.test(start));
}

module.exports = { isDuologue };
