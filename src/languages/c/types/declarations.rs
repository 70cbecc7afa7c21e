//! The types that a header needs, each declared before it is used, and the headers it includes for them.

use super::{Types, host_file};
use crate::languages::c::ctype::{Bytes, CType};
use crate::languages::c::names::{self, spelling};
use crate::protocol::{Definition, EndpointType, FileId, TypeId};
use std::collections::BTreeSet;

/// A declaration.
pub enum Item {
    /// The second name of a type of the host program.
    Host { written: String, name: String },
    /// A struct that several headers may define identically; the first one that is included defines it.
    Shared { name: String, members: Vec<Member> },
    /// The same for text, bytes or a list of at most `most` items that are stored inline, with the functions that fill them and show
    /// what is in them. Lists have no view.
    Inline {
        word: String,
        item: String,
        most: u16,
        is_text: bool,
        view: Option<&'static str>,
    },
    /// Another name of a type.
    Alias {
        docs: Vec<String>,
        target: String,
        name: String,
    },
    Struct {
        docs: Vec<String>,
        word: String,
        members: Vec<Member>,
    },
    /// An enum, of which C has only the tag if no variant has values.
    Enum {
        docs: Vec<String>,
        word: String,
        is_bare: bool,
        variants: Vec<Variant>,
    },
}

pub struct Member {
    pub docs: Vec<String>,
    pub ty: String,
    pub name: String,
}

impl Member {
    fn of(ty: impl Into<String>, name: &str) -> Member {
        Member {
            docs: Vec::new(),
            ty: ty.into(),
            name: name.to_owned(),
        }
    }
}

pub struct Variant {
    pub docs: Vec<String>,
    pub text: String,
    pub constant: String,
    pub member: String,
    pub members: Vec<Member>,
}

/// Collects what one header needs.
pub struct Declarations<'a> {
    types: &'a Types<'a>,
    /// The file whose types the header itself declares.
    own_file: Option<FileId>,
    /// The unit the header is for.
    unit: Option<usize>,
    done: BTreeSet<String>,
    /// The lists, options and tuples among them.
    pub inner: Vec<CType>,
    later: Vec<CType>,
    /// Structs for lists, options, tuples and endpoints of other protocols.
    pub items: Vec<Item>,
    /// What has to be included first, as written after `#include`.
    pub includes: BTreeSet<String>,
    /// The headers of protocols whose endpoints are used, which declare the operations on them.
    pub protocols: BTreeSet<String>,
}

impl<'a> Declarations<'a> {
    /// For a header that declares the types of `own_file`, or the one of `unit`.
    pub fn new(
        types: &'a Types<'a>,
        own_file: Option<FileId>,
        unit: Option<usize>,
    ) -> Declarations<'a> {
        Declarations {
            types,
            own_file,
            unit,
            done: BTreeSet::new(),
            inner: Vec::new(),
            later: Vec::new(),
            items: Vec::new(),
            includes: BTreeSet::new(),
            protocols: BTreeSet::new(),
        }
    }

    /// Completes a type, so that a value of it can be a member.
    pub fn need(&mut self, ty: &CType) {
        match ty {
            CType::Builtin(_) | CType::Parameter(_) => {}
            CType::Inline(bytes, most) => {
                if self.is_new(ty) {
                    self.define_inline(ty, bytes.item().to_owned(), *most, Some(*bytes));
                }
            }
            CType::Named(id) => self.need_declared(*id),
            CType::List(item) => self.need_list(ty, item),
            CType::Array(item, most) => {
                if self.is_new(ty) {
                    self.need(item);
                    self.define_inline(ty, self.types.name(item, self.unit), *most, None);
                }
            }
            CType::Option(item) => {
                if self.is_new(ty) {
                    self.need(item);
                    let item = self.types.name(item, self.unit);
                    self.define(
                        ty,
                        vec![Member::of("bool", "some"), Member::of(item, "value")],
                    );
                }
            }
            CType::Tuple(items) => {
                if self.is_new(ty) {
                    items.iter().for_each(|item| self.need(item));
                    let member = |(position, item)| {
                        Member::of(self.types.name(item, self.unit), &format!("v{position}"))
                    };
                    let members = items.iter().enumerate().map(member).collect();
                    self.define(ty, members);
                }
            }
            CType::Endpoint(endpoint) => self.need_endpoint(endpoint),
        }
    }

    /// Completes the types that have only been named so far.
    pub fn finish(&mut self) {
        while let Some(ty) = self.later.pop() {
            self.need(&ty);
        }
    }

    /// Names a type so that a pointer to it or an alias for it can be declared.
    pub fn mention(&mut self, ty: &CType) -> String {
        let ty = self.types.underlying(ty).clone();
        let name = self.types.name(&ty, self.unit);
        if !self.types.is_struct(&ty) {
            self.need(&ty);
            return name;
        }
        self.later.push(ty);
        format!("struct {name}")
    }

    fn need_declared(&mut self, id: TypeId) {
        let types = self.types;
        let declared = types.program.ty(id);
        match &declared.definition {
            Definition::Alias(_) => {
                self.include_types_of(declared.file);
                let target = types.underlying(&CType::Named(id)).clone();
                if target != CType::Named(id) {
                    self.need(&target);
                }
            }
            Definition::Struct(_) | Definition::Enum(_) => self.include_types_of(declared.file),
            Definition::Extern(..) if !declared.is_host(super::super::WORD) => {
                self.include_types_of(declared.file)
            }
            Definition::Extern(..) => {
                let host = host_file(types.program, declared.file);
                self.includes.insert(format!("\"{host}.h\""));
                let name = types.declared_name(id);
                if self.done.insert(name.clone()) {
                    let written = spelling::host(declared.name.text());
                    self.items.push(Item::Host { written, name });
                }
            }
        }
    }

    fn include_types_of(&mut self, file: FileId) {
        if self.own_file != Some(file) {
            let header = self.types.header_of(file);
            self.includes.insert(format!("\"{header}.h\""));
        }
    }

    fn need_list(&mut self, ty: &CType, item: &CType) {
        if !self.is_new(ty) {
            return;
        }
        // A list only points to its items, so it may be declared before them. This is how a type can contain itself.
        let qualifier = if self.types.facts(item).moves {
            ""
        } else {
            "const "
        };
        let program = self.types.program;
        let item = if let CType::Named(id) = item
            && program.ty(*id).definition.alias().is_some()
        {
            // The header that declares the alias completes its target once the parts of the target are complete.
            self.include_types_of(program.ty(*id).file);
            let target = self.types.underlying(item).clone();
            self.later.push(target);
            self.types.declared_name(*id)
        } else {
            self.mention(item)
        };
        let data = Member::of(format!("{qualifier}{item}"), "*data");
        self.define(ty, vec![data, Member::of("size_t", "size")]);
    }

    fn need_endpoint(&mut self, endpoint: &EndpointType) {
        let Some(id) = self.types.unit_state(endpoint, self.unit) else {
            return;
        };
        if self.unit == Some(id.unit) {
            return;
        }
        let (unit, _) = self.types.units.at(id);
        self.protocols.insert(unit.file_name.clone());
        let name = self
            .types
            .name(&CType::Endpoint(Box::new(endpoint.clone())), self.unit);
        if self.done.insert(name.clone()) {
            let protocol = self.types.program.protocol(endpoint.protocol);
            let direction = protocol.state(endpoint.state).direction;
            let handle = names::handle(direction, endpoint.side);
            let members = vec![Member::of("duo_endpoint", handle)];
            self.items.push(Item::Shared { name, members });
        }
    }

    fn is_new(&mut self, ty: &CType) -> bool {
        let is_new = self.done.insert(self.types.name(ty, self.unit));
        if is_new {
            self.inner.push(ty.clone());
        }
        is_new
    }

    fn define(&mut self, ty: &CType, members: Vec<Member>) {
        let name = self.types.name(ty, self.unit);
        self.items.push(Item::Shared { name, members });
    }

    fn define_inline(&mut self, ty: &CType, item: String, most: u16, view: Option<Bytes>) {
        self.items.push(Item::Inline {
            word: self.types.words(ty, self.unit),
            item,
            most,
            is_text: view == Some(Bytes::Text),
            view: view.map(Bytes::view),
        });
    }
}
