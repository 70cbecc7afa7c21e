//! Names that differ in the source but would be the same in generated code.
//!
//! Within one namespace, names must differ in more than case and `_`. Names of different namespaces do not conflict, except that
//! type parameters conflict with types, because they appear where types appear. Other names that a target would spell alike are
//! found by [`super::target_clash`].

use crate::check::findings::{Findings, Subject};
use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::protocol::{Builtin, Definition, Entry, FileId, Program, Protocol, State, Type};
use std::collections::{BTreeMap, HashMap};

rule! {
    "clashing-names", error,
    "two names would become the same name in generated code"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let mut clashes = Clashes { findings };
    let program = subject.program;
    let types = TypeNames::of(program);
    for protocol in &program.protocols {
        clashes.protocol(protocol, &types, program);
    }
    clashes.packages(program);
    for index in 0..program.files.len() {
        clashes.file(program, FileId::new(index), &types);
    }
}

/// The declared types of each file by the norms of their names.
struct TypeNames<'a>(Vec<HashMap<String, &'a Name>>);

impl<'a> TypeNames<'a> {
    fn of(program: &'a Program) -> TypeNames<'a> {
        let files = program.files.iter().map(|file| {
            let names = file.types.iter().map(|id| &program.ty(*id).name);
            names.map(|name| (name.norm(), name)).collect()
        });
        TypeNames(files.collect())
    }

    /// The type with this norm that is visible in a file.
    fn visible(&self, program: &Program, file: FileId, norm: &str) -> Option<&'a Name> {
        let imports = program.file(file).imports.iter().copied();
        let mut files = std::iter::once(file).chain(imports);
        files.find_map(|file| self.0[file.index()].get(norm).copied())
    }
}

struct Clashes<'f> {
    findings: &'f mut Findings,
}

impl Clashes<'_> {
    fn protocol(&mut self, protocol: &Protocol, types: &TypeNames<'_>, program: &Program) {
        let states = protocol.states.iter().map(|state| &state.name);
        self.space(states, "states");
        for state in &protocol.states {
            let messages = state.messages.iter().map(|message| &message.name);
            self.space(messages, "messages");
            for message in &state.messages {
                self.entries(&message.entries);
            }
            self.parameters(state, protocol.file, types, program);
        }
    }

    fn parameters(
        &mut self,
        state: &State,
        file: FileId,
        types: &TypeNames<'_>,
        program: &Program,
    ) {
        let names = state.parameters.iter().map(|parameter| &parameter.name);
        self.space(names, "type parameters");
        for parameter in &state.parameters {
            let name = &parameter.name;
            let own = name.norm();
            let builtin = Builtin::WORDS.iter().find(|(word, _)| *word == own);
            if let Some((word, _)) = builtin {
                let message =
                    format!("type parameter `{name}` collides with the built-in type `{word}`");
                self.error(
                    RULE.finding(name.span, message)
                        .label("it is unclear which of the two is meant")
                        .help("give the parameter another name, such as `T`"),
                );
            } else if let Some(ty) = types.visible(program, file, &own) {
                let message = format!("type parameter `{name}` collides with the type `{ty}`");
                self.error(
                    RULE.finding(name.span, message)
                        .label("it is unclear which of the two is meant")
                        .related(ty.span, "the type is declared here")
                        .help("give the parameter another name, such as `T`"),
                );
            }
        }
    }

    fn entries(&mut self, entries: &[Entry]) {
        if entries.len() > 1 {
            // Without the type, a name that is derived from it is not known.
            let known = |entry: &&Entry| !entry.is_derived || entry.ty != Type::Error;
            let names = entries.iter().filter(known).map(|entry| &entry.name);
            self.space(names, "payload entries");
        }
    }

    /// Protocols and instances of a package, across all files.
    fn packages(&mut self, program: &Program) {
        let mut packages: BTreeMap<Vec<&str>, Vec<(FileId, &Name)>> = BTreeMap::new();
        for (index, file) in program.files.iter().enumerate() {
            let package = file.package.iter().map(Name::text).collect();
            let names = packages.entry(package).or_default();
            let protocols = file.protocols.iter().map(|id| &program.protocol(*id).name);
            let instances = file.instances.iter().map(|id| &program.instance(*id).name);
            let both = protocols.chain(instances);
            names.extend(both.map(|name| (FileId::new(index), name)));
        }
        for names in packages.into_values() {
            self.space(names.into_iter().map(|(_, name)| name), "protocols");
        }
    }

    /// The types and bounds of a file.
    fn file(&mut self, program: &Program, id: FileId, types: &TypeNames<'_>) {
        let file = program.file(id);
        let names = file.types.iter().map(|id| &program.ty(*id).name);
        self.space(names.clone(), "types");
        for name in names {
            let imports = file.imports.iter();
            let imported = imports
                .filter_map(|import| types.0[import.index()].get(&name.norm()))
                .find(|imported| imported.text() != name.text());
            if let Some(imported) = imported {
                self.pair(imported, name, "types");
            }
        }
        let bounds = file.bounds.iter().map(|id| &program.bound(*id).name);
        self.space(bounds, "bounds");
        for id in &file.types {
            match &program.ty(*id).definition {
                Definition::Struct(fields) => {
                    self.space(fields.iter().map(|field| &field.name), "fields");
                }
                Definition::Enum(variants) => {
                    self.space(variants.iter().map(|variant| &variant.name), "variants");
                    for variant in variants {
                        self.entries(&variant.entries);
                    }
                }
                Definition::Alias(_) | Definition::Extern(..) => {}
            }
        }
    }

    /// The names of one namespace. Equal names are reported elsewhere, as `duplicate-name`.
    fn space<'n>(&mut self, names: impl Iterator<Item = &'n Name>, what: &str) {
        let mut seen: HashMap<String, &Name> = HashMap::new();
        for name in names {
            match seen.get(&name.norm()) {
                Some(first) if first.text() != name.text() => self.pair(first, name, what),
                Some(_) => {}
                None => {
                    seen.insert(name.norm(), name);
                }
            }
        }
    }

    fn pair(&mut self, first: &Name, second: &Name, what: &str) {
        let message =
            format!("{what} `{first}` and `{second}` produce the same name in generated code");
        self.error(
            RULE.finding(second.span, message)
                .label("differs only in case or `_`")
                .related(first.span, "from this name")
                .note("generated code spells names in the style of its language, where both would be the same")
                .help("rename one of them"),
        );
    }

    fn error(&mut self, error: Diagnostic) {
        self.findings.error(error);
    }
}
