//! A checked program as data for other programs: everything resolved, with the documentation at its elements. Within version 1,
//! fields are only added. `docs/model.schema.json` describes every field.

mod names;
mod protocols;
mod types;

use crate::record::{Range, range};
use duologue::check::CheckedProgram;
use duologue::languages::Options;
use duologue::name::Name;
use duologue::protocol::{Docs, FileId, Program};
use duologue::source::{SourceId, Sources, Span};
use duologue::wire::Sizes;
use names::AllNames;
pub use protocols::activity;
use protocols::{InstanceModel, ProtocolModel};
use serde::Serialize;
use std::collections::HashMap;
use types::{BoundModel, BuiltinModel, TypeModel};

/// The JSON Schema of a model.
pub const SCHEMA: &str = duologue::pages::MODEL_SCHEMA;

/// A checked program. Elements refer to each other by their positions in these lists.
#[derive(Debug, Serialize)]
pub struct Model {
    version: u32,
    tool: ToolModel,
    files: Vec<FileModel>,
    builtins: Vec<BuiltinModel>,
    types: Vec<TypeModel>,
    bounds: Vec<BoundModel>,
    protocols: Vec<ProtocolModel>,
    instances: Vec<InstanceModel>,
}

#[derive(Debug, Serialize)]
struct ToolModel {
    name: &'static str,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct FileModel {
    /// As findings name it.
    name: String,
    /// As generated code names it, independent of the working directory.
    path: String,
    package: Vec<String>,
    docs: String,
    is_input: bool,
    imports: Vec<usize>,
    types: Vec<usize>,
    bounds: Vec<usize>,
    protocols: Vec<usize>,
    instances: Vec<usize>,
}

/// A range of a file.
#[derive(Debug, Serialize)]
struct SpanModel {
    file: usize,
    #[serde(flatten)]
    range: Range,
}

/// What every declaration has.
#[derive(Debug, Serialize)]
struct HeadModel {
    name: String,
    full_name: String,
    file: usize,
    docs: String,
    span: SpanModel,
}

/// What every element of the model needs.
struct Context<'a> {
    checked: &'a CheckedProgram,
    program: &'a Program,
    sources: &'a Sources,
    sizes: Sizes,
    names: AllNames,
    /// The file of each text.
    files: HashMap<SourceId, usize>,
}

impl Model {
    /// The model of a program, with the names that the targets declare under these options.
    #[must_use]
    pub fn of(checked: &CheckedProgram, sources: &Sources, options: &Options) -> Model {
        let program = checked.program();
        let files = program.files.iter().enumerate();
        let context = Context {
            checked,
            program,
            sources,
            sizes: Sizes::of(program),
            names: AllNames::of(program, options),
            files: files.map(|(index, file)| (file.source, index)).collect(),
        };
        Model {
            version: 1,
            tool: ToolModel {
                name: "duologue",
                version: env!("CARGO_PKG_VERSION"),
            },
            files: program
                .files
                .iter()
                .map(|file| context.file(file))
                .collect(),
            builtins: types::builtins(),
            types: types::types(&context),
            bounds: types::bounds(&context),
            protocols: protocols::protocols(&context),
            instances: protocols::instances(&context),
        }
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
    fn head(&self, name: &Name, file: FileId, lines: &Docs) -> HeadModel {
        HeadModel {
            name: name.to_string(),
            full_name: self.program.full_name(file, name.text()),
            file: file.index(),
            docs: docs(lines),
            span: self.span(name.span),
        }
    }

    fn file(&self, file: &duologue::protocol::File) -> FileModel {
        FileModel {
            name: self.sources.get(file.source).name().to_owned(),
            path: file.path.clone(),
            package: file.package.iter().map(ToString::to_string).collect(),
            docs: docs(&file.docs),
            is_input: file.is_input,
            imports: file.imports.iter().map(|id| id.index()).collect(),
            types: file.types.iter().map(|id| id.index()).collect(),
            bounds: file.bounds.iter().map(|id| id.index()).collect(),
            protocols: file.protocols.iter().map(|id| id.index()).collect(),
            instances: file.instances.iter().map(|id| id.index()).collect(),
        }
    }

    fn span(&self, span: Span) -> SpanModel {
        SpanModel {
            file: self.files[&span.source],
            range: range(span, self.sources),
        }
    }

    /// A type as it is written, on one line.
    fn written(&self, span: Span) -> String {
        let words = self.sources.slice(span).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The lines of a documentation comment as one text.
fn docs(docs: &Docs) -> String {
    docs.join("\n")
}
