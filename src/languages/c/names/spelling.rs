//! How names, comments and lines are written in C, in a form that is also valid C++.

use crate::languages::WIDTH;
use crate::languages::spelling::{shouty_snake, snake};
use askama::Template;
use std::collections::{HashMap, HashSet};
use std::fmt::{Result, Write};
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

/// Lines of documentation as lines of a comment.
pub fn docs(docs: &[Box<str>]) -> Vec<String> {
    docs.iter().map(|line| harmless(line)).collect()
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

fn escaped(name: String) -> String {
    let of_library = ["ifc_", "ifr_", "si_"];
    let is_macro = of_library.iter().any(|start| name.starts_with(start));
    if is_macro || RESERVED.contains(name.as_str()) {
        name + "_"
    } else {
        name
    }
}

/// What no member and no parameter is called.
static RESERVED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let own = KEYWORDS.iter().chain(MACROS).copied();
    own.chain(words("")).collect()
});

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

fn words(line: &str) -> impl Iterator<Item = &'static str> {
    NAMES.get(line).copied().unwrap_or_default().split(' ')
}

fn is_listed(line: &str, word: &str) -> bool {
    words(line).any(|known| known == word)
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

/// Whether the library has a header with this name followed by `.h`.
fn has_header(name: &str) -> bool {
    is_listed(".h", name)
}

/// The text of a view. Lines that are too long are broken, spaces at their ends are removed, and one blank line follows another
/// nowhere.
pub fn rendered(view: &impl Template) -> String {
    let mut lines = Lines::default();
    view.render_into(&mut lines)
        .expect("string writes cannot fail");
    lines.end_line();
    lines.text
}

/// Text under construction.
#[derive(Default)]
struct Lines {
    text: String,
    /// Where the last line begins.
    start: usize,
}

impl Write for Lines {
    fn write_str(&mut self, mut more: &str) -> Result {
        while let Some(at) = more.find('\n') {
            self.text.push_str(&more[..at]);
            self.end_line();
            more = &more[at + 1..];
        }
        self.text.push_str(more);
        Ok(())
    }
}

impl Lines {
    fn end_line(&mut self) {
        let line = self.text[self.start..].trim_end();
        if line.is_empty() && (self.text.is_empty() || self.text[..self.start].ends_with("\n\n")) {
            self.text.truncate(self.start);
            return;
        }
        self.text.truncate(self.start + line.len());
        if self.text.len() - self.start > WIDTH {
            let line = self.text.split_off(self.start);
            break_line(&line, &mut self.text);
        }
        self.text.push('\n');
        self.start = self.text.len();
    }
}

/// Appends a long line in parts, each after the first on a line of its own: a comment is broken between words, code after the commas
/// that the fewest brackets enclose, and before `&&` and `||`, or else after the bracket of a list.
fn break_line(line: &str, to: &mut String) {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let is_comment = text.starts_with("/*") || text.starts_with("* ");
    let (next, end) = match text.as_bytes()[0] {
        b'/' if is_comment => (indent + 1, "* "),
        _ if is_comment => (indent, "* "),
        _ if text.starts_with("if (") => (indent + 8, ""),
        _ => (indent + 4, ""),
    };
    let (mut rest, mut width, mut start) = (line, WIDTH, indent);
    while rest.len() > width && !text.starts_with('#') {
        let at = match is_comment {
            true => gap(rest.as_bytes(), start + 3, width),
            false => separator(rest.as_bytes(), start, width),
        };
        let Some(at) = at else { break };
        to.push_str(rest[..at].trim_end());
        to.push('\n');
        to.extend(std::iter::repeat_n(' ', next));
        to.push_str(end);
        rest = rest[at..].trim_start();
        width = WIDTH - next - end.len();
        start = 0;
    }
    to.push_str(rest);
}

/// The last gap between words of a comment before `width`.
fn gap(line: &[u8], start: usize, width: usize) -> Option<usize> {
    let is_gap = |at: &usize| line[*at] == b' ' && !line[*at..].starts_with(b" */");
    (start + 1..=width).rev().find(is_gap)
}

/// Where to break code so that its first part fits: the last of the best places.
fn separator(line: &[u8], start: usize, width: usize) -> Option<usize> {
    let (mut depth, mut is_quoted, mut best) = (0, false, None);
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    for (at, byte) in line.iter().enumerate().take(width + 1).skip(start) {
        let before = &line[..at];
        let rank = match before {
            [.., b',', b' '] => Some(2 * depth),
            [.., b' '] if matches!(line[at..], [b'&', b'&', ..] | [b'|', b'|', ..]) => {
                Some(2 * depth)
            }
            // Only if no comma of the list is before the end of the line.
            [.., name, b'('] if is_of_name(*name) => Some(2 * depth + 1),
            _ => None,
        };
        if let Some(rank) = rank.filter(|_| !is_quoted)
            && best.is_none_or(|(least, _)| rank <= least)
        {
            best = Some((rank, at));
        }
        match byte {
            b'"' if !before.ends_with(b"\\") => is_quoted = !is_quoted,
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth -= 1,
            _ => {}
        }
    }
    best.map(|(_, at)| at)
}
