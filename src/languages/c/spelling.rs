//! How names and comments are written in C, in a form that is also valid C++.

use crate::languages::layout::{Breaks, Document, Style, WIDTH, spaces};
use crate::languages::spelling::{shouty_snake, snake};
use crate::protocol::Side;
use askama::Template;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A name as part of a longer one: `login_response`.
pub fn word(name: &str) -> String {
    snake(name)
}

/// A member of a struct or union. Only keywords and macros can conflict with it.
pub fn member(name: &str) -> String {
    let name = escaped(snake(name));
    // In C++ a member may not have the name of a type that its struct has used.
    if name.ends_with("_t") || name.starts_with("duo_") {
        name + "_"
    } else {
        name
    }
}

/// An entry of a message: its struct ends with a member `next`.
pub fn entry(name: &str) -> String {
    let name = member(name);
    if name == "next" { name + "_" } else { name }
}

/// A parameter of a function that sends, whose body uses names of its own.
pub fn parameter(name: &str) -> String {
    let name = entry(name);
    if matches!(
        name.as_str(),
        "self" | "message" | "cursor" | "nanoseconds" | "memcpy"
    ) {
        name + "_"
    } else {
        name
    }
}

/// The runtime's name of a side.
pub fn role(side: Side) -> &'static str {
    match side {
        Side::Client => "DUO_CLIENT",
        Side::Server => "DUO_SERVER",
    }
}

/// A type of the host program, spelled as the user wrote it.
pub fn host(name: &str) -> String {
    escaped(name.to_owned())
}

/// What the names of a protocol start with. Some words would make `<word>_init` a function of the C library.
pub fn protocol(prefix: &str, name: &str) -> String {
    let word = format!("{prefix}{}", snake(name));
    if has_any(&word, &["init", "init_in", "session_memory_t"]) {
        return word + "_protocol";
    }
    not_ours("protocol", word)
}

/// What the names of a declared type start with.
pub fn declared(prefix: &str, package: &str, name: &str) -> String {
    let word = format!("{prefix}{package}{}", snake(name));
    // The library has `pid_t` and `obstack_copy`.
    if has_any(&word, &["t", "tag_t", "text", "copy", "take"]) {
        return word + "_type";
    }
    not_ours("type", word)
}

/// Names that begin with `duo_` belong to the runtime and to generated code itself.
fn not_ours(kind: &str, word: String) -> String {
    match word.strip_prefix("duo") {
        Some("") => format!("{kind}_{word}"),
        Some(rest) if rest.starts_with('_') => format!("{kind}_{word}"),
        Some(_) | None => word,
    }
}

/// The constant of a message; `state` is what names of its state begin with.
pub fn message(state: &str, name: &str) -> String {
    constant(state, &shouty_snake(name))
}

/// A constant or macro that ends with this word; the first part is as in other names.
pub fn constant(of: &str, word: &str) -> String {
    let constant = format!("{}_{word}", of.to_ascii_uppercase());
    if has(&constant) {
        constant + "_"
    } else {
        constant
    }
}

/// The constant of an enum's variant.
pub fn variant(declared: &str, name: &str) -> String {
    let constant = message(declared, name);
    // The library has many such names for numeric limits.
    if constant.ends_with("_MAX") || constant.ends_with("_MIN") {
        constant + "_"
    } else {
        constant
    }
}

/// The name of a generated file, without the extension. Compilers search the user's folders for `<string.h>` too, and Windows
/// reserves some names for devices.
pub fn file(name: &str) -> String {
    let is_taken = has_header(name) || DEVICES.contains(&name);
    if is_taken {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

/// Lines of documentation as a C comment, each line indented by `indent`; empty if there are no lines.
pub fn comment(docs: &[Box<str>], indent: &str) -> String {
    let lines: Vec<String> = docs.iter().map(|line| harmless(line)).collect();
    match lines.as_slice() {
        [] => String::new(),
        [line] if line.len() < 80 => format!("{indent}/** {} */\n", line.trim()),
        lines => {
            let mut text = format!("{indent}/**\n");
            for line in lines {
                let line = format!("{indent} * {line}");
                text.push_str(line.trim_end());
                text.push('\n');
            }
            text.push_str(indent);
            text.push_str(" */\n");
            text
        }
    }
}

/// The beginning of a block comment that more lines follow: the lines of documentation, and an empty line after them.
pub fn comment_start(docs: &[Box<str>]) -> String {
    let mut text = "/**\n".to_owned();
    for line in docs.iter().map(|line| harmless(line)) {
        text.push_str(format!(" * {line}").trim_end());
        text.push('\n');
    }
    if !docs.is_empty() {
        text.push_str(" *\n");
    }
    text
}

/// Lines of text as the lines of a block comment after its first ` * `; long ones are broken.
pub fn filled(text: &str) -> String {
    let mut filled = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut column = WIDTH;
        for word in line.split_whitespace() {
            if column + 1 + word.len() > WIDTH - 3 {
                filled.push_str(if filled.is_empty() { "" } else { "\n * " });
                column = 0;
            } else {
                filled.push(' ');
                column += 1;
            }
            filled.push_str(word);
            column += word.len();
        }
    }
    filled
}

/// Appends code with the lists of its long lines broken: those of a declaration, a call or a condition. Comments stay as they are.
pub fn break_lines(code: &str, to: &mut String) {
    for line in code.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        let is_comment = body.starts_with("/*") || body.starts_with(" *");
        match parts(body) {
            Some((start, parts, rest)) if body.len() > WIDTH && !is_comment => {
                to.push_str(&wrapped(start, &parts, rest));
            }
            Some(_) | None => to.push_str(body),
        }
        to.push_str(end);
    }
}

/// A line with a list in parentheses after a name: what comes before its parts, they, and what comes after.
fn parts(line: &str) -> Option<(&str, Vec<String>, &str)> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let opening = line
        .match_indices('(')
        .find(|(at, _)| line[..*at].ends_with(is_of_name))?
        .0;
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, opening + 1);
    for (at, letter) in line.char_indices().skip_while(|(at, _)| *at <= opening) {
        match letter {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                parts.push(line[from..at].trim().to_owned());
                from = at + 1;
                if letter == ')' {
                    return Some((&line[..=opening], parts, &line[at..]));
                }
            }
            _ => {}
        }
    }
    None
}

/// The line, changed so that it neither ends a comment nor appears to begin one, contains no trigraph, does not continue onto the
/// next line and does not change the writing direction.
pub fn harmless(line: &str) -> String {
    let turns = |letter: &char| {
        matches!(letter, '\u{200e}' | '\u{200f}' | '\u{061c}')
            || ('\u{202a}'..='\u{202e}').contains(letter)
            || ('\u{2066}'..='\u{2069}').contains(letter)
    };
    let mut text = String::new();
    for letter in line.chars().filter(|letter| !turns(letter)) {
        let letter = if letter.is_control() { ' ' } else { letter };
        if matches!(
            (text.chars().last(), letter),
            (Some('*'), '/') | (Some('/'), '*') | (Some('?'), '?')
        ) {
            text.push(' ');
        }
        text.push(letter);
    }
    let text = text.trim_end();
    match text.strip_suffix('\\') {
        Some(rest) => format!("{rest}(\\)"),
        None => text.to_owned(),
    }
}

/// A function head within 100 columns: the parameters follow the parenthesis, aligned on several lines where they do not fit.
pub fn head(start: &str, parameters: &[String]) -> String {
    wrapped(&format!("{start}("), parameters, ")")
}

/// A list within 100 columns; `start` ends with the opening bracket.
pub fn wrapped(start: &str, parts: &[String], end: &str) -> String {
    let open = start.trim_start();
    let indent = start.len() - open.len();
    let parts = parts.iter().map(Document::word).collect();
    let list = Document::list(open, parts, end, Style::of(Breaks::Aligned));
    // A semicolon or comma may follow.
    spaces(indent) + &list.laid_out(indent, indent, 1)
}

fn escaped(name: String) -> String {
    let of_library = ["ifc_", "ifr_", "si_"];
    let is_macro = of_library.iter().any(|start| name.starts_with(start))
        || has_macro(&name)
        || MACROS.contains(&name.as_str());
    if is_macro || KEYWORDS.contains(&name.as_str()) {
        name + "_"
    } else {
        name
    }
}

/// The keywords of C23 and of C++23.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const", "const_cast",
    "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else",
    "enum", "explicit", "export", "extern", "false", "float", "for", "fortran", "friend", "goto", "if", "inline", "int", "long",
    "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected",
    "public", "register", "reinterpret_cast", "requires", "restrict", "return", "short", "signed", "sizeof", "static",
    "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
    "typeid", "typename", "typeof", "typeof_unqual", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
];

/// Further lower-case macros: those of other systems, and some with parameters.
#[rustfmt::skip]
const MACROS: &[&str] = &[
    "assert", "atomic_init", "emit", "environ", "far", "foreach", "forever", "i386", "imaginary", "interface", "major", "makedev",
    "max", "min", "minor", "mips", "near", "offsetof", "pascal", "signals", "slots", "small", "sun", "vax",
];

#[rustfmt::skip]
const DEVICES: &[&str] = &[
    "aux", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con", "lpt1", "lpt2", "lpt3", "lpt4",
    "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul", "prn",
];

/// Names of the C library and of the headers of the system that a generated name could be equal to. A line is what comes before the
/// last `_` of some names, and what comes after it. Two lines are different: `.h` has the names of headers, and the line that begins
/// with `:` the macros without parameters in lower case, by which a preprocessor would replace a member.
static NAMES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let lines = include_str!("system_names.txt").lines();
    lines.filter_map(|line| line.split_once(": ")).collect()
});

fn is_listed(line: &str, word: &str) -> bool {
    let words = NAMES.get(line).copied().unwrap_or_default();
    words.split(' ').any(|known| known == word)
}

/// Whether some header declares or defines this name, which has a `_`.
fn has(name: &str) -> bool {
    name.rsplit_once('_')
        .is_some_and(|(line, word)| is_listed(line, word))
}

/// Whether some header declares or defines this word with `_` and one of the endings after it.
pub fn has_any(word: &str, endings: &[&str]) -> bool {
    endings
        .iter()
        .any(|ending| has(&format!("{word}_{ending}")))
}

/// Whether some header replaces this word, which is in lower case, by something else.
fn has_macro(word: &str) -> bool {
    is_listed("", word)
}

/// Whether the library has a header with this name followed by `.h`.
fn has_header(name: &str) -> bool {
    is_listed(".h", name)
}

/// Appends a rendered view.
pub fn render(view: &impl Template, to: &mut String) {
    view.render_into(to).expect("string writes cannot fail");
}

/// Appends functions, with their long lines broken.
pub fn render_functions(view: &impl Template, text: &mut String) {
    let mut functions = String::new();
    render(view, &mut functions);
    break_lines(&functions, text);
}

/// Filters of the templates.
pub mod filters {
    use crate::languages::c::spelling;
    use askama::{Result, Values};
    use std::fmt::Display;

    /// Sentences, one or more a line, as a block comment's lines after its first ` * `.
    #[askama::filter_fn]
    pub fn fill(text: impl Display, _: &dyn Values) -> Result<String> {
        Ok(spelling::filled(&text.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stay_comments() {
        assert_eq!(harmless("a */ b /* c ??/ d"), "a * / b / * c ? ?/ d");
        assert_eq!(harmless("/**/"), "/ ** /");
        assert_eq!(harmless("to be continued \\"), "to be continued (\\)");
        assert_eq!(harmless("tab\tand \u{202e}turn"), "tab and turn");
    }

    #[test]
    fn heads_keep_to_the_columns() {
        let parameters: Vec<String> = (0..9).map(|n| format!("uint64_t parameter_{n}")).collect();
        let text = head("DUO_API duo_status a_function", &parameters);
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.starts_with(&" ".repeat(30)))
        );
    }
}
