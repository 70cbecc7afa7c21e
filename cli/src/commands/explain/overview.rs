//! `duologue explain FILE` and `FILE#PROTOCOL`: what is in a file, and a protocol at a glance with what is guaranteed about it, as Markdown.

use super::guarantee::{self, document};
use crate::args::named::{Named, select};
use crate::args::{Shape, Sources};
use crate::terminal::{Terminal, print_json};
use duologue::check::{CheckedProgram, CheckedProtocol};
use duologue::endpoint::next;
use duologue::fingerprint::Fingerprint;
use duologue::graph::diagram::message_text;
use duologue::languages::{Options, Target, public_names};
use duologue::protocol::{Definition, Docs, File, Side, State};
use duologue::report::{counted, duration};
use duologue::source;
use duologue_project::Outcome;
use std::fmt::Write as _;

/// At most this many states of a protocol are shown, and messages of a state.
const MOST: (usize, usize) = (60, 12);

/// Prints the overview of what is named.
pub fn run(named: &Named, shape: Shape, sources: Sources, terminal: &Terminal) -> Outcome {
    let (checked, sources) = named.compile(sources, terminal)?;
    let protocols = select(&checked, named.protocol.as_deref())?;
    let document = document(&checked, &protocols);
    if let Shape::Json = shape {
        return print_json(&document, terminal);
    }
    let sheets = protocols.iter().zip(&document.protocols);
    let mut text = String::new();
    for (id, sheet) in sheets {
        let protocol = checked.protocol(*id);
        let shown = glance(protocol, &sources);
        let name = &protocol.protocol().name;
        text += &match named.protocol {
            Some(_) => {
                let names = names(protocol);
                format!("# `{name}`\n\n{shown}\n{names}\n{}", guarantee::text(sheet))
            }
            None => format!("## `{name}`\n\n{shown}\n{}\n", guarantee::summary(sheet)),
        };
    }
    if named.protocol.is_none() {
        let file = named.file.display();
        text = head(&checked, &sources) + &text;
        let name = protocols
            .first()
            .map(|id| &checked.program().protocol(*id).name);
        if let Some(name) = name {
            let _ = writeln!(
                text,
                "`duologue explain {file}#{name}` says what makes sure of each guarantee."
            );
        }
    }
    terminal.print_exactly(&format!("{}\n", text.trim_end()))
}

fn docs(docs: &Docs) -> String {
    match docs.is_empty() {
        true => String::new(),
        false => docs.join("\n") + "\n\n",
    }
}

/// The file, without its protocols.
fn head(checked: &CheckedProgram, sources: &source::Sources) -> String {
    let program = checked.program();
    let mut text = String::new();
    for file in program.files.iter().filter(|file| file.is_input) {
        let name = sources.get(file.source).name();
        let _ = write!(text, "# {name}\n\n{}", docs(&file.docs));
        let declared = declared(checked, file);
        if !declared.is_empty() {
            let _ = writeln!(text, "{declared}");
        }
    }
    text
}

/// What a file declares besides protocols, one line each, with the first line of its documentation.
fn declared(checked: &CheckedProgram, file: &File) -> String {
    let program = checked.program();
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
    let lines = types.chain(bounds).chain(instances);
    let lines = lines.map(|(word, name, docs)| match docs.first() {
        Some(first) => format!("- `{word} {name}`: {first}\n"),
        None => format!("- `{word} {name}`\n"),
    });
    lines.collect()
}

/// A protocol with its states.
fn glance(checked: CheckedProtocol<'_>, sources: &source::Sources) -> String {
    let protocol = checked.protocol();
    let mut text = docs(&protocol.docs);
    let messages = protocol.messages().count();
    let first = match protocol.start().active_side() {
        Some(side) => format!("; the {} sends first", side.word()),
        None => String::new(),
    };
    let _ = writeln!(
        text,
        "{}, {}{first}. In flight: {} to the server, {} to the client.\n",
        counted(protocol.states.len(), "state"),
        counted(messages, "message"),
        checked.capacity_to_server().words(),
        checked.capacity_to_client().words(),
    );
    for state in protocol.states.iter().take(MOST.0) {
        text += &line(checked, state, sources);
    }
    let more = protocol.states.len().saturating_sub(MOST.0);
    if more > 0 {
        let _ = writeln!(text, "- and {}", counted(more, "more state"));
    }
    text
}

/// A state with its messages.
fn line(checked: CheckedProtocol<'_>, state: &State, sources: &source::Sources) -> String {
    let shown = state.messages.iter().take(MOST.1).map(|message| {
        let next = next(checked.protocol(), &message.next);
        let next = next.map_or("!", |state| state.name.text());
        format!("`{} -> {next}`", message_text(message, sources))
    });
    let mut shown: Vec<String> = shown.collect();
    let more = state.messages.len().saturating_sub(MOST.1);
    if more > 0 {
        shown.push(format!("and {}", counted(more, "more message")));
    }
    let within = state
        .within
        .map(|limit| format!(" within {}", duration(limit.most)));
    let side = match state.active_side().map(Side::word) {
        Some(side) => format!("{side}{}: {}", within.unwrap_or_default(), shown.join(", ")),
        None => "the session is over".to_owned(),
    };
    format!("- `{}`, {side}\n", state.name)
}

/// What a protocol is called in generated code, and which older versions its sides accept.
fn names(checked: CheckedProtocol<'_>) -> String {
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
