//! Collects the declared names, before any name is looked up.

use super::load::Loaded;
use super::{Callee, Declared, FileNames, Resolver, StateHead};
use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::protocol::{
    Bound, BoundDeclaration, BoundId, Builtin, Definition, File, FileId, Instance, InstanceId,
    Lengths, Mappings, Protocol, ProtocolId, Referent, StateId, TypeDeclaration, TypeId, Use,
};
use crate::source::Span;
use crate::syntax::ast::{Item, ItemKind};
use std::collections::HashMap;

/// Assigns an id to every declaration of every file, and takes the items out of the files.
pub(super) fn declare(resolver: &mut Resolver, files: Vec<Loaded>) -> Vec<Vec<(Item, Declared)>> {
    let mut all = Vec::with_capacity(files.len());
    for (index, loaded) in files.into_iter().enumerate() {
        let file = FileId::new(index);
        let imports = loaded
            .imports
            .iter()
            .flatten()
            .map(|import| FileId::new(*import));
        let imports: Vec<FileId> = imports.collect();
        let spans = loaded.ast.imports.iter().zip(&loaded.imports);
        let spans = spans.filter_map(|(import, found)| found.map(|_| import.span));
        let import_spans = spans.collect();
        for (import, found) in loaded.ast.imports.iter().zip(&loaded.imports) {
            let referent = Referent::Import(found.map(FileId::new));
            resolver.used(import.span, referent);
        }
        for name in &loaded.ast.package {
            resolver.used(name.span, Referent::Package);
        }
        for (span, referent) in &loaded.ast.words {
            resolver.used(*span, *referent);
        }
        let package: Vec<&str> = loaded.ast.package.iter().map(Name::text).collect();
        resolver.files.push(FileNames {
            package: package.join("."),
            imports: imports.clone(),
            broken_words: loaded.ast.broken_words,
            is_opaque: loaded.ast.is_opaque,
            ..FileNames::default()
        });
        resolver.program.files.push(File {
            source: loaded.source,
            path: loaded.path,
            stem: loaded.stem,
            package: loaded.ast.package,
            docs: loaded.ast.docs,
            types: Vec::new(),
            bounds: Vec::new(),
            protocols: Vec::new(),
            instances: Vec::new(),
            imports,
            import_spans,
            misplaced_docs: loaded.ast.misplaced_docs,
            is_input: loaded.is_input,
        });
        let items = loaded.ast.items.into_iter();
        let declared = items.map(|mut item| {
            let declared = declare_item(resolver, file, &mut item);
            (item, declared)
        });
        all.push(declared.collect());
    }
    compare_with_imports(resolver);
    all
}

fn declare_item(resolver: &mut Resolver, file: FileId, item: &mut Item) -> Declared {
    let name = item.name.clone();
    let docs = std::mem::take(&mut item.docs);
    let levels = std::mem::take(&mut item.levels);
    match &item.kind {
        ItemKind::Protocol(protocol) => {
            let id = ProtocolId::new(resolver.program.protocols.len());
            let heads = protocol.states.iter().map(|state| {
                let count = u32::try_from(state.parameters.len()).expect("few parameters");
                StateHead {
                    name: state.name.clone(),
                    parameters: (!state.may_lack_parameters).then_some(count),
                }
            });
            resolver.parameters.push(heads.collect());
            resolver.declared(name.span, Referent::Protocol(id));
            for (index, state) in protocol.states.iter().enumerate() {
                let state_id = StateId::new(index);
                resolver.declared(state.name.span, Referent::State(id, state_id));
                let parameters = state.parameters.iter().map(|found| &found.name);
                declare_parts(resolver, parameters, |at| {
                    Referent::Parameter(id, state_id, at)
                });
                let messages = state.messages.iter().map(|found| &found.name);
                declare_parts(resolver, messages, |at| Referent::Message(id, state_id, at));
            }
            let mut states = HashMap::with_capacity(protocol.states.len());
            for (index, state) in protocol.states.iter().enumerate() {
                states.entry(state.name.text().into()).or_insert(index);
            }
            resolver.states.push(states);
            resolver.program.files[file.index()].protocols.push(id);
            declare_callee(resolver, file, &name, Callee::Protocol(id));
            resolver.program.protocols.push(Protocol {
                name,
                file,
                docs,
                states: Vec::new(),
                levels,
                is_broken: protocol.is_broken,
                span: protocol.span,
                dual_of: Vec::new(),
                accepts: protocol.accepts.clone(),
                head: protocol.head,
            });
            Declared::Protocol(id)
        }
        ItemKind::Instance(instance) => {
            let id = InstanceId::new(resolver.program.instances.len());
            resolver.declared(name.span, Referent::Instance(id));
            resolver.program.files[file.index()].instances.push(id);
            declare_callee(resolver, file, &name, Callee::Instance(id));
            resolver.program.instances.push(Instance {
                file,
                docs,
                span: name.span,
                name,
                protocol: ProtocolId::new(0),
                arguments: Vec::new(),
                levels,
                accepts: instance.accepts.clone(),
                head: instance.head,
            });
            Declared::Instance(id)
        }
        ItemKind::ExternBound(_) => {
            let id = BoundId::new(resolver.program.bounds.len());
            resolver.declared(name.span, Referent::Bound(id));
            resolver.program.files[file.index()].bounds.push(id);
            refuse_builtin(
                resolver,
                &name,
                Bound::named(name.text()).is_some(),
                "bound",
            );
            if let Some(first) = resolver.files[file.index()]
                .bounds
                .insert(name.text().into(), id)
            {
                let first = resolver.program.bound(first).name.span;
                declared_twice(resolver, &name, first, "bounds");
            }
            resolver.program.bounds.push(BoundDeclaration {
                name,
                file,
                docs,
                levels,
                mappings: Mappings::default(),
            });
            Declared::Bound(id)
        }
        ItemKind::Alias(_) | ItemKind::Struct(_) | ItemKind::Enum(_) | ItemKind::ExternType(..) => {
            let id = TypeId::new(resolver.program.types.len());
            resolver.declared(name.span, Referent::Type(id));
            resolver.program.files[file.index()].types.push(id);
            refuse_builtin(
                resolver,
                &name,
                Builtin::named(name.text()).is_some(),
                "type",
            );
            if let Some(first) = resolver.files[file.index()]
                .types
                .insert(name.text().into(), id)
            {
                let first = resolver.program.ty(first).name.span;
                declared_twice(resolver, &name, first, "types");
            }
            let ty_span = if let ItemKind::Alias(ty) = &item.kind {
                ty.span
            } else {
                name.span
            };
            resolver.program.types.push(TypeDeclaration {
                ty_span,
                name,
                file,
                docs,
                levels,
                definition: Definition::Extern(Box::default(), Vec::new()),
                is_declared: true,
                lengths: Lengths::default(),
            });
            Declared::Type(id)
        }
    }
}

/// Records the names of a declaration's parts.
pub(super) fn declare_parts<'n>(
    resolver: &mut Resolver,
    names: impl Iterator<Item = &'n Name>,
    referent: impl Fn(u32) -> Referent,
) {
    let parts = (0..).zip(names).map(|(at, name)| Use {
        span: name.span,
        referent: referent(at),
        is_declaration: true,
    });
    resolver.uses.extend(parts);
}

fn declare_callee(resolver: &mut Resolver, file: FileId, name: &Name, callee: Callee) {
    let names = &mut resolver.files[file.index()];
    names.callees.insert(name.text().into(), callee);
    let package = resolver.packages.entry(names.package.clone()).or_default();
    let first = package.get(name.text()).copied();
    package.entry(name.text().into()).or_insert(callee);
    if let Some(first) = first {
        let first = callee_name(resolver, first).span;
        declared_twice(resolver, name, first, "protocols");
    }
}

pub(super) fn callee_name(resolver: &Resolver, callee: Callee) -> &Name {
    match callee {
        Callee::Protocol(id) => &resolver.program.protocol(id).name,
        Callee::Instance(id) => &resolver.program.instance(id).name,
    }
}

fn declared_twice(resolver: &mut Resolver, name: &Name, first: Span, what: &str) {
    let error = Diagnostic::error(
        "duplicate-name",
        name.span,
        format!("there are two {what} named `{name}`"),
    )
    .label("declared again here")
    .related(first, "first declared here")
    .help("rename one of them");
    resolver.report(error);
}

fn refuse_builtin(resolver: &mut Resolver, name: &Name, is_builtin: bool, what: &str) {
    if is_builtin {
        let text = format!("`{name}` is a built-in {what}");
        let error = Diagnostic::error("duplicate-name", name.span, text);
        resolver.report(error.help("choose another name"));
    }
}

/// A local name may not also be imported. Two imports may declare the same name, which is an error only where it is used.
fn compare_with_imports(resolver: &mut Resolver) {
    let mut found = Vec::new();
    for (file, names) in resolver.program.files.iter().zip(&resolver.files) {
        for import in &names.imports {
            let imported = &resolver.files[import.index()];
            for id in &file.types {
                let name = &resolver.program.ty(*id).name;
                if let Some(first) = imported.types.get(name.text()).filter(|first| *first != id) {
                    found.push((name.clone(), resolver.program.ty(*first).name.span, "types"));
                }
            }
            for id in &file.bounds {
                let name = &resolver.program.bound(*id).name;
                if let Some(first) = imported
                    .bounds
                    .get(name.text())
                    .filter(|first| *first != id)
                {
                    found.push((
                        name.clone(),
                        resolver.program.bound(*first).name.span,
                        "bounds",
                    ));
                }
            }
        }
    }
    for (name, first, what) in found {
        declared_twice(resolver, &name, first, what);
    }
}
