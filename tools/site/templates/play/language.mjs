// Colors for the languages, by words alone: the compiler says what is wrong.
import { element } from "../dom.mjs";

const { StreamLanguage, c, highlightCode, rust, scala, syntaxHighlighting, tagHighlighter, tags } = CodeMirror;

const keywords = new Set("type struct enum extern proto import package send recv".split(" "));
const types = new Set("bool u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 str bytes".split(" "));

// How many block comments are open, as they nest.
function comment(stream, state) {
  while (!stream.eol()) {
    if (stream.match("/*")) state.depth += 1;
    else if (stream.match("*/")) state.depth -= 1;
    else stream.next();
    if (state.depth === 0) break;
  }
  return "comment";
}

const language = StreamLanguage.define({
  name: "duologue",
  startState: () => ({ depth: 0 }),
  copyState: (state) => ({ ...state }),
  token(stream, state) {
    if (state.depth > 0) return comment(stream, state);
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.depth = 1;
      return comment(stream, state);
    }
    if (stream.match(/^"[^"]*"?/)) return "string";
    if (stream.match(/^#!?\[/)) return "meta";
    if (stream.match(/^\d[\w.]*/)) return "number";
    const word = stream.match(/^\w+/);
    if (word) {
      if (stream.match("!", false) && word[0] === "proto") return "keyword";
      if (keywords.has(word[0])) return "keyword";
      return types.has(word[0]) ? "typeName" : "variableName";
    }
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
});

const colors = tagHighlighter([
  { tag: [tags.keyword, tags.meta], class: "keyword" },
  { tag: [tags.typeName, tags.atom, tags.definition(tags.variableName)], class: "type" },
  { tag: tags.comment, class: "comment" },
  { tag: [tags.string, tags.number], class: "string" },
]);

export const duologue = [language, syntaxHighlighting(colors)];

const generated = { rust: StreamLanguage.define(rust), c: StreamLanguage.define(c), scala: StreamLanguage.define(scala) };

// The lines of generated code, each a list of texts and elements.
export function coloredLines(text, target) {
  const lines = [[]];
  const put = (part, style) => lines.at(-1).push(style === "" ? part : element("span", { class: style }, part));
  highlightCode(text, generated[target].parser.parse(text), colors, put, () => lines.push([]));
  return lines;
}
