//! `duologue breaking`: whether a change can be deployed, and which side first.

mod accept;

use crate::args::{Findings, Sources, Style, TEMPLATE};
use crate::output::answer::Answer;
use crate::terminal::{ERROR, GOOD, NAME, QUIET, Terminal, WARNING, styled};
use accept::Accepting;
use askama::Template;
use clap::{Args, ValueEnum};
use duologue::compile::{Compilation, Request};
use duologue::diagnostic::Level;
use duologue::endpoint::waits_more;
use duologue::files::Disk;
use duologue::languages::Options;
use duologue::relation::{Fate, Outcome, Require, Rollout, Travel, Verdict, versions};
use duologue::report::counted;
use duologue_project::Failure;
use duologue_project::baseline::{Old, checked};
use std::path::PathBuf;

const EXAMPLES: &str = "  duologue breaking --against origin/main
                                      can this branch be deployed, and which side first?
  duologue breaking protocols --against v1.2 --require any-order
                                      also fail if the order matters
  duologue breaking bank.proto --against old/bank.proto
                                      compare two files
  duologue breaking --against v1.2 --accept
                                      write into the files that one side accepts the fingerprints of v1.2
";

/// Compare with an older version: can the change be deployed, and which side first?
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Breaking {
    /// Files and directories of the new version
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The old version: a directory, a file, or a git revision such as a branch, a tag or HEAD~1
    #[arg(long, value_name = "REV|DIR|FILE")]
    against: String,
    /// When to succeed: some-order, if the two sides can be deployed in some order, or any-order, if they can be deployed in any
    /// order
    #[arg(long, default_value = "some-order", value_name = "ORDER")]
    require: Order,
    /// Compare messages by position, as separate processes do: moving a message within its state is an error
    #[arg(long)]
    wire: bool,
    /// Write into the files, as #[accepts(...)], which side accepts the fingerprint of the old version between processes; those already
    /// there are kept. Fails, as with --wire, where neither side can
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    style: Style,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    AnyOrder,
    SomeOrder,
}

impl Breaking {
    pub fn run(self, terminal: &Terminal) -> duologue_project::Outcome {
        let require = match self.require {
            Order::AnyOrder => Require::AnyOrder,
            Order::SomeOrder => Require::SomeOrder,
        };
        let travel = match self.wire || self.accept {
            true => Travel::Positions,
            false => Travel::Names,
        };
        let against = self.against;
        let old = Old::find(&against, &self.paths)?;
        let here = old.still_here(&self.paths);
        let by = |request: &Request| {
            comparison(request, &self.paths, &old, (require, travel), self.accept)
        };
        let (options, format) = (Options::default(), self.style.format);
        let product = Findings::Product;
        let sources = self.sources;
        let (compiled, compared) =
            sources.compile_by(by, &here, options, format, product, terminal)?;
        let compared = match compared {
            Compared::Both(compared) => compared,
            Compared::OldIsWrong => {
                bail_environment!("the old version, `{against}`, itself has errors");
            }
            Compared::NewIsWrong => return Err(Failure::Findings),
        };
        let verdicts = Verdicts {
            compared: &compared,
            shows_accepting: self.accept || terminal.verbose,
            terminal,
        };
        format.accompany(verdicts.to_string(), terminal)?;
        if let [first, more @ ..] = &compared.unwritten[..] {
            let note = styled(WARNING, "note");
            let more = match more.len() {
                0 => String::new(),
                more => format!(" and {}", counted(more, "other protocol")),
            };
            terminal.tell(format_args!(
                "{note}: between processes the two versions of `{first}`{more} talk to each other only if one side accepts the other's \
                 fingerprint: `duologue breaking --against {against} --accept` writes that into the files\n"
            ))?;
        }
        for state in compared.waiting {
            let note = styled(WARNING, "note");
            terminal.tell(format_args!(
                "{note}: in state `{state}` a send may now wait for its receiver, and block its thread: in tasks, send with the methods for \
                 tasks\n"
            ))?;
        }
        let mut found = compiled.diagnostics.iter();
        if found.any(|diagnostic| diagnostic.level == Level::Deny) {
            return Err(Failure::Findings);
        }
        Ok(())
    }
}

enum Compared {
    Both(Comparison),
    OldIsWrong,
    NewIsWrong,
}

#[derive(Default)]
struct Comparison {
    verdicts: Vec<Verdict>,
    /// For each verdict, a line about the side that may accept the old fingerprint; may be empty.
    accepting: Vec<String>,
    /// The protocols of which a side may accept the old fingerprint, but the file does not say so.
    unwritten: Vec<String>,
    /// The states in which a send may have to wait, as it could not before.
    waiting: Vec<String>,
}

impl Answer for Compared {
    fn verdicts(&self) -> Option<&[Verdict]> {
        match self {
            Compared::Both(compared) => Some(&compared.verdicts),
            Compared::OldIsWrong | Compared::NewIsWrong => None,
        }
    }
}

/// Checks both versions. The findings are those of the comparison, or of the version that has errors.
fn comparison(
    request: &Request,
    paths: &[PathBuf],
    old_version: &Old<'_>,
    (require, travel): (Require, Travel),
    accept: bool,
) -> Result<(Compilation, Compared), Failure> {
    let mut new = checked(request, &Disk)?;
    if new.checked.is_none() {
        return Ok((new, Compared::NewIsWrong));
    }
    let mut old = old_version.check(request, paths)?;
    let mut added = Vec::new();
    if accept && let (Some(old), Some(own)) = (&old.checked, &new.checked) {
        added = accept::write(request, old.program(), &new, own.program())?;
        new = checked(request, &Disk)?;
    }
    let Some(new_checked) = &new.checked else {
        return Ok((new, Compared::NewIsWrong));
    };
    let mut found = Vec::new();
    let mut compared = Comparison::default();
    let texts = std::mem::take(&mut old.sources);
    let named = |name: &str| old_version.name_of(name);
    let Some(old_checked) = &old.checked else {
        // They are the only texts, so no span moves.
        old.sources.absorb(texts, named);
        return Ok((old, Compared::OldIsWrong));
    };
    let moved = new.sources.absorb(texts, named);
    for versions in versions(old_checked.program(), new_checked.program(), travel) {
        found.extend(versions.findings(require, moved));
        let mut line = String::new();
        if let Fate::Kept(old, new, _) = versions.fate {
            if let Some(accepting) = Accepting::between(old, new) {
                found.extend(accepting.may.unsound(old, new));
                line = accepting.words(added.contains(&versions.name));
                if accepting.missing.is_some() {
                    compared.unwritten.push(versions.name.clone());
                }
            }
            if new.instance.is_none() {
                let [old, new] = [old, new].map(|view| view.program.protocol(view.protocol));
                let states = waits_more(old, new).into_iter();
                let states = states.map(|state| format!("{}.{}", versions.name, state.name));
                compared.waiting.extend(states);
            }
        }
        compared.accepting.push(line);
        compared.verdicts.push(Verdict::on(&versions));
    }
    new.diagnostics = found;
    Ok((new, Compared::Both(compared)))
}

/// The verdicts for people, each with the matrix unless every pair is sound.
#[derive(Template)]
#[template(path = "breaking.jinja")]
struct Verdicts<'a> {
    compared: &'a Comparison,
    shows_accepting: bool,
    terminal: &'a Terminal,
}

impl Verdicts<'_> {
    fn style(verdict: &Verdict) -> anstyle::Style {
        match verdict.outcome {
            Outcome::Added => GOOD,
            Outcome::Removed => ERROR,
            Outcome::Kept { rollout, .. } => match rollout {
                Rollout::Same | Rollout::AnyOrder => GOOD,
                Rollout::ServerFirst | Rollout::ClientFirst => WARNING,
                Rollout::Incompatible => ERROR,
            },
        }
    }

    /// Whether old clients work with the new server, and new clients with the old one, if that is shown.
    fn matrix(&self, verdict: &Verdict) -> Option<(bool, bool)> {
        let Outcome::Kept {
            old_client,
            new_client,
            ..
        } = verdict.outcome
        else {
            return None;
        };
        let is_shown = self.terminal.verbose || !old_client || !new_client;
        (is_shown && !self.terminal.quiet).then_some((old_client, new_client))
    }
}
