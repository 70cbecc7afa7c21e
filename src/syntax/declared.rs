//! What a text declares, as far as the first tokens of its items show. Explanations of mistakes need this to guess what a name
//! means.

use super::scan::{Piece, PieceKind};
use super::tokens::tokens;
use crate::protocol::Builtin;
use std::collections::HashSet;

/// The declarations of a text, whether they parse or not.
#[derive(Debug)]
pub struct DeclaredNames<'a> {
    types: HashSet<&'a str>,
    /// Whether the text imports others, which may declare more types.
    pub has_imports: bool,
    /// Whether the text has a protocol, which shows that it is meant for this compiler.
    pub has_protocol: bool,
}

impl<'a> DeclaredNames<'a> {
    pub fn of(text: &'a str, pieces: &[Piece]) -> DeclaredNames<'a> {
        let has = |kind: PieceKind| pieces.iter().any(|piece| piece.kind == kind);
        let items = pieces.iter().filter(|piece| piece.kind == PieceKind::Item);
        DeclaredNames {
            types: items
                .filter_map(|piece| type_name(&text[piece.at.clone()]))
                .collect(),
            has_imports: has(PieceKind::Import),
            has_protocol: has(PieceKind::Protocol),
        }
    }

    /// Whether a name is that of a built-in type or of one that the text declares.
    pub fn is_type(&self, name: &str) -> bool {
        Builtin::named(name).is_some() || self.types.contains(name)
    }
}

/// The name of the type that an item declares, if it declares one.
fn type_name(item: &str) -> Option<&str> {
    let mut words = tokens(item, 0).map(|at| &item[at]);
    let mut word = words.next()?;
    while word == "#" {
        words.find(|word| *word == "]")?;
        word = words.next()?;
    }
    if word == "extern" {
        word = words.next()?;
    }
    matches!(word, "type" | "struct" | "enum").then(|| words.next())?
}
