//! Payload types and type declarations.

use super::{Context, Lookup, Resolver, callees, declare, duplicates};
use crate::diagnostic::{Diagnostic, quoted};
use crate::name::{Name, nearest};
use crate::protocol::{
    Bound, Builtin, Definition, Entry, Field, FileId, Language, Lengths, Mapping, Mappings,
    Referent, Type, TypeDeclaration, TypeId, Variant,
};
use crate::source::Span;
use crate::syntax::ast::{self, ItemKind, TypeKind};
use crate::syntax::mistakes::types::{LISTS, OPTIONS};
use std::collections::{BTreeMap, HashMap, HashSet};

impl Resolver {
    pub(super) fn definition(&mut self, file: FileId, id: TypeId, kind: ItemKind) -> Definition {
        match kind {
            ItemKind::Alias(ty) => Definition::Alias(self.ty(file, Context::default(), &ty)),
            ItemKind::Struct(fields) => {
                duplicates(
                    fields.iter().map(|field| &field.name),
                    "fields",
                    &mut self.diagnostics,
                );
                let names = fields.iter().map(|field| &field.name);
                declare::declare_parts(self, names, |at| Referent::Field(id, at));
                let fields = fields.into_iter().map(|field| Field {
                    ty: self.ty(file, Context::default(), &field.ty),
                    lengths: lengths(&field.ty),
                    ty_span: field.ty.span,
                    name: field.name,
                    docs: field.docs,
                });
                Definition::Struct(fields.collect())
            }
            ItemKind::Enum(variants) => {
                duplicates(
                    variants.iter().map(|variant| &variant.name),
                    "variants",
                    &mut self.diagnostics,
                );
                let names = variants.iter().map(|variant| &variant.name);
                declare::declare_parts(self, names, |at| Referent::Variant(id, at));
                let variants = (0..).zip(variants).map(|(at, variant)| Variant {
                    entries: self.entries(file, Context::default(), variant.entries, |value| {
                        Referent::Value(id, at, value)
                    }),
                    name: variant.name,
                    docs: variant.docs,
                });
                Definition::Enum(variants.collect())
            }
            ItemKind::ExternType(bounds, mappings) => {
                let bounds = bounds
                    .iter()
                    .filter_map(|bound| self.bound(file, bound))
                    .collect();
                Definition::Extern(Box::new(self.mappings(mappings)), bounds)
            }
            ItemKind::ExternBound(_) | ItemKind::Instance(..) | ItemKind::Protocol(_) => {
                unreachable!("these declare no type")
            }
        }
    }

    pub(super) fn mappings(&mut self, lines: Vec<ast::Mapping>) -> Mappings {
        duplicates(
            lines.iter().map(|line| &line.target),
            "lines for the target",
            &mut self.diagnostics,
        );
        let mut mappings = Mappings::default();
        for line in lines {
            let language = Language::named(line.target.text());
            let referent = language.map(|language| Referent::Language(language.word));
            self.used(line.target.span, referent.unwrap_or(Referent::Unknown));
            // The parser has reported words that name no language.
            if let Some(language) = language {
                let mapping = Mapping {
                    name: line.name,
                    from: line.from,
                    drop: line.drop,
                    span: line.span,
                };
                mappings.set(language, mapping);
            }
        }
        mappings
    }

    /// Resolves a list of values and gives the unnamed ones their names.
    pub(super) fn entries(
        &mut self,
        file: FileId,
        context: Context<'_>,
        entries: Vec<ast::Entry>,
        referent: impl Fn(u32) -> Referent,
    ) -> Vec<Entry> {
        let written = entries.iter().filter_map(|entry| entry.name.as_ref());
        let has_two = entries.len() > 1;
        if has_two {
            duplicates(written, "payload entries", &mut self.diagnostics);
        }
        let mut resolved: Vec<Entry> = Vec::with_capacity(entries.len());
        for (at, entry) in (0..).zip(entries) {
            let ty = self.ty(file, context, &entry.ty);
            if let Some(name) = &entry.name {
                self.declared(name.span, referent(at));
            }
            let is_derived = entry.name.is_none();
            let name = entry.name.unwrap_or_else(|| {
                let derived = if let Type::Named(id) = &ty {
                    self.program.ty(*id).name.text()
                } else {
                    "value"
                };
                Name::new(derived, entry.ty.span)
            });
            resolved.push(Entry {
                name,
                is_derived,
                ty,
                lengths: lengths(&entry.ty),
                ty_span: entry.ty.span,
            });
        }
        if has_two {
            number(&mut resolved);
        }
        resolved
    }

    pub(super) fn bound(&mut self, file: FileId, name: &Name) -> Option<Bound> {
        let bound = self.bound_named(file, name);
        let referent = match bound {
            Some(Bound::Extern(id)) => Referent::Bound(id),
            Some(builtin) => Referent::BuiltinBound(builtin),
            None => Referent::Unknown,
        };
        self.used(name.span, referent);
        bound
    }

    fn bound_named(&mut self, file: FileId, name: &Name) -> Option<Bound> {
        if let Some(builtin) = Bound::named(name.text()) {
            return Some(builtin);
        }
        match self.look_up(file, |names| names.bounds.get(name.text()).copied()) {
            Lookup::One(id) => Some(Bound::Extern(id)),
            Lookup::Several(one, other) => {
                let places = [one, other].map(|id| self.program.bound(id).name.span);
                self.ambiguous(name, places);
                None
            }
            Lookup::None => {
                if !self.may_be_declared(file, name.text()) {
                    let words = Bound::BUILTINS.map(|(word, _)| word);
                    let error = Diagnostic::error(
                        "unknown-bound",
                        name.span,
                        format!("there is no bound `{name}`"),
                    );
                    let otherwise = format!(
                        "the bounds are {}; `extern bound {name};` declares another",
                        quoted(words)
                    );
                    let near = nearest(name.text(), words);
                    let error = error.did_you_mean(name.span, near, otherwise);
                    self.report(error);
                }
                None
            }
        }
    }

    pub(super) fn ambiguous(&mut self, name: &Name, [one, other]: [Span; 2]) {
        let error = Diagnostic::error(
            "duplicate-name",
            name.span,
            format!("two imported files declare `{name}`"),
        )
        .label("it is unclear which one is meant")
        .related(one, "one is declared here")
        .related(other, "the other is declared here")
        .help("rename one of them, or import only one of the files");
        self.report(error);
    }

    pub(super) fn ty(&mut self, file: FileId, context: Context<'_>, ty: &ast::Type) -> Type {
        match &ty.kind {
            TypeKind::List(item) => Type::List(Box::new(self.ty(file, context, item))),
            TypeKind::Option(item) => Type::Option(Box::new(self.ty(file, context, item))),
            TypeKind::Tuple(items) => Type::Tuple(self.types(file, context, items)),
            TypeKind::Error => Type::Error,
            TypeKind::Path(names, arguments) => match names.as_slice() {
                [name] => {
                    let resolved = self.named(file, context, name, arguments, ty.span);
                    self.bounded(name, ty, &resolved);
                    resolved
                }
                _ if ty.most.is_some() => {
                    self.report(boundless(ty, "an endpoint"));
                    self.unknown(names);
                    Type::Error
                }
                [protocol, side, state] => callees::endpoint(
                    self,
                    file,
                    context,
                    [protocol, side, state],
                    arguments,
                    ty.span,
                ),
                [protocol, second] => {
                    callees::incomplete_endpoint(self, file, protocol, second, ty.span)
                }
                _ => {
                    let text = "an endpoint has three parts: a protocol, a side and a state";
                    let error = Diagnostic::error("unknown-side", ty.span, text);
                    self.report(error.help(
                        "write `protocol::client::state` or `protocol::server::state`, without the package",
                    ));
                    self.unknown(names);
                    Type::Error
                }
            },
        }
    }

    /// Records names that refer to nothing.
    pub(super) fn unknown<'n>(&mut self, names: impl IntoIterator<Item = &'n Name>) {
        for name in names {
            self.used(name.span, Referent::Unknown);
        }
    }

    /// Reports a bound after the name of anything but a built-in type that has a length.
    fn bounded(&mut self, name: &Name, written: &ast::Type, resolved: &Type) {
        let takes_one = matches!(
            resolved,
            Type::Builtin(Builtin::Str | Builtin::Bytes) | Type::Error
        );
        if written.most.is_some() && !takes_one {
            self.report(boundless(written, &format!("`{name}`")));
        }
    }

    /// Types that become the arguments of type parameters. They have no bounds: what a state does with its parameter is generated
    /// once, for all arguments.
    pub(super) fn arguments(
        &mut self,
        file: FileId,
        context: Context<'_>,
        types: &[ast::Type],
    ) -> Vec<Type> {
        for ty in types {
            if let Some(limit) = lengths(ty).first() {
                let text = "a type argument cannot have a bound";
                let error = Diagnostic::error("unusable-limit", limit.span, text);
                let error =
                    error.note("a state with type parameters is generated once, for all arguments");
                self.report(error.help(
                    "write the type without the bound, and limit the messages with `#[at_most(...)]`",
                ));
            }
        }
        self.types(file, context, types)
    }

    pub(super) fn types(
        &mut self,
        file: FileId,
        context: Context<'_>,
        types: &[ast::Type],
    ) -> Vec<Type> {
        types.iter().map(|ty| self.ty(file, context, ty)).collect()
    }

    fn named(
        &mut self,
        file: FileId,
        context: Context<'_>,
        name: &Name,
        arguments: &[ast::Type],
        span: Span,
    ) -> Type {
        let ty = self.type_named(file, context, name, arguments, span);
        let referent = match (&ty, context.state) {
            (Type::Named(id), _) => Referent::Type(*id),
            (Type::Builtin(builtin), _) => Referent::Builtin(*builtin),
            (Type::Parameter(at), Some((protocol, state))) => {
                Referent::Parameter(protocol, state, *at)
            }
            _ => Referent::Unknown,
        };
        self.used(name.span, referent);
        ty
    }

    fn type_named(
        &mut self,
        file: FileId,
        context: Context<'_>,
        name: &Name,
        arguments: &[ast::Type],
        span: Span,
    ) -> Type {
        if !arguments.is_empty() {
            let is_protocol = matches!(callees::callee(self, file, name), Lookup::One(_));
            self.report(with_arguments(name, arguments, span, is_protocol));
            return Type::Error;
        }
        let mut parameters = context.parameters.iter();
        let parameter = parameters.position(|parameter| parameter.name.text() == name.text());
        if let Some(index) = parameter {
            return Type::Parameter(u32::try_from(index).expect("few parameters"));
        }
        match self.look_up(file, |names| names.types.get(name.text()).copied()) {
            Lookup::One(id) => Type::Named(id),
            Lookup::Several(one, other) => {
                let places = [one, other].map(|id| self.program.ty(id).name.span);
                self.ambiguous(name, places);
                Type::Error
            }
            Lookup::None => match Builtin::named(name.text()) {
                Some(builtin) => Type::Builtin(builtin),
                None if self.may_be_declared(file, name.text()) => Type::Error,
                None => Type::Named(self.undeclared(file, name)),
            },
        }
    }

    /// The external type for an undeclared name: one for each package and name.
    fn undeclared(&mut self, file: FileId, name: &Name) -> TypeId {
        let key = (self.files[file.index()].package.clone(), name.text().into());
        let types = &mut self.program.types;
        *self.undeclared.entry(key).or_insert_with(|| {
            types.push(TypeDeclaration {
                name: name.clone(),
                file,
                docs: Vec::new(),
                levels: Vec::new(),
                definition: Definition::Extern(Box::default(), Vec::new()),
                is_declared: false,
                lengths: Lengths::default(),
                ty_span: name.span,
            });
            TypeId::new(types.len() - 1)
        })
    }
}

/// The bounds in a type as it is written. Recurses as deeply as the type is written.
pub(super) fn lengths(ty: &ast::Type) -> Lengths {
    let all = |types: &[ast::Type]| {
        let parts: Vec<Lengths> = types.iter().map(lengths).collect();
        match parts.iter().all(Lengths::is_none) {
            true => Vec::new(),
            false => parts,
        }
    };
    let parts = match &ty.kind {
        TypeKind::List(item) | TypeKind::Option(item) => all(std::slice::from_ref(item)),
        TypeKind::Tuple(items) => all(items),
        TypeKind::Path(..) | TypeKind::Error => Vec::new(),
    };
    Lengths {
        most: ty.most,
        parts,
    }
}

/// A bound on a type that has no length.
fn boundless(ty: &ast::Type, what: &str) -> Diagnostic {
    let at = ty.most.map_or(ty.span, |limit| limit.span);
    let text = format!("{what} takes no bound");
    Diagnostic::error("unusable-limit", at, text)
        .note("`str<N>`, `bytes<N>` and `[T; N]` have bounds: at most N bytes, or N items")
        .help("remove the bound, or write it where the type is declared")
}

/// Type arguments after the name of something that has none: containers of other languages, or a protocol.
fn with_arguments(
    name: &Name,
    arguments: &[ast::Type],
    span: Span,
    is_protocol: bool,
) -> Diagnostic {
    let text = format!("`{name}` takes no type arguments");
    let error = Diagnostic::error("type-argument-count", span, text);
    if is_protocol {
        let help = format!("an endpoint is written `{name}::client::state<...>`");
        return error.help(help);
    }
    let inside: Vec<String> = arguments.iter().map(ast::Type::to_string).collect();
    let instead = |error: Diagnostic, words: &str, ty: String| {
        error.fix(format!("{words} `{ty}`"), span, ty.clone())
    };
    let lower = name.text().to_ascii_lowercase();
    match (lower.as_str(), inside.as_slice()) {
        (list, [item]) if LISTS.contains(&list) => {
            instead(error, "a list is written", format!("[{item}]"))
        }
        (option, [value]) if OPTIONS.contains(&option) => {
            instead(error, "an optional value is written", format!("{value}?"))
        }
        ("map" | "hashmap" | "dict" | "dictionary" | "table" | "record", [key, value]) => instead(
            error,
            "a map is sent as a list of pairs, written",
            format!("[({key}, {value})]"),
        ),
        ("tuple" | "pair", [_, _, ..]) => {
            instead(error, "a tuple is written", format!("({})", inside.join(", ")))
        }
        ("box" | "rc" | "arc" | "ref" | "unique_ptr" | "shared_ptr", [value]) => {
            match Builtin::named(value) {
                Some(_) => instead(error, "payloads are always owned: write", value.clone()),
                None => error.help(format!(
                    "payloads are always owned: write `{value}`, or in a type that contains itself the list `[{value}]`"
                )),
            }
        }
        ("result" | "either", _) => error.help(
            "declare an enum: `enum outcome { success(type), failure(type) }`; or write one message for each outcome",
        ),
        _ => error.help(
            "only states of protocols have type parameters: declare a type of its own for each use, such as `struct name { ... }`",
        ),
    }
}

/// Numbers derived names that would not be unique: `money, money` become `money_0, money_1`.
fn number(entries: &mut [Entry]) {
    let written: HashSet<Box<str>> = entries
        .iter()
        .filter(|entry| !entry.is_derived)
        .map(|entry| entry.name.text().into())
        .collect();
    let mut uses: BTreeMap<Box<str>, usize> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.is_derived) {
        *uses.entry(entry.name.text().into()).or_default() += 1;
    }
    let mut next: HashMap<Box<str>, usize> = HashMap::new();
    let mut taken = written.clone();
    taken.extend(
        uses.iter()
            .filter(|(_, count)| **count == 1)
            .map(|(name, _)| name.clone()),
    );
    for entry in entries.iter_mut().filter(|entry| entry.is_derived) {
        let base = entry.name.text();
        if uses[base] == 1 && !written.contains(base) {
            continue;
        }
        let count = next.entry(base.into()).or_default();
        let unique = loop {
            let candidate = format!("{base}_{count}");
            *count += 1;
            if taken.insert(candidate.as_str().into()) {
                break candidate;
            }
        };
        entry.name = Name::new(unique, entry.name.span);
    }
}
