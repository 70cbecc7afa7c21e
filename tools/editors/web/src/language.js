// Colors for the language, by words alone: the compiler says what is wrong.
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

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

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)" },
  { tag: tags.typeName, color: "var(--type)" },
  { tag: tags.comment, color: "var(--comment)" },
  { tag: [tags.string, tags.number], color: "var(--string)" },
  { tag: tags.meta, color: "var(--keyword)" },
  { tag: tags.variableName, color: "var(--name)" },
]);

export const duologue = [language, syntaxHighlighting(colors)];
