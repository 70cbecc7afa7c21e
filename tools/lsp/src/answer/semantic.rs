//! What each token means, for highlighting.

use super::Snapshot;
use super::tree::context::is_keyword;
use super::tree::symbols::tree;
use duologue::protocol::{Referent, Use};
use duologue_grammar::{Kind, Leaf};
use serde::Serialize;
use std::ops::Range;

macro_rules! kinds {
    ($($kind:ident)*) => {
        /// The meaning of a token.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "camelCase")]
        #[allow(missing_docs)]
        pub enum SemanticKind {
            $($kind,)*
        }

        impl SemanticKind {
            /// All meanings, in the order of the legend.
            pub const ALL: &[SemanticKind] = &[$(SemanticKind::$kind),*];
        }
    };
}

kinds! {
    Namespace Type TypeParameter Interface EnumMember Property Parameter Class
    Variable Method Keyword Decorator String Number Comment Operator
}

/// A token with its meaning. It is on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemanticToken {
    /// Its bytes.
    pub at: Range<usize>,
    /// What it means.
    pub kind: SemanticKind,
    /// Whether it declares a name.
    pub is_declaration: bool,
}

fn meaning(referent: Referent) -> Option<SemanticKind> {
    Some(match referent {
        Referent::Package => SemanticKind::Namespace,
        Referent::Import(_) => SemanticKind::String,
        Referent::Builtin(_) | Referent::Type(_) => SemanticKind::Type,
        Referent::Field(..) => SemanticKind::Property,
        Referent::Variant(..) => SemanticKind::EnumMember,
        Referent::Value(..) | Referent::Entry(..) => SemanticKind::Parameter,
        Referent::BuiltinBound(_) | Referent::Bound(_) => SemanticKind::Interface,
        Referent::Language(_) | Referent::Side(_) | Referent::Acceptor(_) => SemanticKind::Keyword,
        Referent::Direction(_) => SemanticKind::Keyword,
        Referent::Protocol(_) | Referent::Instance(_) => SemanticKind::Class,
        Referent::State(..) => SemanticKind::Variable,
        Referent::Parameter(..) => SemanticKind::TypeParameter,
        Referent::Message(..) => SemanticKind::Method,
        Referent::Fingerprint | Referent::Unit => SemanticKind::Number,
        Referent::Attribute | Referent::Rule => SemanticKind::Decorator,
        Referent::Unknown => return None,
    })
}

/// The tokens of the text in a range, in order, none overlapping.
#[must_use]
pub fn semantic_tokens(snapshot: &Snapshot, within: &Range<usize>) -> Vec<SemanticToken> {
    let text = snapshot.text();
    let tree = tree(text);
    let mut uses = snapshot
        .program()
        .uses
        .in_source(snapshot.source)
        .peekable();
    let mut found = Vec::new();
    for leaf in tree.leaves() {
        let range = leaf.range();
        while uses
            .next_if(|named| (named.span.end as usize) <= range.start)
            .is_some()
        {}
        if range.end <= within.start || range.start >= within.end {
            continue;
        }
        let named = uses.peek().filter(|named| {
            let name = named.span.range();
            name.start <= range.start && range.end <= name.end
        });
        let Some((kind, is_declaration)) = token_meaning(text, leaf, named.copied()) else {
            continue;
        };
        // A token with several lines is one for each of its lines.
        let mut at = range.start;
        for line in text[range.clone()].split_inclusive(['\n', '\r']) {
            let shown = line.trim_end_matches(['\n', '\r']);
            if !shown.is_empty() {
                found.push(SemanticToken {
                    at: at..at + shown.len(),
                    kind,
                    is_declaration,
                });
            }
            at += line.len();
        }
    }
    found
}

fn token_meaning(text: &str, leaf: Leaf, named: Option<&Use>) -> Option<(SemanticKind, bool)> {
    if let Some(named) = named
        && let Some(kind) = meaning(named.referent)
    {
        return Some((kind, named.is_declaration));
    }
    let word = &text[leaf.range()];
    let kind = match leaf.kind {
        Kind::line_comment | Kind::block_comment | Kind::open_comment | Kind::deep_comment => {
            SemanticKind::Comment
        }
        Kind::string | Kind::bad_string | Kind::open_string => SemanticKind::String,
        Kind::arrow | Kind::bang => SemanticKind::Operator,
        _ if word.starts_with(|first: char| first.is_ascii_digit()) => SemanticKind::Number,
        _ if is_keyword(word) => SemanticKind::Keyword,
        _ => return None,
    };
    Some((kind, false))
}
