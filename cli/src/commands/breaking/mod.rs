//! `duologue breaking`: whether a change can be deployed, and which side first.

mod accept;

use crate::args::{Findings, Sources, Style, TEMPLATE};
use crate::output::answer::Answer;
use crate::terminal::{ERROR, GOOD, NAME, QUIET, Terminal, WARNING, styled};
use accept::Accepting;
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
        let shows_accepting = self.accept || terminal.verbose;
        let lines = compared.verdicts.iter().zip(&compared.accepting);
        let table: String = lines
            .map(|(verdict, accepting)| {
                let accepting = if shows_accepting {
                    accepting.as_str()
                } else {
                    ""
                };
                text(verdict, terminal) + accepting
            })
            .collect();
        format.accompany(table, terminal)?;
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
        if let Fate::Kept(old, new, _) = versions.fate
            && let Some(accepting) = Accepting::between(old, new)
        {
            found.extend(accepting.may.unsound(old, new));
            line = accepting.words(added.contains(&versions.name));
            if accepting.missing.is_some() {
                compared.unwritten.push(versions.name.clone());
            }
        }
        compared.accepting.push(line);
        if let Fate::Kept(old, new, _) = versions.fate
            && new.instance.is_none()
        {
            let [old, new] = [old, new].map(|view| view.program.protocol(view.protocol));
            let states = waits_more(old, new).into_iter();
            let states = states.map(|state| format!("{}.{}", versions.name, state.name));
            compared.waiting.extend(states);
        }
        compared.verdicts.push(Verdict::on(&versions));
    }
    new.diagnostics = found;
    Ok((new, Compared::Both(compared)))
}

/// The verdict for people, with the matrix unless every pair is sound.
fn text(verdict: &Verdict, terminal: &Terminal) -> String {
    let style = match verdict.outcome {
        Outcome::Added => GOOD,
        Outcome::Removed => ERROR,
        Outcome::Kept { rollout, .. } => match rollout {
            Rollout::Same | Rollout::AnyOrder => GOOD,
            Rollout::ServerFirst | Rollout::ClientFirst => WARNING,
            Rollout::Incompatible => ERROR,
        },
    };
    let name = styled(NAME, &verdict.name);
    let reason = if verdict.reason.is_empty() {
        String::new()
    } else {
        format!(" ({})", verdict.reason)
    };
    let mut text = format!(
        "{name}: {}{reason}\n",
        styled(style, verdict.outcome.words())
    );
    if let Some(wire) = &verdict.wire {
        let note = styled(WARNING, "note");
        text += &format!(
            "    {note}: between processes neither side may accept the other version: {wire}\n\
             \x20         with `--wire` this is an error\n"
        );
    }
    let Outcome::Kept {
        old_client,
        new_client,
        ..
    } = verdict.outcome
    else {
        return text;
    };
    let is_shown = terminal.verbose || !old_client || !new_client;
    if is_shown && !terminal.quiet {
        let cell = |is_sound: bool| {
            if is_sound {
                styled(GOOD, "sound")
            } else {
                styled(ERROR, "UNSOUND")
            }
        };
        let head = format!("{:16}{:12}new server", "", "old server");
        text += &format!("{}\n", styled(QUIET, head));
        let mut row = |name: &str, with_old: bool, with_new: bool| {
            let with_old = cell(with_old) + if with_old { "       " } else { "     " };
            text += &format!("    {name:<12}{with_old}{}\n", cell(with_new));
        };
        row("old client", true, old_client);
        row("new client", new_client, true);
    }
    text
}
