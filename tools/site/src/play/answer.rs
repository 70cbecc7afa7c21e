//! Answers: what each command returns.

use super::breaking::breaking;
use super::memory::Memory;
use super::reply::{Answer, File, findings};
use super::request::{Command, Format, Request};
use crate::doc;
use crate::picture::{self, Layout, TooLarge};
use duologue::check::CheckedProgram;
use duologue::compile::{Compilation, Files, compile};
use duologue::graph::diagram;
use duologue::graph::promela::promela;
use duologue::languages::{self, Target};
use duologue::protocol::{Protocol, StateId};
use duologue::source::Sources;
use duologue::syntax::decode;
use duologue::syntax::format::{Unformatted, format};
use duologue_reports::model::Model;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Wrong {
    error: String,
}

/// Answers a request in JSON. If the request itself is wrong, the answer has only `error`.
#[must_use]
pub fn answer(request: &[u8]) -> String {
    let request = serde_json::from_slice(request);
    let request = request.map_err(|wrong| format!("the request is wrong: {wrong}"));
    let written = match request.and_then(|request| respond(&request)) {
        Ok(answer) => serde_json::to_string(&answer),
        Err(error) => serde_json::to_string(&Wrong { error }),
    };
    written.expect("names and texts can be written as JSON")
}

fn respond(request: &Request) -> Result<Answer, String> {
    if let Command::Version = request.command {
        let version = Some(env!("CARGO_PKG_VERSION"));
        return Ok(Answer {
            ok: true,
            version,
            ..Answer::default()
        });
    }
    if let Command::Fmt = request.command {
        return formatted(request);
    }
    let wanted = request.compilation()?;
    let compiled = compile(&wanted, &Memory(&request.files));
    let compiled =
        compiled.map_err(|missing| format!("{}: {}", missing.path.display(), missing.error))?;
    if let Command::Breaking = request.command {
        return breaking(request, compiled, &wanted);
    }
    let mut answer = findings(&compiled);
    let Some(checked) = &compiled.checked else {
        return Ok(answer);
    };
    match request.command {
        Command::Gen => {
            for target in &wanted.options.targets {
                let generated = languages::generate(checked, *target, &wanted.options);
                answer.notes.extend(generated.notes);
                let file = |file: languages::OutputFile| File {
                    target: Some(Target::name(*target)),
                    path: file.path,
                    text: file.text,
                };
                answer.files.extend(generated.files.into_iter().map(file));
            }
        }
        Command::Graph => answer.output = Some(graph(request, checked, &compiled.sources)?),
        Command::Model => {
            let model = Model::of(checked, &compiled.sources, &wanted.options);
            answer.output = Some(model.pretty());
        }
        Command::Play => {
            answer.protocols = doc::playable(checked, &compiled.sources, &wanted.options)
        }
        Command::Check | Command::Fmt | Command::Breaking | Command::Version => {}
    }
    Ok(answer)
}

fn formatted(request: &Request) -> Result<Answer, String> {
    let files = Memory(&request.files);
    let mut sources = Sources::default();
    let mut errors = Vec::new();
    let mut files_out = Vec::new();
    for path in request.named() {
        let text = files.read(Path::new(path));
        let text = text.map_err(|error| format!("{path}: {error}"))?;
        let (source, error) = decode(&mut sources, path, text);
        let result = match error {
            Some(error) => Err(Unformatted::Invalid(vec![error])),
            None => format(source, sources.get(source).text()),
        };
        match result {
            Ok(text) => files_out.push(File {
                target: None,
                path: path.to_owned(),
                text,
            }),
            Err(Unformatted::Invalid(found)) => errors.extend(found),
            Err(Unformatted::Refused(difference)) => {
                return Err(format!(
                    "cannot format {path}: {difference}; this is a bug in duologue"
                ));
            }
        }
    }
    let mut compiled = Compilation::default();
    compiled.sources = sources;
    compiled.diagnostics = errors;
    Ok(Answer {
        files: files_out,
        ..findings(&compiled)
    })
}

fn graph(request: &Request, checked: &CheckedProgram, sources: &Sources) -> Result<String, String> {
    let program = checked.program();
    let inputs = program.inputs();
    let mut all = inputs
        .flat_map(|file| &file.protocols)
        .map(|id| program.protocol(*id));
    let protocol = match &request.protocol {
        None => all.next().ok_or("the inputs have no protocol")?,
        Some(name) => {
            let found = all.find(|protocol| protocol.name.text() == name);
            found.ok_or_else(|| format!("there is no protocol `{name}`"))?
        }
    };
    Ok(match request.format {
        Format::Svg => {
            let picture = match &request.state {
                None => picture::whole(protocol, sources).map_err(|TooLarge { states, arrows }| {
                    format!("`{}` has {states} states and {arrows} arrows, too many for a picture; name a state", protocol.name)
                })?,
                Some(name) => picture::surroundings(protocol, sources, state(protocol, name)?),
            };
            picture::svg(&picture, &Layout::of(&picture))
        }
        Format::Dot => diagram::dot(protocol, sources),
        Format::Mermaid => diagram::mermaid(protocol, sources),
        Format::Promela => promela(protocol),
    })
}

fn state(protocol: &Protocol, name: &str) -> Result<StateId, String> {
    let found = protocol
        .state_ids()
        .find(|id| protocol.state(*id).name.text() == name);
    found.ok_or_else(|| format!("there is no state `{name}` in `{}`", protocol.name))
}
