//! `duologue dual --against`: whether a protocol is the dual of one in another file, typically
//! written by another team.

use crate::args::config::Exclude;
use crate::args::named::Named;
use crate::args::{Findings, Format, Sources};
use crate::output::answer;
use crate::terminal::{GOOD, Terminal, styled};
use duologue::compile::{Compilation, Request};
use duologue::diagnostic::Level;
use duologue::languages::Options;
use duologue::relation::{Origin, View, not_dual};
use duologue_project::baseline::checked;
use duologue_project::{Failure, Outcome, inputs};

/// Compares our protocol with the dual of theirs.
pub fn compare(ours: &Named, theirs: &Named, sources: Sources, terminal: &Terminal) -> Outcome {
    let by = |request: &Request| compare_checked(request, ours, theirs);
    let files = [ours.file.clone()];
    let (options, product) = (Options::default(), Findings::Product);
    let (_, answer) = sources.compile_by(by, &files, options, Format::Human, product, terminal)?;
    let (our_name, their_name) = answer.ok_or(Failure::Findings)?;
    let dual = styled(GOOD, "dual");
    terminal.tell(format_args!(
        "{dual}: `{our_name}` is the other side of `{their_name}`\n"
    ))
}

/// The names of both protocols if they are dual.
type Answer = Option<(String, String)>;

impl answer::Answer for Answer {}

fn compare_checked(
    request: &Request,
    ours: &Named,
    theirs: &Named,
) -> Result<(Compilation, Answer), Failure> {
    let mut our_compilation = checked(request, &duologue::files::Disk)?;
    let Some(our_checked) = &our_compilation.checked else {
        return Ok((our_compilation, None));
    };
    let mut other = request.clone();
    other.inputs = inputs::find(
        std::slice::from_ref(&theirs.file),
        &request.import_dirs,
        &Exclude::default(),
    )?
    .inputs;
    other.levels = vec![("all".to_owned(), Level::Allow)];
    let mut their_compilation = checked(&other, &duologue::files::Disk)?;
    let Some(their_checked) = &their_compilation.checked else {
        return Ok((their_compilation, None));
    };
    let our_view = View::of(our_checked.program(), ours.find(our_checked)?);
    let their_view = View::of(their_checked.program(), theirs.find(their_checked)?);
    let texts = std::mem::take(&mut their_compilation.sources);
    let moved = our_compilation.sources.absorb(texts, str::to_owned);
    our_compilation.diagnostics.clear();
    let answer = match not_dual(our_view, their_view) {
        None => {
            let name = |view: View<'_>| view.description().name.to_string();
            Some((name(our_view), name(their_view)))
        }
        Some(explanation) => {
            let there = |span| moved.span(span);
            let finding = explanation.finding("not-dual", None, Origin::Left, &|span| span, &there);
            our_compilation.diagnostics.push(finding);
            None
        }
    };
    Ok((our_compilation, answer))
}
