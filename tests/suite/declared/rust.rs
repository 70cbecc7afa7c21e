//! Declarations in generated Rust.

use super::{Declared, check, shown};
use duologue::target::{OutputFile, Target};
use syn::{Fields, Ident, ImplItem, Item, UseTree};

const ROOT: &str = "the module that includes the generated code";

struct Finder(Vec<Declared>);

fn place_of(path: &[String]) -> String {
    match path {
        [] => ROOT.to_owned(),
        _ => format!("module `{}`", path.join("::")),
    }
}

fn type_name(ty: &syn::Type) -> String {
    let syn::Type::Path(path) = ty else {
        panic!("methods of a type without a name")
    };
    let last = path.path.segments.last().expect("a path has a segment");
    last.ident.to_string()
}

impl Finder {
    fn add(&mut self, place: String, name: &Ident) {
        self.0.push((place, name.to_string()));
    }

    fn used(&mut self, path: &[String], tree: &UseTree) {
        match tree {
            UseTree::Path(inner) => self.used(path, &inner.tree),
            UseTree::Name(name) => self.add(place_of(path), &name.ident),
            // What it imports is found where it is declared.
            UseTree::Glob(_) => {}
            UseTree::Rename(_) | UseTree::Group(_) => {
                panic!("an unexpected kind of import")
            }
        }
    }

    fn fields(&mut self, place: String, fields: &Fields) {
        if let Fields::Named(fields) = fields {
            for field in &fields.named {
                self.add(place.clone(), field.ident.as_ref().expect("it is named"));
            }
        }
    }

    fn items(&mut self, path: &[String], items: &[Item]) {
        for item in items {
            self.item(path, item);
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "generated code has few of the many kinds of items"
    )]
    fn item(&mut self, path: &[String], item: &Item) {
        let here = place_of(path);
        let inside = |name: &Ident| [path, &[name.to_string()]].concat();
        match item {
            Item::Mod(module) => {
                self.add(here, &module.ident);
                if let Some((_, items)) = &module.content {
                    self.items(&inside(&module.ident), items);
                }
            }
            Item::Enum(found) => {
                self.add(here, &found.ident);
                let place = format!("enum `{}`", inside(&found.ident).join("::"));
                for variant in &found.variants {
                    self.add(place.clone(), &variant.ident);
                    let path = [inside(&found.ident), vec![variant.ident.to_string()]].concat();
                    self.fields(format!("variant `{}`", path.join("::")), &variant.fields);
                }
            }
            Item::Struct(found) => {
                self.add(here, &found.ident);
                let place = format!("struct `{}`", inside(&found.ident).join("::"));
                self.fields(place, &found.fields);
            }
            Item::Type(found) => self.add(here, &found.ident),
            // A constant without a name only checks something.
            Item::Const(found) if found.ident == "_" => {}
            Item::Const(found) => self.add(here, &found.ident),
            Item::Fn(found) => self.add(here, &found.sig.ident),
            Item::Use(found) => self.used(path, &found.tree),
            Item::Impl(found) if found.trait_.is_none() => {
                let of = [path, &[type_name(&found.self_ty)]].concat().join("::");
                for item in &found.items {
                    let ImplItem::Fn(method) = item else {
                        panic!("{of}: no method")
                    };
                    self.add(format!("methods of `{of}`"), &method.sig.ident);
                }
            }
            // The methods of an implementation have the trait's names; the macros declare nothing but implementations.
            Item::Impl(_) | Item::Macro(_) => {}
            _ => panic!("{here}: an unexpected kind of item"),
        }
    }
}

fn declared(file: &OutputFile) -> Vec<Declared> {
    let parsed =
        syn::parse_file(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path));
    let modules = file.path.strip_suffix(".rs").expect("it is Rust");
    let modules = modules.strip_suffix("mod").unwrap_or(modules);
    let modules = modules.split('/').filter(|module| !module.is_empty());
    let path: Vec<String> = modules.map(str::to_owned).collect();
    let mut finder = Finder(Vec::new());
    finder.items(&path, &parsed.items);
    finder.0
}

#[test]
fn what_rust_declares_is_listed() {
    check(Target::Rust, declared);
}

#[test]
fn declarations_are_found() {
    let text = "pub mod r#type;\npub use super::p::CAPACITY;\npub struct S {\n    pub x: u8,\n}\npub enum E {\n    A(u8),\n    B { x: u8 },\n}\n\
        pub fn init() {\n    let local = 1;\n}\npub mod client {\n    pub struct S(u8);\n    impl S {\n        pub fn go(self) {}\n    }\n\
        impl Clone for S {\n        fn clone(&self) -> S {\n            S(0)\n        }\n    }\n    pub type R = u8;\n}\n";
    let found = shown("a/b.rs", text, declared);
    let expected = [
        "module `a::b` r#type",
        "module `a::b` CAPACITY",
        "module `a::b` S",
        "struct `a::b::S` x",
        "module `a::b` E",
        "enum `a::b::E` A",
        "enum `a::b::E` B",
        "variant `a::b::E::B` x",
        "module `a::b` init",
        "module `a::b` client",
        "module `a::b::client` S",
        "methods of `a::b::client::S` go",
        "module `a::b::client` R",
    ];
    assert_eq!(found, expected);
}
