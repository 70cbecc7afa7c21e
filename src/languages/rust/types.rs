//! The view for the template of a package: its modules and the types that its files declare.

use super::attributes::Additions;
use super::derive::Derivable;
use super::docs::comment;
use super::fields;
use super::layout::{Document, definition, variants};
use super::spelling::{NameScope, type_name, value_name};
use crate::name::Name;
use crate::protocol::{Definition, Docs, Field, TypeId};
use askama::Template;

/// The `mod.rs` of a package.
#[derive(Template)]
#[template(path = "rust/package.rs.jinja")]
pub struct PackageView {
    pub header: String,
    /// Whether it is the module that a program includes, which may not contain inner attributes or inner documentation.
    pub is_root: bool,
    pub docs: String,
    pub modules: Vec<String>,
    pub types: Vec<TypeView>,
}

/// A declared type.
pub struct TypeView {
    docs: String,
    /// Its derives, and the attributes that the user adds.
    attributes: String,
    /// The whole alias, or the text before the members.
    head: String,
    is_alias: bool,
    members: Vec<MemberView>,
    /// The implementation of its encoding, or nothing.
    encoding: String,
}

struct MemberView {
    /// The lines before it: its documentation, and the attributes that the user adds.
    above: String,
    text: String,
}

impl TypeView {
    /// A type that is declared in generated Rust; `None` for one that the host supplies.
    pub fn of(
        id: TypeId,
        scope: NameScope,
        derivable: &Derivable,
        encoding: String,
    ) -> Option<TypeView> {
        let declaration = scope.program.ty(id);
        let name = type_name(&declaration.name);
        let attributes = &scope.options.rust.attributes;
        let added = Additions::of(attributes, scope.program, declaration);
        let (kind, members) = match &declaration.definition {
            Definition::Alias(ty) => {
                return Some(TypeView {
                    docs: comment(0, "///", lines(&declaration.docs)),
                    attributes: String::new(),
                    head: definition(0, &format!("pub type {name}"), &scope.ty(ty, &[])),
                    is_alias: true,
                    members: Vec::new(),
                    encoding,
                });
            }
            Definition::Struct(fields) => {
                let member = |field: &Field| {
                    let head = format!("pub {}", value_name(&field.name));
                    MemberView {
                        above: above(&field.docs, added, &field.name),
                        text: Document::field(head, scope.ty(&field.ty, &[])).laid_out(4, 4, 1),
                    }
                };
                ("struct", fields.iter().map(member).collect())
            }
            Definition::Enum(all) => {
                let all = all.iter().map(|variant| {
                    let types = variant.entries.iter();
                    let types = types.map(|entry| scope.ty(&entry.ty, &[])).collect();
                    let names = fields::of_variant(&variant.entries);
                    let document = Document::variant(type_name(&variant.name), names, types);
                    (above(&variant.docs, added, &variant.name), document)
                });
                let members = variants(all.collect()).into_iter();
                let members = members.map(|(above, text)| MemberView { above, text });
                ("enum", members.collect())
            }
            Definition::Extern(..) | Definition::Undeclared => return None,
        };
        Some(TypeView {
            docs: comment(0, "///", lines(&declaration.docs)),
            attributes: derivable.get(id).attribute(&added.derives()) + &added.on_type(),
            head: format!("pub {kind} {name} {{"),
            is_alias: false,
            members,
            encoding,
        })
    }
}

/// The lines before a field or a variant.
fn above(docs: &Docs, added: Additions, name: &Name) -> String {
    comment(4, "///", lines(docs)) + &added.on_member(name.text())
}

fn lines(docs: &Docs) -> impl Iterator<Item = &str> {
    docs.iter().map(AsRef::as_ref)
}
