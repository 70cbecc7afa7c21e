//! `duologue explain FILE` and `FILE#PROTOCOL`: what is in a file, and a protocol at a glance with what is guaranteed about it, as Markdown.

use super::guarantee::{self, Sheet, document};
use crate::args::named::{Named, select};
use crate::args::{Shape, Sources};
use crate::terminal::{Terminal, print_json};
use askama::Template;
use duologue::check::{CheckedProgram, CheckedProtocol};
use duologue::endpoint::next;
use duologue::fingerprint::Fingerprint;
use duologue::graph::diagram::message_text;
use duologue::languages::{Options, Target, public_names};
use duologue::name::Name;
use duologue::protocol::{Definition, Docs, File, Limit, Message, Protocol};
use duologue::report::duration;
use duologue::source;
use duologue_project::Outcome;
use std::fmt::Write as _;

/// At most this many states of a protocol are shown.
const MOST_STATES: usize = 60;
/// At most this many messages of a state are shown.
const MOST_MESSAGES: usize = 12;

/// A file with its protocols, or a protocol with everything that is guaranteed about it.
#[derive(Template)]
#[template(path = "explain/overview.jinja")]
struct Overview<'a> {
    checked: &'a CheckedProgram,
    sources: &'a source::Sources,
    named: &'a Named,
    protocols: Vec<(CheckedProtocol<'a>, &'a Sheet)>,
}

/// Prints the overview of what is named.
pub fn run(named: &Named, shape: Shape, sources: Sources, terminal: &Terminal) -> Outcome {
    let (checked, sources) = named.compile(sources, terminal)?;
    let ids = select(&checked, named.protocol.as_deref())?;
    let document = document(&checked, &ids);
    if let Shape::Json = shape {
        return print_json(&document, terminal);
    }
    let protocols = ids.iter().map(|id| checked.protocol(*id));
    let overview = Overview {
        checked: &checked,
        sources: &sources,
        named,
        protocols: protocols.zip(&document.protocols).collect(),
    };
    terminal.print_exactly(&format!("{}\n", overview.to_string().trim_end()))
}

impl Overview<'_> {
    fn docs(docs: &Docs) -> String {
        match docs.is_empty() {
            true => String::new(),
            false => docs.join("\n") + "\n\n",
        }
    }

    fn inputs(&self) -> impl Iterator<Item = (&str, &File)> {
        let files = self.checked.program().inputs();
        files.map(|file| (self.sources.get(file.source).name(), file))
    }

    /// What a file declares besides protocols.
    fn declared(&self, file: &File) -> Vec<(&'static str, &Name, &Docs)> {
        let program = self.checked.program();
        let types = file.types.iter().map(|id| program.ty(*id));
        let types = types.map(|ty| {
            let word = match &ty.definition {
                Definition::Alias(_) => "type",
                Definition::Struct(_) => "struct",
                Definition::Enum(_) => "enum",
                Definition::Extern(..) => "extern type",
            };
            (word, &ty.name, &ty.docs)
        });
        let bounds = file.bounds.iter().map(|id| program.bound(*id));
        let bounds = bounds.map(|bound| ("extern bound", &bound.name, &bound.docs));
        let instances = file.instances.iter().map(|id| program.instance(*id));
        let instances = instances.map(|one| ("proto!", &one.name, &one.docs));
        types.chain(bounds).chain(instances).collect()
    }

    fn message(&self, protocol: &Protocol, message: &Message) -> String {
        let next = next(protocol, &message.next).map_or("!", |state| state.name.text());
        format!("{} -> {next}", message_text(message, self.sources))
    }

    fn duration(limit: &Limit) -> String {
        duration(limit.most)
    }

    /// What a protocol is called in generated code, and which older versions its sides accept.
    fn names(checked: &CheckedProtocol<'_>) -> String {
        let names = Target::ALL.into_iter().filter_map(|target| {
            let names = public_names(checked.program(), target, &Options::default());
            let found = names.protocols[checked.id().index()].as_ref()?;
            Some(format!("{}: `{}`", target.title(), found.name))
        });
        let names: Vec<String> = names.collect();
        let mut text = String::new();
        if !names.is_empty() {
            let _ = writeln!(text, "In generated code: {}.", names.join(", "));
        }
        for accepted in &checked.protocol().accepts {
            let (side, older) = (accepted.side.word(), Fingerprint(accepted.fingerprint));
            let _ = writeln!(text, "The {side} also accepts the version {older}.");
        }
        text
    }
}
