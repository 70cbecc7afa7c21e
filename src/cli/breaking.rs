//! `duologue breaking`: whether a change can be deployed, and which side first.

use super::args::{Findings, Format, Sources, Style};
use super::revision::Revision;
use super::terminal::{ERROR, GOOD, NAME, QUIET, Terminal, WARNING, styled};
use super::{Failure, Outcome, TEMPLATE, inputs};
use clap::{Args, ValueEnum};
use duologue::compile::{Compilation, Files, Input, Request, compile};
use duologue::diagnostic::Level;
use duologue::files::Disk;
use duologue::relation::{Change, Fate, Mixture, Renamed, Require, Rollout, Versions, versions};
use duologue::target::Options;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue breaking --against origin/main
                                      may this branch be deployed, and which side first?
  duologue breaking protocols --against v1.2 --require any-order
                                      fail also if it depends on the order
  duologue breaking bank.proto --against old/bank.proto
                                      compare two files
";

/// Compare with an older version: may the change be deployed, and which side first?
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Breaking {
    /// Files and directories of the new version
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The old version: a directory, a file, or a git revision such as a branch, a tag or HEAD~1
    #[arg(long, value_name = "REV|DIR|FILE")]
    against: String,
    /// When to succeed: if there is some-order in which the two sides can be deployed, or if any-order will do
    #[arg(
        long,
        value_enum,
        default_value = "some-order",
        hide_possible_values = true,
        value_name = "ORDER"
    )]
    require: Order,
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

/// The verdict on one protocol, in words.
struct Verdict {
    name: String,
    is_added: bool,
    /// `None` where there is only one version.
    rollout: Option<Rollout>,
    reason: String,
    /// Whether old clients with new servers, and new clients with old servers, are sound.
    sound: [bool; 2],
}

impl Breaking {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let require = match self.require {
            Order::AnyOrder => Require::AnyOrder,
            Order::SomeOrder => Require::SomeOrder,
        };
        let (against, paths) = (self.against, self.paths);
        let by = |request: &Request| comparison(request, &paths, &against, require);
        let (options, format) = (Options::default(), self.style.format);
        let product = Findings::Product;
        let sources = self.sources;
        let (compiled, verdicts) =
            sources.compile_by(by, &paths, options, format, product, terminal)?;
        let verdicts = match verdicts {
            Compared::Verdicts(verdicts) => verdicts,
            Compared::OldIsWrong => {
                let words = format!("the old version, `{against}`, has errors itself");
                return Err(Failure::Environment(words));
            }
            Compared::NewIsWrong => return Err(Failure::Findings),
        };
        let table: String = verdicts
            .iter()
            .map(|verdict| verdict.text(terminal))
            .collect();
        match format {
            Format::Human => terminal.print(table)?,
            Format::Short | Format::Json | Format::Sarif | Format::Junit | Format::Github => {
                terminal.tell(table)?;
            }
        }
        let mut found = compiled.diagnostics.iter();
        if found.any(|diagnostic| diagnostic.level == Level::Deny) {
            return Err(Failure::Findings);
        }
        Ok(())
    }
}

enum Compared {
    Verdicts(Vec<Verdict>),
    OldIsWrong,
    NewIsWrong,
}

/// Checks both versions. The findings are those of the comparison, or of the version that has errors.
fn comparison(
    request: &Request,
    paths: &[PathBuf],
    against: &str,
    require: Require,
) -> Result<(Compilation, Compared), Failure> {
    let mut new = checked(request, &Disk)?;
    let Some(new_checked) = &new.checked else {
        return Ok((new, Compared::NewIsWrong));
    };
    let mut old = old_version(request, paths, against)?;
    let mut verdicts = Vec::new();
    let mut found = Vec::new();
    let texts = std::mem::take(&mut old.sources);
    let named = |name: &str| version_name(name, against);
    let Some(old_checked) = &old.checked else {
        // They are the only texts, so no span moves.
        old.sources.absorb(texts, named);
        return Ok((old, Compared::OldIsWrong));
    };
    let moved = new.sources.absorb(texts, named);
    for versions in versions(old_checked.program(), new_checked.program()) {
        found.extend(versions.findings(require, moved));
        verdicts.push(Verdict::on(&versions));
    }
    new.diagnostics = found;
    Ok((new, Compared::Verdicts(verdicts)))
}

/// How reports name a file of the old version: so that it is not taken for the one on the disk.
fn version_name(name: &str, against: &str) -> String {
    if Path::new(against).exists() {
        name.to_owned()
    } else {
        format!("{name} @ {against}")
    }
}

/// Reads and checks the old version; rules other than errors do not matter there.
fn old_version(
    request: &Request,
    paths: &[PathBuf],
    against: &str,
) -> Result<Compilation, Failure> {
    let mut old = Request {
        levels: vec![("all".to_owned(), Level::Allow)],
        ..request.clone()
    };
    let path = Path::new(against);
    if path.exists() {
        old.inputs = inputs::find(&[path.to_path_buf()], &[])?;
        if path.is_dir() {
            old.import_dirs.insert(0, path.to_path_buf());
        }
        return checked(&old, &Disk);
    }
    let is_text = |input: &Input| matches!(input, Input::Text { .. });
    if request.inputs.iter().any(is_text) {
        let words = "standard input has no older version in git; compare it with a file";
        return Err(Failure::Usage(words.to_owned()));
    }
    let here = PathBuf::from(".");
    let revision = Revision::open(against, paths.first().unwrap_or(&here))?;
    old.inputs = revision.inputs(paths, &request.inputs);
    checked(&old, &revision)
}

/// Reads and checks one version.
pub fn checked(request: &Request, files: &dyn Files) -> Result<Compilation, Failure> {
    compile(request, files).map_err(|unreadable| {
        let path = unreadable.path.display();
        Failure::Environment(format!("cannot read {path}: {}", unreadable.error))
    })
}

impl Verdict {
    fn on(versions: &Versions<'_>) -> Verdict {
        let mut verdict = Verdict {
            name: versions.name.clone(),
            is_added: false,
            rollout: None,
            reason: String::new(),
            sound: [true, true],
        };
        match &versions.fate {
            Fate::Added => verdict.is_added = true,
            Fate::Removed(..) => {}
            Fate::Kept(_, _, change) => {
                verdict.rollout = Some(change.rollout());
                verdict.reason = reason(change);
                verdict.sound = [Mixture::OldClient, Mixture::OldServer]
                    .map(|mixture| change.failure(mixture).is_none());
            }
        }
        verdict
    }

    fn text(&self, terminal: &Terminal) -> String {
        let (style, words) = match self.rollout {
            None if self.is_added => (GOOD, "added"),
            None => (ERROR, "incompatible: removed"),
            Some(rollout) => {
                let style = match rollout {
                    Rollout::Same | Rollout::AnyOrder => GOOD,
                    Rollout::ServerFirst | Rollout::ClientFirst => WARNING,
                    Rollout::Incompatible => ERROR,
                };
                (style, rollout.words())
            }
        };
        let name = styled(NAME, &self.name);
        let reason = if self.reason.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.reason)
        };
        let mut text = format!("{name}: {}{reason}\n", styled(style, words));
        let is_shown = terminal.verbose || self.sound != [true, true];
        if self.rollout.is_some() && is_shown && !terminal.quiet {
            let cell = |is_sound: bool| {
                if is_sound {
                    styled(GOOD, "sound")
                } else {
                    styled(ERROR, "UNSOUND")
                }
            };
            let head = format_args!("{:16}{:12}new server", "", "old server");
            text += &format!("{}\n", styled(QUIET, head));
            let [old_client, old_server] = self.sound;
            let mut row = |name: &str, with_old: bool, with_new: bool| {
                let with_old = cell(with_old) + if with_old { "       " } else { "     " };
                text += &format!("    {name:<12}{with_old}{}\n", cell(with_new));
            };
            row("old client", true, old_client);
            row("new client", old_server, true);
        }
        text
    }
}

fn reason(change: &Change<'_>) -> String {
    match (change.rollout(), &change.renamed) {
        (Rollout::AnyOrder, Some(Renamed { what, old, new })) => {
            let change = match (old.as_str(), new.as_str()) {
                ("", new) => format!("{what} `{new}` is new"),
                (old, "") => format!("{what} `{old}` is gone"),
                (old, new) => format!("{what} `{old}` became `{new}`"),
            };
            format!("{change}; nothing that travels has changed")
        }
        (Rollout::ServerFirst, _) => "new servers understand old clients".to_owned(),
        (Rollout::ClientFirst, _) => "new clients understand old servers".to_owned(),
        (Rollout::Incompatible, _) => "neither understands the other".to_owned(),
        (Rollout::Same | Rollout::AnyOrder, _) => String::new(),
    }
}
