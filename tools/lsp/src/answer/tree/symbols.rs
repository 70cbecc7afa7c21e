//! What is declared where in a text, also in one with errors, and what other files need to know about it.

use duologue::protocol::limits::FILE_SIZE;
use duologue_grammar::{Kind, Node, Tree};
use std::collections::BTreeSet;
use std::ops::Range;

/// What an item declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ItemKind {
    Alias,
    Struct,
    Enum,
    ExternType,
    ExternBound,
    Instance,
    Protocol,
    State,
    Message,
    Field,
    Variant,
}

/// Whether a kind of declaration is meant.
pub type IsMeant = fn(ItemKind) -> bool;

impl ItemKind {
    /// Whether its name is that of a protocol.
    #[must_use]
    pub fn is_protocol(self) -> bool {
        matches!(self, ItemKind::Protocol | ItemKind::Instance)
    }

    /// Whether its name is that of a type.
    #[must_use]
    pub fn is_type(self) -> bool {
        use ItemKind::{Alias, Enum, ExternType, Struct};
        matches!(self, Alias | Struct | Enum | ExternType)
    }
}

/// A declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it declares.
    pub kind: ItemKind,
    /// Its name.
    pub name: String,
    /// Where the name is.
    pub name_at: Range<usize>,
    /// The whole declaration, without documentation and attributes.
    pub at: Range<usize>,
    /// The declaration up to its body.
    pub head: Range<usize>,
    /// What is declared in it.
    pub children: Vec<Item>,
}

/// The tree of a text; an empty one if it is too large to be checked.
pub fn tree(text: &str) -> Tree<'_> {
    Tree::of(if text.len() > FILE_SIZE { "" } else { text })
}

/// The declarations of a text, in order.
#[must_use]
pub fn outline(text: &str) -> Vec<Item> {
    items(&tree(text))
}

fn items(tree: &Tree<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    for node in tree.root().parts() {
        match node.kind() {
            Kind::item => items.extend(node.parts().find_map(item)),
            // The states of a protocol without a name have no better place.
            Kind::bad_protocol if node.child(Kind::ident).is_none() => {
                items.extend(node.parts().filter_map(item));
            }
            _ => items.extend(item(node)),
        }
    }
    items
}

/// What a node declares, if it declares something.
fn item(node: Node<'_>) -> Option<Item> {
    let kind = match node.kind() {
        Kind::alias => ItemKind::Alias,
        Kind::structure => ItemKind::Struct,
        Kind::enumeration => ItemKind::Enum,
        Kind::external if node.child(Kind::kw_bound).is_some() => ItemKind::ExternBound,
        Kind::external => ItemKind::ExternType,
        Kind::instance => ItemKind::Instance,
        Kind::protocol | Kind::bad_protocol => ItemKind::Protocol,
        Kind::state => ItemKind::State,
        Kind::message => ItemKind::Message,
        Kind::field => ItemKind::Field,
        Kind::variant => ItemKind::Variant,
        _ => return None,
    };
    let name = node
        .child(Kind::ident)
        .or_else(|| node.child(Kind::foreign_name));
    // A protocol whose name is missing is shown with its keyword.
    let name = name.or_else(|| node.child(Kind::kw_proto))?;
    let first = node
        .children()
        .find(|part| part.kind() != Kind::attribute)?;
    let at = first.range().start..node.range().end;
    let has_body = !matches!(
        kind,
        ItemKind::Message | ItemKind::Field | ItemKind::Variant
    );
    let is_open = |part: &Node<'_>| matches!(part.kind(), Kind::lbrace | Kind::lparen);
    let open = node.children().find(is_open).map(|open| open.range().start);
    let head = match has_body {
        true => at.start..open.unwrap_or(name.range().end),
        false => at.clone(),
    };
    Some(Item {
        kind,
        name: name.text().to_owned(),
        name_at: name.range(),
        at,
        head,
        children: match has_body {
            true => node.parts().filter_map(item).collect(),
            false => Vec::new(),
        },
    })
}

/// What other files need to know about a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// The package, with dots; empty without one.
    pub package: String,
    /// The paths of imports as written.
    pub imports: Vec<String>,
    /// What it declares, without what is declared in that.
    pub declared: Vec<(ItemKind, String)>,
    /// The names of everything that is declared anywhere in it, in lowercase, each once on a line of its own.
    pub names: String,
}

impl Heads {
    /// Whether it declares a protocol or an instance with a name that is meant.
    pub fn has_protocol(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let mut declared = self.declared.iter();
        declared.any(|(kind, name)| kind.is_protocol() && is_meant(name))
    }
}

/// Reads the heads of a text, which may have errors.
#[must_use]
pub fn heads(text: &str) -> Heads {
    let tree = tree(text);
    let mut heads = Heads::default();
    for node in tree.root().parts() {
        match node.kind() {
            Kind::package if heads.package.is_empty() => {
                let names = node.parts().filter(|part| part.kind() == Kind::ident);
                let names: Vec<&str> = names.map(|name| name.text()).collect();
                heads.package = names.join(".");
            }
            Kind::import => heads.imports.extend(import_path(node).map(str::to_owned)),
            _ => {}
        }
    }
    let items = items(&tree);
    let mut names = BTreeSet::new();
    let mut open: Vec<&Item> = items.iter().collect();
    while let Some(item) = open.pop() {
        names.insert(item.name.to_lowercase() + "\n");
        open.extend(&item.children);
    }
    heads.names = names.into_iter().collect();
    let declared = items.into_iter().map(|item| (item.kind, item.name));
    heads.declared = declared.collect();
    heads
}

/// The path of an import, without its quotes.
pub fn import_path(import: Node<'_>) -> Option<&str> {
    let path = import.children().nth(1)?;
    Some(path.text().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_errors_has_an_outline() {
        let text = "proto! a {\n x:send { m(u8 -> x, n -> }\n y:recv {\nproto! b { z { } }\ntype t = u8;\n";
        let names: Vec<String> = outline(text).into_iter().map(|item| item.name).collect();
        assert_eq!(names, ["a", "b", "t"]);
        let inner = &outline(text)[0].children;
        let states: Vec<&str> = inner.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(states, ["x", "y"]);
        assert_eq!(outline(text)[1].children[0].name, "z");
    }

    #[test]
    fn a_message_without_a_name_hides_no_state() {
        let text = "proto! shop {\n buy:send { (str) -> card }\n card:send { number(str) -> end }\n end:recv { ok -> ! }\n}\n";
        let items = outline(text);
        let states = items[0].children.iter().map(|state| state.name.as_str());
        assert_eq!(states.collect::<Vec<_>>(), ["buy", "card", "end"]);
    }

    #[test]
    fn a_state_without_a_body_has_not_that_of_the_next_one() {
        for next in ["b:send { m -> ! }", "b { m -> ! }", "b:recv<T> { m -> ! }"] {
            let text = format!("proto! p {{\n a:send\n {next}\n}}\n");
            let items = outline(&text);
            let states = items[0].children.iter();
            let states: Vec<(&str, usize)> = states
                .map(|state| (state.name.as_str(), state.children.len()))
                .collect();
            assert_eq!(states, [("a", 0), ("b", 1)], "{text}");
        }
    }

    #[test]
    fn heads_are_found_wherever_the_parser_finds_them() {
        let texts = [
            "package a; import \"t.proto\"; proto! p { a { } }",
            "\u{feff}package a;\nimport \"t.proto\";\nproto! p { a { } }",
            "/* license */ package a;\n  import \"t.proto\";\n\tproto! p { a { } }",
            "package a;\r\n/* t */ import \"t.proto\";\r\nproto! p {\r\n a:send { m(",
        ];
        for (text, names) in texts
            .into_iter()
            .zip(["a\np\n", "a\np\n", "a\np\n", "a\nm\np\n"])
        {
            let expected = Heads {
                package: "a".to_owned(),
                imports: vec!["t.proto".to_owned()],
                declared: vec![(ItemKind::Protocol, "p".to_owned())],
                names: names.to_owned(),
            };
            assert_eq!(heads(text), expected, "{text}");
        }
        let none = heads("proto! p { package:send { import -> ! } }");
        assert_eq!((none.package.as_str(), none.imports.len()), ("", 0));
    }
}
