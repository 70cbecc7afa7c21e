//! Splits a text into words, strings, comments, whitespace and other characters. This works for any text; errors are reported
//! elsewhere.

/// How deeply brackets, comments and type operators may nest.
pub const DEPTH_LIMIT: usize = 64;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lexeme {
    /// Whitespace within a line, and byte order marks.
    Blank,
    /// A line feed.
    Break,
    /// `// ...` without the line feed.
    LineComment,
    /// `/* ... */`, including nested comments.
    BlockComment,
    /// A block comment that extends to the end of the text.
    OpenComment,
    /// The beginning of a block comment, up to where it is nested deeper than [`DEPTH_LIMIT`].
    DeepComment,
    /// Letters, digits and `_`.
    Word,
    /// A string with its quotes.
    String,
    /// A string without its closing quote, to the end of the line.
    OpenString,
    /// `->`
    Arrow,
    /// A single ASCII character that is none of the above.
    Sign(u8),
    /// Non-ASCII characters.
    Foreign,
}

/// The lexeme at `at`, which is inside the text, and where it ends.
pub fn lexeme(text: &str, at: usize) -> (Lexeme, usize) {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    let run = |is: fn(&u8) -> bool| at + rest.iter().take_while(|byte| is(byte)).count();
    match rest[0] {
        b'\n' => (Lexeme::Break, at + 1),
        b' ' | b'\t' | b'\r' => (Lexeme::Blank, at + 1),
        b'/' if rest.starts_with(b"//") => (Lexeme::LineComment, run(|byte| *byte != b'\n')),
        b'/' if rest.starts_with(b"/*") => block_comment(bytes, at),
        b'"' => {
            let length = rest[1..].iter().take_while(|byte| !b"\"\n".contains(byte));
            let end = at + 1 + length.count();
            match bytes.get(end) {
                Some(b'"') => (Lexeme::String, end + 1),
                _ => (Lexeme::OpenString, end),
            }
        }
        b'-' if rest.starts_with(b"->") => (Lexeme::Arrow, at + 2),
        byte if is_word(&byte) => (Lexeme::Word, run(is_word)),
        byte if byte.is_ascii() => (Lexeme::Sign(byte), at + 1),
        _ if text[at..].starts_with('\u{feff}') => (Lexeme::Blank, at + '\u{feff}'.len_utf8()),
        _ => (Lexeme::Foreign, run(|byte| !byte.is_ascii())),
    }
}

fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

fn block_comment(bytes: &[u8], at: usize) -> (Lexeme, usize) {
    let mut depth = 0;
    let mut here = at;
    loop {
        let rest = &bytes[here..];
        if rest.starts_with(b"/*") {
            depth += 1;
            here += 2;
            if depth > DEPTH_LIMIT {
                return (Lexeme::DeepComment, here);
            }
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            here += 2;
            if depth == 0 {
                return (Lexeme::BlockComment, here);
            }
        } else if rest.is_empty() {
            return (Lexeme::OpenComment, here);
        } else {
            here += 1;
        }
    }
}

/// Whether a line comment documents something: `///`, but not `////`.
pub fn is_doc(comment: &str) -> bool {
    comment.starts_with("///") && !comment.starts_with("////")
}

/// Whether a line comment documents the file: `//!`.
pub fn is_file_doc(comment: &str) -> bool {
    comment.starts_with("//!")
}
