//! A site about a program: a page for each protocol, state, type and file. The pages need no server, no scripts and no other site.

mod addresses;
mod changes;
mod context;
mod markdown;
mod pages;
mod table;
mod talk;

use crate::picture::{self, Layout};
use crate::script;
use context::Context;
use duologue::check::CheckedProgram;
use duologue::diagnostic::Diagnostic;
use duologue::languages::{Options, OutputFile};
use duologue::protocol::{FileId, ProtocolId, TypeId};
use duologue::relation::Verdict;
use duologue::source::Sources;
pub use pages::page::MARKER;
use pages::state::Surroundings;
use pages::types::Users;

/// What a site is about.
pub struct Input<'a> {
    /// Its name.
    pub title: &'a str,
    /// The program.
    pub checked: &'a CheckedProgram,
    /// Its texts.
    pub sources: &'a Sources,
    /// The options that the names in generated code depend on.
    pub options: &'a Options,
    /// What was found in it.
    pub findings: &'a [Diagnostic],
    /// How it compares with an older version.
    pub versions: Option<Comparison<'a>>,
}

/// A comparison with an older version.
pub struct Comparison<'a> {
    /// The older version, as the user names it.
    pub against: &'a str,
    /// What became of each protocol, in the order of their names.
    pub compared: &'a [Compared],
    /// The texts of both versions.
    pub sources: &'a Sources,
}

/// What became of one protocol.
pub struct Compared {
    /// In a few words.
    pub verdict: Verdict,
    /// The reasons.
    pub findings: Vec<Diagnostic>,
}

/// The files of a site, all in one folder.
#[must_use]
pub fn site(input: &Input<'_>) -> Vec<OutputFile> {
    let context = Context::of(input.checked, input.sources, input.options);
    let program = input.checked.program();
    let mut pages = Vec::new();
    let mut placed = vec![false; input.findings.len()];
    for (index, protocol) in program.protocols.iter().enumerate() {
        let id = ProtocolId::new(index);
        let name = context.full_name(protocol.file, &protocol.name);
        let versions = input.versions.as_ref();
        let verdict = versions.and_then(|versions| changes::verdict(&context, id, &name, versions));
        let mut findings = Vec::new();
        for (found, placed) in input.findings.iter().zip(&mut placed) {
            let (at, whole) = (found.primary.span, protocol.span);
            let is_inside =
                at.source == whole.source && whole.range().contains(&(at.start as usize));
            if is_inside && !*placed {
                *placed = true;
                findings.push(changes::finding(&context, found, input.sources, Some(id)));
            }
        }
        pages.push(pages::protocol::page(&context, id, verdict, findings));
        let around = Surroundings::of(protocol);
        let states = protocol.state_ids();
        pages.extend(states.map(|state| pages::state::page(&context, id, state, &around)));
    }
    let users = Users::of(program);
    let types = (0..program.types.len()).map(TypeId::new);
    pages.extend(types.map(|id| pages::types::page(&context, id, &users)));
    let files = (0..program.files.len()).map(FileId::new);
    pages.extend(files.map(|id| pages::listing::page(&context, id)));
    let rest = input.findings.iter().zip(&placed);
    let rest = rest.filter(|(_, placed)| !**placed);
    let rest = rest.map(|(found, _)| changes::finding(&context, found, input.sources, None));
    pages.push(pages::index::page(
        &context,
        input.title,
        rest.collect(),
        input.versions.as_ref(),
    ));
    let mut files: Vec<OutputFile> = pages
        .into_iter()
        .map(|page| page.file(input.title))
        .collect();
    let mut add = |path: &str, text: String| {
        let path = path.to_owned();
        files.push(OutputFile { path, text });
    };
    let style = include_str!("../../templates/duologue.css");
    add("duologue.css", format!("/* {MARKER} */\n{style}"));
    let search = pages::index::search(&context);
    let script =
        script::joined(&[script::STEPPER, &[include_str!("../../templates/site.mjs")]].concat());
    let script = format!("/* {MARKER} */\n\"use strict\";\n{script}page({search});\n");
    add("duologue.js", script);
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

/// What a page outside a site needs to show a protocol and to play it.
#[derive(serde::Serialize)]
pub struct Playable {
    /// Its name.
    pub name: String,
    /// The path of its file.
    pub file: String,
    /// Its picture as in the site, where each state links to `#` and its name. `None` if it is too large.
    pub picture: Option<String>,
    /// What the stepper reads, as JSON.
    pub table: String,
    /// Where each state is declared, in bytes of its file.
    pub states: Vec<usize>,
}

/// The protocols of the input files.
#[must_use]
pub fn playable(checked: &CheckedProgram, sources: &Sources, options: &Options) -> Vec<Playable> {
    let context = Context::of(checked, sources, options);
    let program = checked.program();
    let inputs = program.inputs();
    let all = inputs.flat_map(|file| file.protocols.iter().map(move |id| (file, *id)));
    let playable = all.map(|(file, id)| {
        let protocol = program.protocol(id);
        let links = |state| format!("#{}", protocol.state(state).name);
        let picture = picture::whole(protocol, sources).ok();
        let states = protocol.states.iter();
        let states = states.map(|state| state.name.span.start as usize);
        Playable {
            name: program.full_name(protocol.file, protocol.name.text()),
            file: sources.get(file.source).name().to_owned(),
            picture: picture
                .map(|picture| picture::inline(&picture, &Layout::of(&picture), &links)),
            table: table::table(&context, id).to_string(),
            states: states.collect(),
        }
    });
    playable.collect()
}
