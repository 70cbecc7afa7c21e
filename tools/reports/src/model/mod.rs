//! A checked program as data for other programs: everything resolved, with the documentation at its elements. Within version 1,
//! members are only added. `docs/model.schema.json` describes every member.

mod protocols;
mod types;

use crate::record::range;
use duologue::check::CheckedProgram;
use duologue::languages::public_names::PublicNames;
use duologue::languages::{Options, Target, public_names};
use duologue::name::Name;
use duologue::protocol::{Docs, FileId, Program};
use duologue::source::{SourceId, Sources, Span};
use duologue::wire::Sizes;
pub use protocols::activity;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The JSON Schema of a model.
pub const SCHEMA: &str = duologue::pages::MODEL_SCHEMA;

/// A checked program. Elements refer to each other by their positions in its lists.
#[derive(Debug, Serialize)]
pub struct Model(Object);

type Object = Map<String, Value>;

/// What every element of the model needs.
struct Context<'a> {
    checked: &'a CheckedProgram,
    program: &'a Program,
    sources: &'a Sources,
    sizes: Sizes,
    names: Vec<(Target, PublicNames)>,
    /// The file of each text.
    files: HashMap<SourceId, usize>,
}

impl Model {
    /// The model of a program, with the names that the targets declare under these options.
    #[must_use]
    pub fn of(checked: &CheckedProgram, sources: &Sources, options: &Options) -> Model {
        let program = checked.program();
        let files = program.files.iter().enumerate();
        let names = Target::ALL.map(|target| (target, public_names(program, target, options)));
        let context = Context {
            checked,
            program,
            sources,
            sizes: Sizes::of(program),
            names: names.into(),
            files: files.map(|(index, file)| (file.source, index)).collect(),
        };
        Model(object! {
            "version": 1,
            "tool": object! { "name": "duologue", "version": env!("CARGO_PKG_VERSION") },
            "files": list(&program.files, |file| context.file(file)),
            "builtins": types::builtins(),
            "types": types::types(&context),
            "bounds": types::bounds(&context),
            "protocols": protocols::protocols(&context),
            "instances": protocols::instances(&context),
        })
    }

    /// The model as JSON that people can read; ends with a line break.
    #[must_use]
    pub fn pretty(&self) -> String {
        serde_json::to_string_pretty(self).expect("names and texts can be written as JSON") + "\n"
    }
}

/// A range of bytes of a file of the model, as a span; `None` if there is no such text.
#[must_use]
pub fn span(
    program: &Program,
    sources: &Sources,
    file: usize,
    start: usize,
    end: usize,
) -> Option<Span> {
    let source = program.files.get(file)?.source;
    sources.get(source).text().get(start..end)?;
    Some(Span::new(source, start, end))
}

impl Context<'_> {
    /// What every declaration has.
    fn head(&self, name: &Name, file: FileId, lines: &Docs) -> Object {
        object! {
            "name": name.text(),
            "full_name": self.program.full_name(file, name.text()),
            "file": file.index(),
            "docs": docs(lines),
            "span": self.span(name.span),
        }
    }

    fn file(&self, file: &duologue::protocol::File) -> Object {
        object! {
            // As findings name it, and as generated code does, independent of the working directory.
            "name": self.sources.get(file.source).name(),
            "path": file.path.as_str(),
            "package": list(&file.package, |part| part.text()),
            "docs": docs(&file.docs),
            "is_input": file.is_input,
            "imports": list(&file.imports, |id| id.index()),
            "types": list(&file.types, |id| id.index()),
            "bounds": list(&file.bounds, |id| id.index()),
            "protocols": list(&file.protocols, |id| id.index()),
            "instances": list(&file.instances, |id| id.index()),
        }
    }

    fn span(&self, span: Span) -> Object {
        let range = range(span, self.sources);
        object! {
            "file": self.files[&span.source],
            "start": json!(range.start),
            "end": json!(range.end),
        }
    }

    /// A type as it is written, on one line.
    fn written(&self, span: Span) -> String {
        let words = self.sources.slice(span).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    }

    /// Something about the names in generated code, target by target.
    fn names<'n, T: Into<Value>>(&'n self, of: impl Fn(&'n PublicNames) -> Option<T>) -> Object {
        let all = self.names.iter();
        all.map(|(target, names)| (target.name().to_owned(), of(names).into()))
            .collect()
    }
}

fn list<'t, T, V: Into<Value>>(all: &'t [T], each: impl FnMut(&'t T) -> V) -> Vec<Value> {
    all.iter().map(each).map(Into::into).collect()
}

/// The lines of a documentation comment as one text.
fn docs(docs: &Docs) -> String {
    docs.join("\n")
}
