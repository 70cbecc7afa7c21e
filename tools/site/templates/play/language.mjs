// Colors for the languages, by words alone: the compiler says what is wrong.
import { element } from "../dom.mjs";

function words(keywords, types, doNest = true) {
  return { keywords: new Set(keywords.split(" ")), types: new Set(types.split(" ")), doNest };
}

const languages = {
  duologue: words("type struct enum extern proto import package send recv", "bool u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 str bytes"),
  rust: words(
    "as const crate else enum false fn for if impl in let loop match mod move mut pub ref return self static struct super trait true type unsafe use where while",
    "Self bool u8 u16 u32 u64 usize i8 i16 i32 i64 f32 f64 str String Vec Option Result Box",
  ),
  c: words(
    "break case const default do else enum extern for goto if inline return sizeof static struct switch typedef union void while",
    "bool char double float int long short signed unsigned size_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t",
    false,
  ),
  scala: words(
    "abstract case catch class def do else enum extends false final for given if implicit import lazy match new null object override package private protected return sealed super this throw trait true try type val var while with yield",
    "Any Array Boolean Byte Char Double Float Int Long Nothing Option Seq Short String Unit Vector",
  ),
};

const tokens = /(\/\/.*)|(\/\*)|("(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])'|\d[\w.]*)|(#!?\[|^#[ \t]*\w+)|([A-Za-z_]\w*)/gm;

function endOfComment(text, start, doNest) {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start + 2;
  let depth = 1;
  for (let found = marks.exec(text); found; found = marks.exec(text)) {
    if (found[0] === "*/") depth -= 1;
    else if (doNest) depth += 1;
    if (depth === 0) return marks.lastIndex;
  }
  return text.length;
}

// The lines of a text, each a list of texts and elements.
export function coloredLines(text, name) {
  const { keywords, types, doNest } = languages[name];
  const lines = [[]];
  const put = (part, style) => part.split("\n").forEach((piece, index) => {
    if (index > 0) lines.push([]);
    if (piece !== "") lines.at(-1).push(style === "" ? piece : element("span", { class: style }, piece));
  });
  let done = 0;
  tokens.lastIndex = 0;
  for (let found = tokens.exec(text); found; found = tokens.exec(text)) {
    const [, line, block, literal, attribute, word] = found;
    if (block) tokens.lastIndex = endOfComment(text, found.index, doNest);
    const style = line || block ? "comment" : literal ? "string" : attribute || keywords.has(word) ? "keyword" : types.has(word) ? "type" : "";
    if (style === "") continue;
    put(text.slice(done, found.index), "");
    done = tokens.lastIndex;
    put(text.slice(found.index, done), style);
  }
  put(text.slice(done), "");
  return lines;
}
