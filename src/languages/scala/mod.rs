//! The Scala target: which files are generated.

mod endpoints;
mod layout;
mod names;
mod object_scope;
mod payload;
mod public_names;
mod remote;
mod robots;
mod spelling;
mod three;
mod types;
mod view;
mod whole;
mod wire;

pub use names::spellings;
pub use public_names::public_names;

use crate::check::{CheckedProgram, CheckedProtocol};
use crate::languages::{Generated, Options, OutputFile, Target};
use crate::protocol::{Definition, File, FileId, InstanceId, Side, StateId};
use crate::relation::{Obstacle, View};
use crate::robots::Makeable;
use crate::wire::Sizes;
use askama::DynTemplate;
use object_scope::ObjectScope;
use remote::{Remote, RoleView};
use std::path::Path;
use types::{InstanceView, TypesView};
use view::{Head, Writer};
use whole::Whole;

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

/// The library of the runtime, as a user of sbt adds it.
pub fn runtime(options: &Options) -> String {
    // The library for sockets depends on the other.
    let library = if options.remote {
        "duologue-net"
    } else {
        "duologue-runtime"
    };
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "in build.sbt: libraryDependencies += \"io.github.duologue\" %% \"{library}\" % \"{version}\""
    )
}

/// Generates Scala code for the program: an object per protocol and instance, and one for the types of each file. Imported files
/// are included, so that the generated code compiles.
#[must_use]
pub fn generate(checked: &CheckedProgram, options: &Options) -> Generated {
    let program = checked.program();
    let whole = Whole::of(program, options);
    let mut files = Vec::new();
    let sizes = options.remote.then(|| Sizes::of(program));
    let mut notes = Notes::default();
    let makeable = options.robots.then(|| Makeable::of(program));
    for (index, file) in program.files.iter().enumerate() {
        let id = FileId::new(index);
        for protocol in &file.protocols {
            let checked = checked.protocol(*protocol);
            let remote = sizes.as_ref().and_then(|_| {
                notes.take(checked.protocol().name.text(), Remote::of_protocol(checked))
            });
            let remote = remote.as_ref().zip(sizes.as_ref());
            let view = View::of(program, *protocol);
            let robots = notes.robots(view, &whole, makeable.as_ref());
            files.push(protocol_file(checked, &whole, remote, &robots));
        }
        for instance in &file.instances {
            let name = program.instance(*instance).name.text();
            let remote = sizes
                .as_ref()
                .and_then(|_| notes.take(name, Remote::of_instance(checked, *instance)));
            let remote = remote.as_ref().zip(sizes.as_ref());
            let view = View::instance(program, program.instance(*instance));
            let robots = notes.robots(view, &whole, makeable.as_ref());
            files.push(instance_file(checked, *instance, &whole, remote, robots));
        }
        let is_declared = |definition: &Definition| match definition {
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => true,
            Definition::Extern(..) | Definition::Undeclared => false,
        };
        if file
            .types
            .iter()
            .any(|ty| is_declared(&program.ty(*ty).definition))
        {
            files.push(types_file(&whole, id, sizes.as_ref()));
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Generated {
        files,
        notes: notes.0,
    }
}

/// Which protocols stay in one process or have no robots, and why.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn take<'a>(
        &mut self,
        name: &str,
        remote: Result<Option<Remote<'a>>, Obstacle>,
    ) -> Option<Remote<'a>> {
        remote.unwrap_or_else(|obstacle| {
            self.0
                .push(format!("Scala: `{name}` stays in one process: {obstacle}"));
            None
        })
    }

    /// The text of the robots, if there are any.
    fn robots(&mut self, view: View, whole: &Whole, makeable: Option<&Makeable>) -> String {
        let Some(makeable) = makeable else {
            return String::new();
        };
        robots::object(view, whole, makeable).unwrap_or_else(|absent| {
            self.0.extend(absent.note("Scala", view.name().text()));
            String::new()
        })
    }
}

fn protocol_file(
    checked: CheckedProtocol,
    whole: &Whole,
    remote: Option<(&Remote, &Sizes)>,
    robots: &str,
) -> OutputFile {
    let protocol = checked.protocol();
    let mut text = head(whole, protocol.file);
    let scope = ObjectScope::of_protocol(whole, protocol);
    let mut writer = Writer::new(scope, checked);
    write(&mut text, &writer.protocol());
    for id in protocol
        .state_ids()
        .filter(|id| protocol.state(*id).active_side().is_some())
    {
        writer.enter(id);
        write(&mut text, &writer.messages(id));
        text.push('\n');
    }
    for side in [Side::Client, Side::Server] {
        writer.take(side);
        text.push_str("\n  object ");
        text.push_str(writer.side_object(side));
        // The class of the first endpoint, without parameters if the whole protocol can leave the process; otherwise an instance
        // needs a way to create it.
        let first = spelling::type_name(protocol.start().name.text());
        if remote.is_some() {
            let role = Remote::role(side, &first, &format!("new {first}(start)"));
            head_of_role(&mut text, &role);
        } else {
            text.push_str(" {");
            if whole.options.remote && !protocol.start().parameters.is_empty() {
                writer.enter(StateId::new(0));
                let parameters = writer.scope.parameter_list();
                text.push_str(&format!(
                    "\n    def $open{parameters}(start: _root_.duologue.Endpoint): {first}{parameters} =\n      \
                     new {first}{parameters}(start)"
                ));
            }
        }
        for id in protocol.state_ids() {
            writer.enter(id);
            let endpoint = writer.endpoint(id);
            write(&mut text, &*endpoint);
            text.push('\n');
        }
        text.push_str("  }\n");
    }
    if let Some((remote, sizes)) = remote {
        write(&mut text, &remote.view(&mut writer.scope, sizes));
        text.push('\n');
    }
    text.push_str(robots);
    text.push_str("}\n");
    output(
        whole,
        protocol.file,
        &spelling::file_name(protocol.name.text()),
        text,
    )
}

/// The beginning of a side's object that transports can use.
fn head_of_role(text: &mut String, role: &RoleView) {
    text.push_str(role.base);
    text.push_str(" {");
    for member in &role.members {
        text.push_str("\n    ");
        text.push_str(member);
    }
    text.push('\n');
}

fn instance_file(
    checked: &CheckedProgram,
    id: InstanceId,
    whole: &Whole,
    remote: Option<(&Remote, &Sizes)>,
    robots: String,
) -> OutputFile {
    let program = checked.program();
    let instance = program.instance(id);
    let mut scope = ObjectScope::of_protocol(whole, program.protocol(instance.protocol));
    scope.file = instance.file;
    let mut text = head(whole, instance.file);
    let mut view = InstanceView::of(checked, id, &mut scope, remote);
    view.robots = robots;
    write(&mut text, &view);
    text.push('\n');
    output(
        whole,
        instance.file,
        &spelling::file_name(instance.name.text()),
        text,
    )
}

fn types_file(whole: &Whole, id: FileId, sizes: Option<&Sizes>) -> OutputFile {
    let mut scope = ObjectScope::of_types(whole, id);
    let file = whole.program.file(id);
    let mut text = head(whole, id);
    write(
        &mut text,
        &TypesView::of(&mut scope, base_name(file), sizes),
    );
    text.push('\n');
    output(whole, id, &spelling::types_object(&file.stem), text)
}

fn head(whole: &Whole, id: FileId) -> String {
    let file = whole.program.file(id);
    let head = Head {
        file: base_name(file),
        docs: &file.docs,
        package: object_scope::package(whole.program, whole.options, id).join("."),
        is_for_three: whole.is_for_three(),
    };
    let mut text = String::new();
    write(&mut text, &head);
    text.push('\n');
    text
}

fn base_name(file: &File) -> &str {
    file.path.rsplit('/').next().unwrap_or(&file.path)
}

fn write(text: &mut String, view: &dyn DynTemplate) {
    view.dyn_render_into(text)
        .expect("writing to a string cannot fail");
}

fn output(whole: &Whole, file: FileId, name: &str, text: String) -> OutputFile {
    let folders = object_scope::package(whole.program, whole.options, file);
    let folders = folders.iter().map(|folder| folder.trim_matches('`'));
    let path: Vec<&str> = folders.collect();
    OutputFile::new(format!("{}/{name}.scala", path.join("/")), text)
}
