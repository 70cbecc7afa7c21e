//! The module of a package, as the templates see it: its modules and the types that its files declare.

use super::attributes::Additions;
use super::derive::Derivable;
use super::docs::Docs;
use super::names::fields;
use super::names::spelling::{NameScope, type_name, value_name};
use super::remote::Remotes;
use crate::protocol::{Definition, Entry, Field, Lengths, Type, TypeId, Variant};
use askama::Template;

/// The `mod.rs` of a package.
#[derive(Template)]
#[template(path = "rust/package.rs.jinja")]
pub struct PackageView {
    pub source: String,
    /// The name; empty for the module that a program includes, which may not contain inner attributes or inner documentation.
    pub name: String,
    pub modules: Vec<String>,
    pub types: Vec<TypeView>,
}

/// A declared type.
pub struct TypeView {
    name: String,
    docs: Docs,
    derives: Vec<String>,
    /// The attributes that the user adds.
    attributes: Vec<String>,
    definition: DefinitionView,
    has_encoding: bool,
}

enum DefinitionView {
    Alias(String),
    Struct(Vec<FieldView>),
    Enum(Vec<VariantView>),
}

struct FieldView {
    name: String,
    docs: Docs,
    attributes: Vec<String>,
    ty: String,
    /// How it is encoded, if it has bounds.
    coding: Option<String>,
}

struct VariantView {
    name: String,
    docs: Docs,
    attributes: Vec<String>,
    /// Whether its fields have names; otherwise these are positions.
    is_named: bool,
    fields: Vec<FieldView>,
}

impl TypeView {
    /// A type that is declared in generated Rust; `None` for one that the host supplies.
    pub fn of(
        id: TypeId,
        scope: NameScope,
        derivable: &Derivable,
        remotes: &Remotes,
    ) -> Option<TypeView> {
        let declaration = scope.program.ty(id);
        let added = Additions::of(&scope.options.rust.attributes, scope.program, declaration);
        let field = |name: String, ty: &Type, lengths: &Lengths| FieldView {
            name,
            docs: Docs::of_item(&[]),
            attributes: Vec::new(),
            ty: scope.ty(ty, &[]),
            coding: remotes.coding(scope.program, ty, lengths),
        };
        let of_struct = |own: &Field| FieldView {
            docs: Docs::of_item(&own.docs),
            attributes: added.on_member(own.name.text()),
            ..field(value_name(&own.name), &own.ty, &own.lengths)
        };
        let variant = |variant: &Variant| {
            let names = fields::of_variant(&variant.entries);
            let name = |at: usize| {
                names
                    .as_ref()
                    .map_or(at.to_string(), |names| names[at].clone())
            };
            let entries = variant.entries.iter().enumerate();
            let fields = entries
                .map(|(at, entry): (usize, &Entry)| field(name(at), &entry.ty, &entry.lengths));
            VariantView {
                name: type_name(&variant.name),
                docs: Docs::of_item(&variant.docs),
                attributes: added.on_member(variant.name.text()),
                fields: fields.collect(),
                is_named: names.is_some(),
            }
        };
        let definition = match &declaration.definition {
            Definition::Alias(ty) => DefinitionView::Alias(scope.ty(ty, &[])),
            Definition::Struct(fields) => {
                DefinitionView::Struct(fields.iter().map(of_struct).collect())
            }
            Definition::Enum(variants) => {
                DefinitionView::Enum(variants.iter().map(variant).collect())
            }
            Definition::Extern(..) => return None,
        };
        let is_alias = matches!(definition, DefinitionView::Alias(_));
        let (mut derives, mut attributes) = (Vec::new(), Vec::new());
        if !is_alias {
            derives.extend(derivable.get(id).names().map(str::to_owned));
            derives.extend(added.derives().into_iter().map(str::to_owned));
            attributes = added.on_type();
        }
        Some(TypeView {
            name: type_name(&declaration.name),
            docs: Docs::of_item(&declaration.docs),
            derives,
            attributes,
            definition,
            has_encoding: !is_alias && remotes.has_encoding(id),
        })
    }
}
