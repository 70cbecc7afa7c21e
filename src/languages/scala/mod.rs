//! The Scala target: which files are generated.

mod clashes;
mod instance;
mod names;
mod payload;
mod protocol;
mod remote;
mod robots;
mod types;
mod view;
mod wire;

pub use clashes::spellings;
pub use names::public_names::public_names;

use crate::check::CheckedProgram;
use crate::languages::{Generated, Options, OutputFile, Target};
use crate::protocol::{Definition, FileId, TypeId};
use crate::relation::View;
use crate::robots::{Absent, Makeable};
use crate::wire::Sizes;
use askama::Template;
use instance::InstanceView;
use names::object_scope::ObjectScope;
use names::whole::Whole;
use protocol::ProtocolView;
use remote::RemoteView;
use std::path::Path;
use types::TypesView;

/// What the user can configure in generated Scala.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ScalaOptions {
    /// The package for files without `package`; without it, `protocols`.
    pub package: Option<String>,
    /// The versions that the code is for.
    pub version: ScalaVersion,
}

/// The versions of Scala that generated code compiles with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScalaVersion {
    /// 2.13 and 3.
    #[default]
    Cross,
    /// 3 alone: declared enums are enums, and other names of built-in types are opaque types.
    Three,
}

/// The word for this target in mappings.
const WORD: &str = Target::Scala.name();

/// The line with which a program uses an object.
pub fn usage(_: &Path, path: &Path, _: &dyn Fn(&Path) -> bool) -> Option<String> {
    let packages = path.parent()?.iter().map(|part| part.to_str());
    let packages: Option<Vec<&str>> = packages.collect();
    let object = path.file_stem()?.to_str()?;
    Some(format!("import {}.{object}", packages?.join(".")))
}

/// The library of the runtime, as a user of sbt adds it while no repository has it.
pub fn runtime(options: &Options) -> String {
    // The library for sockets depends on the other.
    let library = if options.remote {
        "duologue-net"
    } else {
        "duologue-runtime"
    };
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "in build.sbt: libraryDependencies += \"io.github.duologue\" %% \"{library}\" % \"{version}\", \
         after `sbt install` in runtime/scala of a clone"
    )
}

/// Generates Scala code for the program: an object per protocol and instance, and one for the types of each file. Imported files
/// are included, so that the generated code compiles.
#[must_use]
pub fn generate(checked: &CheckedProgram, options: &Options) -> Generated {
    let program = checked.program();
    let mut generator = Generator {
        whole: &Whole::of(program, options),
        sizes: options.remote.then(|| Sizes::of(program)),
        makeable: options.robots.then(|| Makeable::of(program)),
        generated: Generated::default(),
    };
    for (index, file) in program.files.iter().enumerate() {
        for id in &file.protocols {
            let protocol = checked.protocol(*id);
            let mut scope = ObjectScope::of_protocol(generator.whole, protocol.protocol());
            let view = View::of(program, *id);
            let remote = generator.remote(&mut scope, view, checked);
            let robots = generator.robots(view);
            let view = ProtocolView::of(protocol, &mut scope, remote, robots);
            let name = names::spelling::file_name(protocol.protocol().name.text());
            generator.write(scope.file, &name, &view);
        }
        for id in &file.instances {
            let instance = program.instance(*id);
            let protocol = program.protocol(instance.protocol);
            let mut scope = ObjectScope::of_protocol(generator.whole, protocol);
            scope.file = instance.file;
            let view = View::instance(program, instance);
            let remote = generator.remote(&mut scope, view, checked);
            let robots = generator.robots(view);
            let view = InstanceView::of(checked, *id, &mut scope, remote, robots);
            let name = names::spelling::file_name(instance.name.text());
            generator.write(scope.file, &name, &view);
        }
        let is_declared = |id: &TypeId| match program.ty(*id).definition {
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => true,
            Definition::Extern(..) => false,
        };
        if file.types.iter().any(is_declared) {
            let mut scope = ObjectScope::of_types(generator.whole, FileId::new(index));
            let view = TypesView::of(&mut scope, generator.sizes.as_ref());
            generator.write(
                scope.file,
                &names::spelling::types_object(&file.stem),
                &view,
            );
        }
    }
    let mut generated = generator.generated;
    generated.files.sort_by(|a, b| a.path.cmp(&b.path));
    generated
}

struct Generator<'a> {
    whole: &'a Whole<'a>,
    /// If sessions can leave the process.
    sizes: Option<Sizes>,
    /// If there are robots.
    makeable: Option<Makeable>,
    /// The files so far, and notes on which protocols stay in one process or have no robots, and why.
    generated: Generated,
}

impl Generator<'_> {
    fn remote(
        &mut self,
        scope: &mut ObjectScope,
        view: View,
        checked: &CheckedProgram,
    ) -> Option<RemoteView> {
        let remote = RemoteView::of(scope, view, checked, self.sizes.as_ref()?);
        remote.unwrap_or_else(|obstacle| {
            let name = view.name();
            let note = format!("Scala: `{name}` stays in one process: {obstacle}");
            self.generated.notes.push(note);
            None
        })
    }

    fn robots(&mut self, view: View) -> Option<String> {
        let robots = robots::object(view, self.whole, self.makeable.as_ref()?);
        let note = |absent: Absent| absent.note("Scala", view.name().text());
        let notes = &mut self.generated.notes;
        robots.map_err(|absent| notes.extend(note(absent))).ok()
    }

    fn write(&mut self, file: FileId, name: &str, view: &impl Template) {
        let folders = names::object_scope::package(self.whole.program, self.whole.options, file);
        let folders = folders.iter().map(|folder| folder.trim_matches('`'));
        let path: Vec<&str> = folders.chain([name]).collect();
        let mut text = view.render().expect("writing to a string cannot fail");
        text.push('\n');
        let file = OutputFile::new(format!("{}.scala", path.join("/")), text);
        self.generated.files.push(file);
    }
}
