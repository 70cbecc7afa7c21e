//! The types of a file as the templates see them: one header, and one source if the runtime needs to know what they consist of.

use super::VERSION;
use super::names::{self, OfType};
use super::protocol::functions;
use super::protocol::functions::{FunctionView, FunctionsView};
use super::protocol::source::{SourceFootView, SourceView};
use super::spelling;
use super::spelling::render;
use super::types::copies::{self, CopyView};
use super::types::ctype::CType;
use super::types::declarations::Declarations;
use super::types::layouts::{Layouts, composite, enumeration};
use super::types::{Types, c_mapping, is_bare};
use super::view::FootView;
use crate::protocol::{Definition, Entry, Field, File, FileId, TypeDeclaration, TypeId, Variant};
use askama::Template;
use std::fmt::Write;

/// The types of one file.
pub struct FileView<'a> {
    types: &'a Types<'a>,
    id: FileId,
    file: &'a File,
}

#[derive(Template)]
#[template(path = "c/types.h.jinja")]
struct HeadView {
    source: String,
    version: &'static str,
    guard: String,
    comment: String,
    has_includes: bool,
    includes: Vec<String>,
}

#[derive(Template)]
#[template(path = "c/struct.h.jinja")]
struct StructView {
    comment: String,
    name: String,
    members: Vec<MemberView>,
}

struct MemberView {
    comment: String,
    text: String,
}

#[derive(Template)]
#[template(path = "c/enum.h.jinja")]
struct EnumView {
    comment: String,
    name: String,
    tag: String,
    has_values: bool,
    variants: Vec<VariantView>,
}

struct VariantView {
    comment: String,
    constant: String,
    name: String,
    has_values: bool,
    members: Vec<String>,
}

/// Whether a file declares types that need declarations in C.
pub fn has_types(types: &Types, file: &File) -> bool {
    file.types
        .iter()
        .any(|id| is_written(types.program.ty(*id)))
}

fn is_written(declared: &TypeDeclaration) -> bool {
    match declared.definition {
        Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => true,
        Definition::Extern(..) => c_mapping(declared).is_some(),
        Definition::Undeclared => false,
    }
}

impl<'a> FileView<'a> {
    /// The view of a file's types.
    pub fn of(types: &'a Types<'a>, id: FileId) -> FileView<'a> {
        FileView {
            types,
            id,
            file: types.program.file(id),
        }
    }

    /// The text of the header.
    pub fn header(&self) -> String {
        let mut declarations = Declarations::new(self.types, Some(self.id), None);
        let mut body = String::new();
        self.externs(&mut declarations, &mut body);
        self.bare_enums(&mut body);
        self.aliases(&mut declarations, &mut body);
        for id in &self.types.order[self.id.index()] {
            self.structs(*id, &mut declarations, &mut body);
        }
        declarations.finish();
        body.push_str(&std::mem::take(&mut declarations.text));
        self.tables(&mut body);
        let functions = self.own().filter_map(|id| self.take(id)).collect();
        render(&FunctionsView { functions }, &mut body);
        self.copies(&declarations, &mut body);

        let header = self.types.header_of(self.id);
        let mut text = String::with_capacity(body.len() + 1_000);
        let head = HeadView {
            source: spelling::harmless(&self.file.path),
            version: VERSION,
            guard: names::types_guard(&header),
            comment: match spelling::comment(&self.file.docs, "") {
                docs if docs.is_empty() => docs,
                docs => docs + "\n",
            },
            has_includes: !declarations.includes.is_empty(),
            includes: declarations.includes.into_iter().collect(),
        };
        render(&head, &mut text);
        text.push_str(&body);
        FootView::write(declarations.protocols, &mut text);
        text
    }

    /// The text of the source; `None` if any bytes are valid values of the types.
    pub fn source(&self) -> Option<String> {
        let mut layouts = Layouts::new(self.types, None);
        let tables: Vec<TypeId> = self.own().filter(|id| self.has_table(*id)).collect();
        if tables.is_empty() {
            return None;
        }
        tables.iter().for_each(|id| self.table(*id, &mut layouts));
        let mut text = String::new();
        let view = SourceView {
            source: spelling::harmless(&self.file.path),
            header: self.types.header_of(self.id),
        };
        render(&view, &mut text);
        text.push_str("\n\n");
        text.push_str(&layouts.text);
        render(&SourceFootView, &mut text);
        text.push('\n');
        Some(text)
    }

    fn own(&self) -> impl Iterator<Item = TypeId> + 'a {
        let types = self.types;
        let own = self.file.types.iter().copied();
        own.filter(move |id| is_written(types.program.ty(*id)))
    }

    fn externs(&self, declarations: &mut Declarations, text: &mut String) {
        for id in self.own() {
            let declared = self.types.program.ty(id);
            if let Some(mapping) = c_mapping(declared) {
                if let Some(from) = &mapping.from {
                    let is_quoted = from.starts_with('<');
                    declarations.includes.insert(if is_quoted {
                        from.clone()
                    } else {
                        format!("\"{from}\"")
                    });
                }
                let docs = spelling::comment(&declared.docs, "");
                let name = self.types.declared_name(id);
                let written = match mapping.name.strip_suffix('*') {
                    Some(target) => format!("{} *", target.trim_end()),
                    None => format!("{} ", mapping.name),
                };
                line(text, &format!("\n\n{docs}typedef {written}{name};"));
            }
        }
    }

    fn bare_enums(&self, text: &mut String) {
        for id in self.own() {
            let declared = self.types.program.ty(id);
            if let Definition::Enum(variants) = &declared.definition
                && is_bare(variants)
            {
                let name = self.types.declared_name(id);
                let declarations = Declarations::new(self.types, None, None);
                self.enumeration(id, declared, variants, &declarations, name, text);
            }
        }
    }

    fn aliases(&self, declarations: &mut Declarations, text: &mut String) {
        for id in self.own() {
            let declared = self.types.program.ty(id);
            if let Definition::Alias(ty) = &declared.definition {
                let target = declarations.mention(&self.types.stored(ty, &declared.lengths));
                text.push_str(&std::mem::take(&mut declarations.text));
                let docs = spelling::comment(&declared.docs, "");
                line(
                    text,
                    &format!(
                        "\n\n{docs}typedef {target} {};",
                        self.types.declared_name(id)
                    ),
                );
            }
        }
    }

    fn structs(&self, id: TypeId, declarations: &mut Declarations, text: &mut String) {
        let declared = self.types.program.ty(id);
        match &declared.definition {
            Definition::Struct(fields) => {
                self.need_parts(id, declarations, text);
                let member = |field: &Field| MemberView {
                    comment: spelling::comment(&field.docs, "    "),
                    text: declarations
                        .member(&spelling::member(field.name.text()), &self.field(field)),
                };
                let mut members: Vec<MemberView> = fields.iter().map(member).collect();
                if members.is_empty() {
                    members.push(MemberView {
                        comment: String::new(),
                        text: "char unused".to_owned(),
                    });
                }
                let view = StructView {
                    comment: spelling::comment(&declared.docs, ""),
                    name: self.types.declared_name(id),
                    members,
                };
                render(&view, text);
            }
            Definition::Enum(variants) if !is_bare(variants) => {
                self.need_parts(id, declarations, text);
                let tag = self.tag_name(id, variants);
                self.enumeration(id, declared, variants, declarations, tag, text);
            }
            Definition::Enum(_)
            | Definition::Alias(_)
            | Definition::Extern(..)
            | Definition::Undeclared => {}
        }
    }

    /// Completes what a declared type consists of.
    fn need_parts(&self, id: TypeId, declarations: &mut Declarations, text: &mut String) {
        let parts = self.types.parts(id);
        parts.iter().for_each(|part| declarations.need(part));
        text.push_str(&std::mem::take(&mut declarations.text));
    }

    fn field(&self, field: &Field) -> CType {
        self.types.stored(&field.ty, &field.lengths)
    }

    fn entry(&self, entry: &Entry) -> CType {
        self.types.stored(&entry.ty, &entry.lengths)
    }

    fn enumeration(
        &self,
        id: TypeId,
        declared: &TypeDeclaration,
        variants: &[Variant],
        declarations: &Declarations,
        tag: String,
        text: &mut String,
    ) {
        let view = |(position, variant): (usize, &Variant)| VariantView {
            comment: spelling::comment(&variant.docs, "    "),
            constant: self.types.of_type(id, OfType::Variant(variant.name.text()))
                + if position == 0 { " = 1" } else { "" },
            name: spelling::member(variant.name.text()),
            has_values: !variant.entries.is_empty(),
            members: variant
                .entries
                .iter()
                .map(|entry| {
                    declarations.member(&spelling::member(entry.name.text()), &self.entry(entry))
                })
                .collect(),
        };
        let view = EnumView {
            comment: spelling::comment(&declared.docs, ""),
            name: self.types.declared_name(id),
            tag: tag.clone(),
            has_values: !is_bare(variants),
            variants: variants.iter().enumerate().map(view).collect(),
        };
        render(&view, text);
        functions::of_variants(self.types, id, variants, &tag, text);
    }

    /// Whether the runtime needs to know what values of the type consist of.
    fn has_table(&self, id: TypeId) -> bool {
        let is_alias = matches!(self.types.program.ty(id).definition, Definition::Alias(_));
        !is_alias && !self.types.facts(&CType::Named(id)).is_any_bytes()
    }

    fn tables(&self, text: &mut String) {
        let tables: Vec<TypeId> = self.own().filter(|id| self.has_table(*id)).collect();
        if !tables.is_empty() {
            text.push('\n');
        }
        for id in tables {
            line(
                text,
                &format!(
                    "\nextern const duo_type {};",
                    self.types.of_type(id, OfType::Layout)
                ),
            );
        }
    }

    fn table(&self, id: TypeId, layouts: &mut Layouts) {
        let declared = self.types.program.ty(id);
        let name = self.types.declared_name(id);
        let layout = self.types.of_type(id, OfType::Layout);
        let facts = self.types.facts(&CType::Named(id));
        let mut fields = Vec::new();
        match &declared.definition {
            Definition::Struct(members) => {
                for field in members {
                    if let Some(layout) = layouts.of(&self.field(field)) {
                        let member = spelling::member(field.name.text());
                        fields.push((
                            layout,
                            format!("offsetof({name}, {member})"),
                            "0".to_owned(),
                        ));
                    }
                }
            }
            Definition::Enum(variants) => {
                for variant in variants {
                    let tag = self.types.of_type(id, OfType::Variant(variant.name.text()));
                    let variant_member = spelling::member(variant.name.text());
                    for entry in &variant.entries {
                        if let Some(layout) = layouts.of(&self.entry(entry)) {
                            let member = spelling::member(entry.name.text());
                            fields.push((
                                layout,
                                format!("offsetof({name}, as.{variant_member}.{member})"),
                                tag.clone(),
                            ));
                        }
                    }
                }
            }
            Definition::Extern(..) => {
                let Some(drop) = self.types.drop_of(id) else {
                    return;
                };
                let destroy = self.types.of_type(id, OfType::Drop);
                let head = format!("static void {destroy}(void *place)");
                let text = format!("{head}\n{{\n    {drop}(*({name} *)place);\n}}\n");
                layouts.text.push_str(&text);
                let parts = vec![format!("sizeof({name})"), destroy];
                let table = ("DUO_EXTERN_TYPE", parts);
                layouts.define("", &layout, &table);
                return;
            }
            Definition::Alias(_) | Definition::Undeclared => return,
        }
        let has_fields = !fields.is_empty();
        let name = self.types.of_type(id, OfType::Fields);
        if has_fields {
            layouts.fields(&name, &fields);
        }
        let table = match &declared.definition {
            Definition::Enum(variants) => {
                let tag = self.tag_name(id, variants);
                let fields = has_fields.then_some(name);
                enumeration(facts, &tag, variants.len(), fields)
            }
            Definition::Struct(_)
            | Definition::Alias(_)
            | Definition::Extern(..)
            | Definition::Undeclared => composite("DUO_STRUCT", facts, name),
        };
        layouts.define("", &layout, &table);
    }

    /// The C type of the tag of an enum.
    fn tag_name(&self, id: TypeId, variants: &[Variant]) -> String {
        if is_bare(variants) {
            self.types.declared_name(id)
        } else {
            self.types.of_type(id, OfType::Tag)
        }
    }

    /// The function that takes a host value out of a received message, so that freeing the message does not destroy it.
    fn take(&self, id: TypeId) -> Option<FunctionView> {
        self.types.drop_of(id)?;
        let name = self.types.declared_name(id);
        let take = self.types.of_type(id, OfType::Take);
        let start = format!("DUO_API {name} {take}");
        Some(FunctionView {
            comment: String::new(),
            head: spelling::head(&start, &[format!("{name} *place")]),
            body: vec![
                format!("    {name} taken = *place;"),
                "    memset(place, 0, sizeof *place);".to_owned(),
                "    return taken;".to_owned(),
            ],
        })
    }

    /// Writes the functions that copy values of which parts are stored outside.
    fn copies(&self, declarations: &Declarations, text: &mut String) {
        let is_copied =
            |id: &TypeId| self.has_table(*id) && copies::is_copied(self.types, &CType::Named(*id));
        let copies = self.own().filter(is_copied).map(|id| CopyView {
            name: self.types.declared_name(id),
            copy: self.types.of_type(id, OfType::Copy),
            layout: self.types.of_type(id, OfType::Layout),
        });
        copies::of_declared(copies.collect(), text);
        copies::of_inner(self.types, &declarations.inner, None, text);
    }
}

fn line(text: &mut String, line: &str) {
    text.write_str(line).expect("string writes cannot fail");
}
