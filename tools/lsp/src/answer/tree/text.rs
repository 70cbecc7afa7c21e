//! The tree of a text, and what other files need to know about it.

use duologue::syntax::SIZE_LIMIT;
use duologue_grammar::{Kind, Tree};

/// The tree of a text; an empty one if it is too large to be checked.
pub fn tree(text: &str) -> Tree<'_> {
    Tree::of(if text.len() > SIZE_LIMIT { "" } else { text })
}

/// What other files need to know about a text: its package, what it imports, and which protocols and instances it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// The package, with dots; empty without one.
    pub package: String,
    /// The paths of imports as written.
    pub imports: Vec<String>,
    /// The names of protocols and instances.
    pub protocols: Vec<String>,
}

/// Reads the heads of a text, which may have errors.
#[must_use]
pub fn heads(text: &str) -> Heads {
    let tree = tree(text);
    let mut heads = Heads::default();
    for node in tree.root().parts() {
        let declared = match node.kind() {
            Kind::item => node.child(Kind::instance).unwrap_or(node),
            _ => node,
        };
        match declared.kind() {
            Kind::package if heads.package.is_empty() => {
                let names = node.parts().filter(|part| part.kind() == Kind::ident);
                let names: Vec<&str> = names.map(|name| name.text()).collect();
                heads.package = names.join(".");
            }
            Kind::import => {
                let path = node
                    .children()
                    .nth(1)
                    .map(|path| path.text().trim_matches('"'));
                heads.imports.extend(path.map(str::to_owned));
            }
            Kind::protocol | Kind::instance => {
                let name = declared.child(Kind::ident);
                heads
                    .protocols
                    .extend(name.map(|name| name.text().to_owned()));
            }
            _ => {}
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_wherever_the_parser_finds_them() {
        let texts = [
            "package a; import \"t.proto\"; proto! p { a { } }",
            "\u{feff}package a;\nimport \"t.proto\";\nproto! p { a { } }",
            "/* license */ package a;\n  import \"t.proto\";\n\tproto! p { a { } }",
            "package a;\r\n/* t */ import \"t.proto\";\r\nproto! p {\r\n a:send { m(",
        ];
        for text in texts {
            let expected = Heads {
                package: "a".to_owned(),
                imports: vec!["t.proto".to_owned()],
                protocols: vec!["p".to_owned()],
            };
            assert_eq!(heads(text), expected, "{text}");
        }
        let none = heads("proto! p { package:send { import -> ! } }");
        assert_eq!((none.package.as_str(), none.imports.len()), ("", 0));
    }
}
