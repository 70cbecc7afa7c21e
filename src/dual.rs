//! The text of protocols from the server's side. Only directions and sides change. Everything else stays as written, so that the
//! dual of the dual is the original text.

use crate::protocol::{FileId, Program, Protocol, ProtocolId};
use crate::source::Sources;
use std::collections::BTreeSet;
use std::ops::Range;

/// The text of a file with all its protocols seen from the server's side. In the types of their endpoints, `client` and `server`
/// are swapped too, so that the same endpoints are meant.
#[must_use]
pub fn file(program: &Program, sources: &Sources, file: FileId) -> String {
    let file = program.file(file);
    let text = sources.get(file.source).text();
    let turned = file.protocols.iter().map(|id| program.protocol(*id));
    let edits = edits(text, &tokens(text), turned);
    apply(text, &edits, 0..text.len())
}

/// The declaration of one protocol, seen from the server's side.
#[must_use]
pub fn protocol(program: &Program, sources: &Sources, protocol: ProtocolId) -> String {
    let protocol = program.protocol(protocol);
    let text = sources.get(program.file(protocol.file).source).text();
    let tokens = tokens(text);
    let edits = edits(text, &tokens, std::iter::once(protocol));
    let shown = declaration(text, &tokens, protocol.name.span.range());
    apply(text, &edits, shown) + "\n"
}

/// The edits that turn these protocols into their duals, in order.
fn edits<'a>(
    text: &str,
    tokens: &[Range<usize>],
    turned: impl Iterator<Item = &'a Protocol>,
) -> Vec<(Range<usize>, &'static str)> {
    let mut edits = Vec::new();
    let mut names = BTreeSet::new();
    for protocol in turned {
        names.insert(protocol.name.text());
        for state in &protocol.states {
            if let Some(direction) = state.direction {
                let end = state.direction_span.range().end;
                let start = end - direction.word().len();
                edits.push((start..end, direction.dual().word()));
            }
        }
    }
    for window in tokens.windows(6) {
        let word = |at: usize| &text[window[at].clone()];
        let other = match word(3) {
            "client" => "server",
            "server" => "client",
            _ => continue,
        };
        if names.contains(word(0)) && [1, 2, 4, 5].iter().all(|at| word(*at) == ":") {
            edits.push((window[3].clone(), other));
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    edits
}

fn apply(text: &str, edits: &[(Range<usize>, &str)], shown: Range<usize>) -> String {
    let mut result = String::new();
    let mut at = shown.start;
    for (range, word) in edits {
        if range.start >= at && range.end <= shown.end {
            result += &text[at..range.start];
            result += word;
            at = range.end;
        }
    }
    result + &text[at..shown.end]
}

/// The range of the declaration whose name is at `name`, including the documentation and attributes before it.
fn declaration(text: &str, tokens: &[Range<usize>], name: Range<usize>) -> Range<usize> {
    let word = |at: usize| tokens.get(at).map_or("", |token| &text[token.clone()]);
    let at = tokens.iter().position(|token| *token == name).unwrap_or(0);
    let mut first = at.saturating_sub(2);
    loop {
        if first > 0 && word(first - 1).starts_with("///") {
            first -= 1;
        } else if first > 0 && word(first - 1) == "]" {
            let open = (0..first).rev().find(|at| word(*at) == "#");
            first = open.unwrap_or(first - 1);
        } else {
            break;
        }
    }
    let mut depth = 0u32;
    let mut last = at + 1;
    while last < tokens.len() {
        match word(last) {
            "{" | "(" => depth += 1,
            "}" | ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        last += 1;
    }
    if word(last + 1) == ";" {
        last += 1;
    }
    tokens[first].start..tokens.get(last).map_or(text.len(), |token| token.end)
}

/// The ranges of all tokens. Documentation before a declaration counts as a token, other comments do not.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let while_ = |is: &dyn Fn(&u8) -> bool| rest.iter().take_while(|byte| is(byte)).count();
        let length = if rest.starts_with(b"//") {
            while_(&|byte| *byte != b'\n')
        } else if rest.starts_with(b"/*") {
            comment(rest)
        } else if rest[0] == b'"' {
            rest[1..]
                .iter()
                .position(|byte| *byte == b'"')
                .map_or(rest.len(), |end| end + 2)
        } else if rest[0].is_ascii() {
            while_(&|byte| byte.is_ascii_alphanumeric() || *byte == b'_').max(1)
        } else {
            while_(&|byte| !byte.is_ascii())
        };
        let is_docs = rest.starts_with(b"///") && !rest.starts_with(b"////");
        let is_comment = rest.starts_with(b"//") || rest.starts_with(b"/*");
        if is_docs || !(is_comment || rest[0].is_ascii_whitespace()) {
            found.push(at..at + length);
        }
        at += length;
    }
    found
}

/// The length of the block comment that begins here; such comments nest.
fn comment(bytes: &[u8]) -> usize {
    let mut depth = 0u32;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}
