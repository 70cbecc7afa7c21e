//! What a text declares, as far as the first tokens of its items show. Explanations of mistakes need this to guess what a name
//! means.

use super::outline::{ItemStart, ItemStartKind};
use super::tokens::Tokens;
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
    pub fn of(tokens: &Tokens<'a>, items: &[ItemStart]) -> DeclaredNames<'a> {
        let has = |kind: ItemStartKind| items.iter().any(|item| item.kind == kind);
        let types = items.iter().enumerate().filter_map(|(at, item)| {
            let end = items.get(at + 1).map_or(tokens.len(), |next| next.first);
            let mut words = (item.first..end).map(|number| tokens.word(number));
            let is_item = item.kind == ItemStartKind::Item;
            is_item.then(|| type_name(&mut words)).flatten()
        });
        DeclaredNames {
            types: types.collect(),
            has_imports: has(ItemStartKind::Import),
            has_protocol: has(ItemStartKind::Protocol),
        }
    }

    /// Whether a name is that of a built-in type or of one that the text declares.
    pub fn is_type(&self, name: &str) -> bool {
        Builtin::named(name).is_some() || self.types.contains(name)
    }
}

/// The name of the type that an item declares, if it declares one.
fn type_name<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<&'a str> {
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
