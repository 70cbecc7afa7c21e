//! Recognizes files of Protocol Buffers, which share the extension `.proto`, so that a search for protocols can skip them.

use duologue_grammar::{Node, Tree};

/// Whether a text is a Protocol Buffers file and not one of this language, with or without mistakes. Whatever has a `proto!` is
/// one of this language. Otherwise `syntax = ...`, or a declaration that only one of the two has, decides. Linear.
#[must_use]
pub fn is_protocol_buffers(text: &str) -> bool {
    // What precedes the first `proto!` is nearly always enough.
    let begin = text.find("proto!").map(|at| &text[..at + "proto!".len()]);
    let decided = begin.and_then(|begin| verdict(&Tree::of(begin)).0);
    decided.unwrap_or_else(|| {
        let (decided, seems) = verdict(&Tree::of(text));
        decided.unwrap_or(seems)
    })
}

/// The depth of brackets after a token.
fn nested(depth: usize, token: Node<'_>) -> usize {
    match token.text() {
        "{" | "(" | "[" => depth + 1,
        "}" | ")" | "]" => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Whether a text certainly belongs to one of the languages, and whether it seems to be the other one.
fn verdict(tree: &Tree<'_>) -> (Option<bool>, bool) {
    let mut tokens = tree.tokens();
    let Some(mut token) = tokens.next() else {
        return (None, false);
    };
    let mut begins = true;
    let mut declaration = "";
    let mut depth = 0usize;
    let mut is_foreign = false;
    for next in tokens.map(Some).chain(std::iter::once(None)) {
        let (one, two) = (token.text(), next.map_or("", Node::text));
        if depth == 0 && (one, two) == ("proto", "!") {
            return (Some(false), false);
        }
        if std::mem::take(&mut begins) {
            declaration = one;
            match one {
                "syntax" | "edition" if two == "=" => return (Some(true), true),
                "struct" | "type" | "extern" => return (Some(false), false),
                "message" | "service" | "extend" | "option" => is_foreign = true,
                "import" if matches!(two, "public" | "weak") => is_foreign = true,
                _ => {}
            }
        }
        // The variants of an enum have numbers only there.
        is_foreign |= one == "=" && depth == 1 && declaration == "enum";
        depth = nested(depth, token);
        begins = depth == 0 && matches!(one, ";" | "}");
        token = next.unwrap_or(token);
    }
    (None, is_foreign)
}
