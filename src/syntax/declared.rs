//! What a text declares. Explanations of mistakes need this to guess what a name means.

use crate::protocol::Builtin;
use duologue_grammar::{Kind, Tree};
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
    pub fn of(tree: &'a Tree<'a>) -> DeclaredNames<'a> {
        let has = |kind: Kind| tree.root().child(kind).is_some();
        let items = tree.root().parts().filter(|node| node.kind() == Kind::item);
        let types = items.filter_map(|item| {
            let is_type = |kind| {
                matches!(
                    kind,
                    Kind::alias | Kind::structure | Kind::enumeration | Kind::external
                )
            };
            let declared = item.parts().find(|part| is_type(part.kind()))?;
            let is_bound = declared.child(Kind::kw_bound).is_some();
            let name = declared.child(Kind::ident).filter(|_| !is_bound);
            name.map(|name| &tree.text[name.range()])
        });
        DeclaredNames {
            types: types.collect(),
            has_imports: has(Kind::import),
            has_protocol: has(Kind::protocol),
        }
    }

    /// Whether a name is that of a built-in type or of one that the text declares.
    pub fn is_type(&self, name: &str) -> bool {
        Builtin::named(name).is_some() || self.types.contains(name)
    }
}
