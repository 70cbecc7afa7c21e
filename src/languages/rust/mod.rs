//! The Rust target: which files are generated.
//!
//! A program includes one tree of modules: `mod.rs`, a folder per package with its own `mod.rs`, and a file per protocol
//! and per instance. The types that a file declares are in the `mod.rs` of its package. All paths are relative within
//! the tree, so that it can be included anywhere.

mod attributes;
mod clashes;
mod derive;
mod docs;
mod instance;
mod layout;
mod names;
mod remote;
mod robots;
mod states;
mod types;
mod view;

pub use attributes::{Attribute, AttributeError, check_attributes};
pub use clashes::spellings;
pub use names::public_names::public_names;

use crate::check::CheckedProgram;
use crate::languages::{Generated, Options, OutputFile, Target};
use crate::name::Name;
use crate::protocol::{FileId, InstanceId, Program, ProtocolId, State, TypeId};
use crate::relation::View;
use crate::robots::{Absent, Makeable};
use askama::Template;
use derive::Derivable;
use instance::InstanceView;
use layout::wrapped;
use names::spelling::{NameScope, file_name, module_name, type_name};
use remote::Remotes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use types::{PackageView, TypeView};
use view::ProtocolView;

/// What the user can configure in generated Rust.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RustOptions {
    /// The module in which undeclared types are found, such as `crate::host`; without it, the module that includes the generated
    /// tree.
    pub host: Option<String>,
    /// The derives and attributes for declared types. Those that select nothing have no effect; [`check_attributes`] reports them.
    pub attributes: Vec<Attribute>,
}

/// The word for this target in mappings.
const WORD: &str = Target::Rust.name();

/// How many messages of an unbounded run always fit: the runtime's ring has at least as many lines.
const ALWAYS_FIT: u32 = 8;

/// The line with which a program uses the tree of modules. A directory in `src` is a module of the crate there.
pub fn usage(directory: &Path, path: &Path, _: &dyn Fn(&Path) -> bool) -> Option<String> {
    if path.to_str()? != "mod.rs" {
        return None;
    }
    let name = directory.file_name().and_then(|name| name.to_str());
    let above = directory.parent().and_then(Path::file_name);
    match name.filter(|name| {
        above.is_some_and(|above| above == "src") && names::spelling::is_module(name)
    }) {
        Some(name) => Some(format!("mod {name};")),
        None => {
            let module = directory.join(path);
            let module = module.display();
            Some(format!("#[path = \"{module}\"] mod protocols;"))
        }
    }
}

/// The packages of the runtime, as a user adds them while no registry has them.
pub fn runtime(options: &Options) -> String {
    let git = env!("CARGO_PKG_REPOSITORY");
    let between = if options.remote {
        "; duologue-net for sockets and duologue-shm for shared memory are in the same place"
    } else {
        ""
    };
    format!(
        "in Cargo.toml: duologue = {{ package = \"duologue-runtime\", git = \"{git}\" }}{between}"
    )
}

/// Generates Rust code for the program.
#[must_use]
pub fn generate(checked: &CheckedProgram, options: &Options) -> Generated {
    let program = checked.program();
    let derivable = Derivable::of(program);
    let remotes = if options.remote {
        Remotes::of(program)
    } else {
        Remotes::default()
    };
    let makeable = options.robots.then(|| Makeable::of(program));
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    let mut robots = |view: View<'_>, scope: NameScope<'_>| {
        let robots = robots::module(view, makeable.as_ref()?, scope);
        let note = |absent: Absent| absent.note("Rust", view.name().text());
        robots.map_err(|absent| notes.extend(note(absent))).ok()
    };
    for (path, package) in packages(program) {
        for id in &package.protocols {
            let protocol = program.protocol(*id);
            let taken = state_names(&protocol.states);
            let scope = NameScope::of(program, options, protocol.file, &taken);
            let (plan, sizes) = (remotes.protocol(*id), remotes.sizes.as_ref());
            let mut view = ProtocolView::of(checked.protocol(*id), scope, &derivable, plan, sizes);
            view.robots = robots(View::of(program, *id), scope);
            files.push(output(&path, &file_name(&protocol.name), &view));
        }
        for id in &package.instances {
            let instance = program.instance(*id);
            let taken = state_names(&program.protocol(instance.protocol).states);
            let scope = NameScope::of(program, options, instance.file, &taken);
            let mut view = InstanceView::of(checked, *id, scope, remotes.instance(*id));
            view.robots = robots(View::instance(program, instance), scope);
            files.push(output(&path, &file_name(&instance.name), &view));
        }
        let view = package.view(program, options, &derivable, &remotes);
        files.push(output(&path, "mod", &view));
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    notes.splice(0..0, remotes.notes);
    Generated { files, notes }
}

fn output(folder: &str, name: &str, template: &impl Template) -> OutputFile {
    let mut text = String::new();
    template
        .render_into(&mut text)
        .expect("writing to a string cannot fail");
    OutputFile::new(format!("{folder}{name}.rs"), wrapped(&text))
}

/// What the files of one package declare.
#[derive(Default)]
struct Package<'a> {
    name: &'a [Name],
    files: Vec<FileId>,
    types: Vec<TypeId>,
    protocols: Vec<ProtocolId>,
    instances: Vec<InstanceId>,
    packages: BTreeMap<String, &'a Name>,
}

impl Package<'_> {
    fn view(
        &self,
        program: &Program,
        options: &Options,
        derivable: &Derivable,
        remotes: &Remotes,
    ) -> PackageView {
        let names = self.types.iter().map(|id| type_name(&program.ty(*id).name));
        let taken = names.collect();
        let ty = |id: &TypeId| {
            let scope = NameScope {
                depth: 0,
                ..NameScope::of(program, options, program.ty(*id).file, &taken)
            };
            TypeView::of(*id, scope, derivable, remotes)
        };
        let name: Vec<&str> = self.name.iter().map(Name::text).collect();
        let name = name.join(".");
        PackageView {
            source: match self.files.as_slice() {
                [only] => program.file(*only).path.clone(),
                _ if name.is_empty() => "the files without a package".to_owned(),
                _ => format!("the files of package {name}"),
            },
            name,
            modules: self.modules(program).into_values().collect(),
            types: self.types.iter().filter_map(ty).collect(),
        }
    }

    /// The modules of the package by file name.
    fn modules(&self, program: &Program) -> BTreeMap<String, String> {
        let protocols = self.protocols.iter().map(|id| &program.protocol(*id).name);
        let instances = self.instances.iter().map(|id| &program.instance(*id).name);
        let packages = self.packages.values().copied();
        let all = protocols.chain(instances).chain(packages);
        all.map(|name| (file_name(name), module_name(name)))
            .collect()
    }
}

/// All packages by folder. The folder is empty for the root and otherwise ends with `/`.
fn packages(program: &Program) -> BTreeMap<String, Package<'_>> {
    let mut packages = BTreeMap::from([(String::new(), Package::default())]);
    for (index, file) in program.files.iter().enumerate() {
        let mut path = String::new();
        for (depth, segment) in file.package.iter().enumerate() {
            let parent: &mut Package = packages.entry(path.clone()).or_default();
            parent
                .packages
                .entry(module_name(segment))
                .or_insert(segment);
            path.push_str(&file_name(segment));
            path.push('/');
            packages.entry(path.clone()).or_default().name = &file.package[..=depth];
        }
        let package = packages.entry(path).or_default();
        package.files.push(FileId::new(index));
        package.types.extend(&file.types);
        package.protocols.extend(&file.protocols);
        package.instances.extend(&file.instances);
    }
    packages
}

fn state_names(states: &[State]) -> BTreeSet<String> {
    states.iter().map(|state| type_name(&state.name)).collect()
}
