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

impl Resolver {
    /// Assigns an id to every declaration of every file, and takes the items out of the files.
    pub(super) fn declare(&mut self, files: Vec<Loaded>) -> Vec<Vec<(Item, Declared)>> {
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
                self.used(import.span, referent);
            }
            for name in &loaded.ast.package {
                self.used(name.span, Referent::Package);
            }
            for (span, referent) in &loaded.ast.words {
                self.used(*span, *referent);
            }
            let package: Vec<&str> = loaded.ast.package.iter().map(Name::text).collect();
            self.files.push(FileNames {
                package: package.join("."),
                imports: imports.clone(),
                broken_words: loaded.ast.broken_words,
                is_opaque: loaded.ast.is_opaque,
                ..FileNames::default()
            });
            self.program.files.push(File {
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
                let declared = self.declare_item(file, &mut item);
                (item, declared)
            });
            all.push(declared.collect());
        }
        self.compare_with_imports();
        all
    }

    fn declare_item(&mut self, file: FileId, item: &mut Item) -> Declared {
        let name = item.name.clone();
        let docs = std::mem::take(&mut item.docs);
        let levels = std::mem::take(&mut item.levels);
        match &item.kind {
            ItemKind::Protocol(protocol) => {
                let id = ProtocolId::new(self.program.protocols.len());
                let heads = protocol.states.iter().map(|state| {
                    let count = u32::try_from(state.parameters.len()).expect("few parameters");
                    StateHead {
                        name: state.name.clone(),
                        parameters: (!state.may_lack_parameters).then_some(count),
                    }
                });
                self.parameters.push(heads.collect());
                self.declared(name.span, Referent::Protocol(id));
                for (index, state) in protocol.states.iter().enumerate() {
                    let state_id = StateId::new(index);
                    self.declared(state.name.span, Referent::State(id, state_id));
                    let parameters = state.parameters.iter().map(|found| &found.name);
                    self.declare_parts(parameters, |at| Referent::Parameter(id, state_id, at));
                    let messages = state.messages.iter().map(|found| &found.name);
                    self.declare_parts(messages, |at| Referent::Message(id, state_id, at));
                }
                let mut states = HashMap::with_capacity(protocol.states.len());
                for (index, state) in protocol.states.iter().enumerate() {
                    states.entry(state.name.text().into()).or_insert(index);
                }
                self.states.push(states);
                self.program.files[file.index()].protocols.push(id);
                self.declare_callee(file, &name, Callee::Protocol(id));
                self.program.protocols.push(Protocol {
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
                let id = InstanceId::new(self.program.instances.len());
                self.declared(name.span, Referent::Instance(id));
                self.program.files[file.index()].instances.push(id);
                self.declare_callee(file, &name, Callee::Instance(id));
                self.program.instances.push(Instance {
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
                let id = BoundId::new(self.program.bounds.len());
                self.declared(name.span, Referent::Bound(id));
                self.program.files[file.index()].bounds.push(id);
                self.refuse_builtin(&name, Bound::named(name.text()).is_some(), "bound");
                if let Some(first) = self.files[file.index()]
                    .bounds
                    .insert(name.text().into(), id)
                {
                    let first = self.program.bound(first).name.span;
                    self.declared_twice(&name, first, "bounds");
                }
                self.program.bounds.push(BoundDeclaration {
                    name,
                    file,
                    docs,
                    levels,
                    mappings: Mappings::default(),
                });
                Declared::Bound(id)
            }
            ItemKind::Alias(_)
            | ItemKind::Struct(_)
            | ItemKind::Enum(_)
            | ItemKind::ExternType(..) => {
                let id = TypeId::new(self.program.types.len());
                self.declared(name.span, Referent::Type(id));
                self.program.files[file.index()].types.push(id);
                self.refuse_builtin(&name, Builtin::named(name.text()).is_some(), "type");
                if let Some(first) = self.files[file.index()]
                    .types
                    .insert(name.text().into(), id)
                {
                    let first = self.program.ty(first).name.span;
                    self.declared_twice(&name, first, "types");
                }
                let ty_span = if let ItemKind::Alias(ty) = &item.kind {
                    ty.span
                } else {
                    name.span
                };
                self.program.types.push(TypeDeclaration {
                    ty_span,
                    name,
                    file,
                    docs,
                    levels,
                    definition: Definition::Undeclared,
                    lengths: Lengths::default(),
                });
                Declared::Type(id)
            }
        }
    }

    /// Records the names of a declaration's parts.
    pub(super) fn declare_parts<'n>(
        &mut self,
        names: impl Iterator<Item = &'n Name>,
        referent: impl Fn(u32) -> Referent,
    ) {
        let parts = (0..).zip(names).map(|(at, name)| Use {
            span: name.span,
            referent: referent(at),
            is_declaration: true,
        });
        self.uses.extend(parts);
    }

    fn declare_callee(&mut self, file: FileId, name: &Name, callee: Callee) {
        let names = &mut self.files[file.index()];
        names.callees.insert(name.text().into(), callee);
        let package = self.packages.entry(names.package.clone()).or_default();
        let first = package.get(name.text()).copied();
        package.entry(name.text().into()).or_insert(callee);
        if let Some(first) = first {
            let first = self.callee_name(first).span;
            self.declared_twice(name, first, "protocols");
        }
    }

    pub(super) fn callee_name(&self, callee: Callee) -> &Name {
        match callee {
            Callee::Protocol(id) => &self.program.protocol(id).name,
            Callee::Instance(id) => &self.program.instance(id).name,
        }
    }

    fn declared_twice(&mut self, name: &Name, first: Span, what: &str) {
        let error = Diagnostic::error(
            "duplicate-name",
            name.span,
            format!("there are two {what} named `{name}`"),
        )
        .label("declared again here")
        .related(first, "first declared here")
        .help("rename one of them");
        self.report(error);
    }

    fn refuse_builtin(&mut self, name: &Name, is_builtin: bool, what: &str) {
        if is_builtin {
            let text = format!("`{name}` is a built-in {what}");
            let error = Diagnostic::error("duplicate-name", name.span, text);
            self.report(error.help("choose another name"));
        }
    }

    /// A local name may not also be imported. Two imports may declare the same name, which is an error only where it is used.
    fn compare_with_imports(&mut self) {
        let mut found = Vec::new();
        for (file, names) in self.program.files.iter().zip(&self.files) {
            for import in &names.imports {
                let imported = &self.files[import.index()];
                for id in &file.types {
                    let name = &self.program.ty(*id).name;
                    if let Some(first) =
                        imported.types.get(name.text()).filter(|first| *first != id)
                    {
                        found.push((name.clone(), self.program.ty(*first).name.span, "types"));
                    }
                }
                for id in &file.bounds {
                    let name = &self.program.bound(*id).name;
                    if let Some(first) = imported
                        .bounds
                        .get(name.text())
                        .filter(|first| *first != id)
                    {
                        found.push((name.clone(), self.program.bound(*first).name.span, "bounds"));
                    }
                }
            }
        }
        for (name, first, what) in found {
            self.declared_twice(&name, first, what);
        }
    }
}
