//! The Scala target: which files are generated.

mod endpoints;
mod layout;
mod names;
mod payload;
mod place;
mod spelling;
mod types;
mod view;
mod whole;

pub use names::spellings;

use crate::check::{CheckedProgram, CheckedProtocol};
use crate::protocol::{Definition, File, FileId, InstanceId, Side};
use crate::target::{Generated, Options, OutputFile, Target};
use askama::DynTemplate;
use place::Place;
use std::path::Path;
use types::{InstanceView, TypesView};
use view::{Head, Writer};
use whole::Whole;

/// The word for this target in mappings.
const WORD: &str = Target::Scala.name();

/// The line with which a program uses an object.
pub fn usage(_: &Path, path: &Path) -> Option<String> {
    let packages = path.parent()?.iter().map(|part| part.to_str());
    let packages: Option<Vec<&str>> = packages.collect();
    let object = path.file_stem()?.to_str()?;
    Some(format!("import {}.{object}", packages?.join(".")))
}

/// Generates Scala code for the program: an object per protocol and instance, and one for the types of each file. Imported files
/// are included, so that the generated code compiles.
#[must_use]
pub fn generate(checked: &CheckedProgram, options: &Options) -> Generated {
    let program = checked.program();
    let whole = Whole::of(program, options);
    let mut files = Vec::new();
    for (index, file) in program.files.iter().enumerate() {
        let id = FileId::new(index);
        for protocol in &file.protocols {
            files.push(protocol_file(checked.protocol(*protocol), &whole));
        }
        for instance in &file.instances {
            files.push(instance_file(checked, *instance, &whole));
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
            files.push(types_file(&whole, id));
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Generated {
        files,
        notes: Vec::new(),
    }
}

fn protocol_file(checked: CheckedProtocol, whole: &Whole) -> OutputFile {
    let protocol = checked.protocol();
    let mut text = head(whole, protocol.file);
    let place = Place::of_protocol(whole, protocol);
    let mut writer = Writer::new(place, checked);
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
        text.push_str(" {");
        for id in protocol.state_ids() {
            writer.enter(id);
            let endpoint = writer.endpoint(id);
            write(&mut text, &*endpoint);
            text.push('\n');
        }
        text.push_str("  }\n");
    }
    text.push_str("}\n");
    output(
        whole,
        protocol.file,
        &spelling::file_name(protocol.name.text()),
        text,
    )
}

fn instance_file(checked: &CheckedProgram, id: InstanceId, whole: &Whole) -> OutputFile {
    let program = checked.program();
    let instance = program.instance(id);
    let mut place = Place::of_protocol(whole, program.protocol(instance.protocol));
    place.file = instance.file;
    let mut text = head(whole, instance.file);
    write(&mut text, &InstanceView::of(checked, id, &mut place));
    text.push('\n');
    output(
        whole,
        instance.file,
        &spelling::file_name(instance.name.text()),
        text,
    )
}

fn types_file(whole: &Whole, id: FileId) -> OutputFile {
    let mut place = Place::of_types(whole, id);
    let file = whole.program.file(id);
    let mut text = head(whole, id);
    write(&mut text, &TypesView::of(&mut place, base_name(file)));
    text.push('\n');
    output(whole, id, &spelling::types_object(&file.stem), text)
}

fn head(whole: &Whole, id: FileId) -> String {
    let file = whole.program.file(id);
    let head = Head {
        file: base_name(file),
        docs: &file.docs,
        package: place::package(whole.program, whole.options, id).join("."),
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
    let folders = place::package(whole.program, whole.options, file);
    let folders = folders.iter().map(|folder| folder.trim_matches('`'));
    let path: Vec<&str> = folders.collect();
    OutputFile::new(format!("{}/{name}.scala", path.join("/")), text)
}
