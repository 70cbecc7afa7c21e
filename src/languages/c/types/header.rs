//! The types of a file as the templates see them: one header, and one source if the runtime needs to know what they consist of.

use super::copies::{self, Copy};
use super::declarations::{Declarations, Item, Member, Variant};
use super::layouts::{Content, Layouts, Place, Table};
use super::{Types, is_bare};
use crate::languages::c::VERSION;
use crate::languages::c::ctype::CType;
use crate::languages::c::names::spelling;
use crate::protocol::{self, Definition, Entry, Field, File, FileId, TypeDeclaration, TypeId};
use askama::Template;

/// The types of one file.
pub struct FileTypes<'a> {
    types: &'a Types<'a>,
    id: FileId,
    file: &'a File,
}

#[derive(Template)]
#[template(path = "c/types.h.jinja")]
struct HeaderView {
    source: String,
    version: &'static str,
    /// The name of the header in a macro.
    upper: String,
    docs: Vec<String>,
    includes: Vec<String>,
    items: Vec<Item>,
    /// The words of types with tables, of those with a function that takes them, and of those with one that copies them.
    tables: Vec<String>,
    takes: Vec<String>,
    copies: Vec<String>,
    inner: Vec<Copy>,
    protocols: Vec<String>,
}

#[derive(Template)]
#[template(path = "c/types.c.jinja")]
struct SourceView {
    source: String,
    header: String,
    tables: Vec<Table>,
}

/// Whether a file declares types that need declarations in C.
pub fn has_types(types: &Types, file: &File) -> bool {
    file.types
        .iter()
        .any(|id| is_written(types.program.ty(*id)))
}

fn is_written(declared: &TypeDeclaration) -> bool {
    !declared.is_host(super::super::WORD)
}

impl<'a> FileTypes<'a> {
    /// The types of a file.
    pub fn of(types: &'a Types<'a>, id: FileId) -> FileTypes<'a> {
        FileTypes {
            types,
            id,
            file: types.program.file(id),
        }
    }

    /// The text of the header.
    pub fn header(&self) -> String {
        let types = self.types;
        let mut declarations = Declarations::new(types, Some(self.id), None);
        for id in self.own() {
            self.extern_type(id, &mut declarations);
        }
        for id in self.own() {
            self.enumeration(id, true, &mut declarations);
        }
        for id in self.own() {
            self.alias(id, &mut declarations);
        }
        for id in &types.order[self.id.index()] {
            self.structure(*id, &mut declarations);
            self.enumeration(*id, false, &mut declarations);
        }
        declarations.finish();
        let is_copied =
            |id: &TypeId| self.has_table(*id) && copies::is_copied(types, &CType::Named(*id));
        let words = |ids: &mut dyn Iterator<Item = TypeId>| {
            ids.map(|id| types.declared_word(id)).collect::<Vec<_>>()
        };
        spelling::rendered(&HeaderView {
            source: spelling::harmless(&self.file.path),
            version: VERSION,
            upper: types.header_of(self.id).to_ascii_uppercase(),
            docs: spelling::docs(&self.file.docs),
            includes: declarations.includes.into_iter().collect(),
            items: declarations.items,
            tables: words(&mut self.own().filter(|id| self.has_table(*id))),
            takes: words(&mut self.own().filter(|id| types.drop_of(*id).is_some())),
            copies: words(&mut self.own().filter(is_copied)),
            inner: copies::of_inner(types, &declarations.inner, None),
            protocols: declarations.protocols.into_iter().collect(),
        })
    }

    /// The text of the source; `None` if any bytes are valid values of the types.
    pub fn source(&self) -> Option<String> {
        let mut layouts = Layouts::new(self.types, None);
        let tables = self.own().filter(|id| self.has_table(*id));
        tables.for_each(|id| layouts.declared(id));
        if layouts.tables.is_empty() {
            return None;
        }
        Some(spelling::rendered(&SourceView {
            source: spelling::harmless(&self.file.path),
            header: self.types.header_of(self.id),
            tables: layouts.tables,
        }))
    }

    fn own(&self) -> impl Iterator<Item = TypeId> + 'a {
        let types = self.types;
        let own = self.file.types.iter().copied();
        own.filter(move |id| is_written(types.program.ty(*id)))
    }

    fn extern_type(&self, id: TypeId, declarations: &mut Declarations) {
        let declared = self.types.program.ty(id);
        let Some(mapping) = declared.mapping(super::super::WORD) else {
            return;
        };
        if let Some(from) = &mapping.from {
            let is_quoted = from.starts_with('<');
            declarations.includes.insert(if is_quoted {
                from.clone()
            } else {
                format!("\"{from}\"")
            });
        }
        let name = self.types.declared_name(id);
        let (target, name) = match mapping.name.strip_suffix('*') {
            Some(target) => (target.trim_end(), format!("*{name}")),
            None => (mapping.name.as_str(), name),
        };
        declarations.items.push(Item::Alias {
            docs: spelling::docs(&declared.docs),
            target: target.to_owned(),
            name,
        });
    }

    fn alias(&self, id: TypeId, declarations: &mut Declarations) {
        let declared = self.types.program.ty(id);
        if let Definition::Alias(ty) = &declared.definition {
            let target = declarations.mention(&self.types.stored(ty, &declared.lengths));
            declarations.items.push(Item::Alias {
                docs: spelling::docs(&declared.docs),
                target,
                name: self.types.declared_name(id),
            });
        }
    }

    fn structure(&self, id: TypeId, declarations: &mut Declarations) {
        let declared = self.types.program.ty(id);
        if let Definition::Struct(fields) = &declared.definition {
            self.need_parts(id, declarations);
            let member = |field: &Field| Member {
                docs: spelling::docs(&field.docs),
                ty: self.name(&self.types.stored(&field.ty, &field.lengths)),
                name: spelling::member(field.name.text()),
            };
            declarations.items.push(Item::Struct {
                docs: spelling::docs(&declared.docs),
                word: self.types.declared_word(id),
                members: fields.iter().map(member).collect(),
            });
        }
    }

    /// Those without values come first, because all others may have them.
    fn enumeration(&self, id: TypeId, without_values: bool, declarations: &mut Declarations) {
        let declared = self.types.program.ty(id);
        if let Definition::Enum(variants) = &declared.definition
            && is_bare(variants) == without_values
        {
            self.need_parts(id, declarations);
            declarations.items.push(Item::Enum {
                docs: spelling::docs(&declared.docs),
                word: self.types.declared_word(id),
                is_bare: without_values,
                variants: variants
                    .iter()
                    .map(|variant| self.variant(id, variant))
                    .collect(),
            });
        }
    }

    fn variant(&self, id: TypeId, variant: &protocol::Variant) -> Variant {
        let name = variant.name.text();
        let member = |entry: &Entry| Member {
            docs: Vec::new(),
            ty: self.name(&self.types.stored(&entry.ty, &entry.lengths)),
            name: spelling::member(entry.name.text()),
        };
        Variant {
            docs: spelling::docs(&variant.docs),
            text: name.to_owned(),
            constant: self.types.variant(id, name),
            member: spelling::member(name),
            members: variant.entries.iter().map(member).collect(),
        }
    }

    fn name(&self, ty: &CType) -> String {
        self.types.name(ty, None)
    }

    /// Completes what a declared type consists of.
    fn need_parts(&self, id: TypeId, declarations: &mut Declarations) {
        let parts = self.types.parts(id);
        parts.iter().for_each(|part| declarations.need(part));
    }

    /// Whether the runtime needs to know what values of the type consist of.
    fn has_table(&self, id: TypeId) -> bool {
        let is_alias = matches!(self.types.program.ty(id).definition, Definition::Alias(_));
        !is_alias && !self.types.facts(&CType::Named(id)).is_any_bytes()
    }
}
