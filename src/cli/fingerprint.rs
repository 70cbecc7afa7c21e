//! `duologue fingerprint`: prints the hashes by which two processes recognize that they use the same protocol.

use super::answer::Answer;
use super::args::{Findings, Format, Sources};
use super::baseline::{Old, checked};
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE};
use clap::Args;
use duologue::compile::{Compilation, Request};
use duologue::files::Disk;
use duologue::fingerprint::Fingerprint as Hash;
use duologue::protocol::Program;
use duologue::relation::{Fate, Travel, View, canonical, refusal, tag_mismatch, versions};
use duologue::target::Options;
use std::collections::BTreeMap;
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue fingerprint bank.proto     a line for each protocol: its name and its fingerprint
  duologue fingerprint bank.proto --text
                                      also the text that is hashed; see docs/wire.md
  duologue fingerprint bank.proto --against v1.2
                                      which side may accept the fingerprints of an older version
";

/// Print each protocol's fingerprint, which two processes compare to check that they use the same protocol
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Fingerprint {
    /// Files and directories
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Also print the text from which each fingerprint is computed
    #[arg(long)]
    text: bool,
    /// Report which side may accept the fingerprints of an older version, which is a directory, a file, or a git revision; fail
    /// if neither may
    #[arg(long, value_name = "REV|DIR|FILE")]
    against: Option<String>,
    #[command(flatten)]
    sources: Sources,
}

impl Fingerprint {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let options = Options::default();
        let old = self.against.as_deref();
        let old = old
            .map(|against| Old::find(against, &self.paths))
            .transpose()?;
        let by = |request: &Request| {
            let new = checked(request, &Disk)?;
            let old = old.as_ref().map(|old| old.check(request, &self.paths));
            Ok((new, Older(old.transpose()?)))
        };
        let (format, findings) = (Format::Human, Findings::Reason);
        let (compiled, Older(old)) =
            self.sources
                .compile_by(by, &self.paths, options, format, findings, terminal)?;
        let program = compiled
            .checked
            .as_ref()
            .ok_or(Failure::Findings)?
            .program();
        let old = match (&old, &self.against) {
            (Some(old), Some(against)) => {
                let words = || format!("the old version, `{against}`, itself has errors");
                let checked = old.checked.as_ref();
                Some(
                    checked
                        .ok_or_else(|| Failure::Environment(words()))?
                        .program(),
                )
            }
            (None, _) | (_, None) => None,
        };
        let verdicts = old.map(|old| acceptances(old, program)).unwrap_or_default();
        for file in program.files.iter().filter(|file| file.is_input) {
            let plain = file.protocols.iter().copied();
            let plain = plain.filter(|id| !program.protocol(*id).is_generic());
            let plain = plain.map(|id| (&program.protocol(id).name, View::of(program, id)));
            let instances = file.instances.iter().map(|id| program.instance(*id));
            let instances =
                instances.map(|instance| (&instance.name, View::instance(program, instance)));
            for (name, view) in plain.chain(instances) {
                let canonical = canonical(view);
                let name = match file.package.as_slice() {
                    [] => name.to_string(),
                    package => {
                        let parts: Vec<&str> = package.iter().map(|part| part.text()).collect();
                        format!("{}.{name}", parts.join("."))
                    }
                };
                terminal.print(format!("{name} {}\n", Hash::of_text(&canonical)))?;
                if let Some(verdict) = verdicts.get(&name) {
                    terminal.print(format!("  {}\n", verdict.words))?;
                }
                if self.text {
                    terminal.print(canonical.text)?;
                }
                if let Some(obstacle) = canonical.obstacle {
                    terminal.tell(format!("`{name}` stays in one process: {obstacle}\n"))?;
                }
            }
        }
        match verdicts.values().all(|verdict| verdict.may_talk) {
            true => Ok(()),
            false => Err(Failure::Findings),
        }
    }
}

/// The old version, if the protocols are compared with one.
struct Older(Option<Compilation>);

impl Answer for Older {}

/// Whether two versions of a protocol can talk to each other between processes.
struct Acceptance {
    words: String,
    may_talk: bool,
}

/// For each protocol that is in both versions, by its name with the package: which side may accept the old fingerprint.
fn acceptances(old: &Program, new: &Program) -> BTreeMap<String, Acceptance> {
    let mut found = BTreeMap::new();
    for versions in versions(old, new, Travel::Names) {
        let Fate::Kept(old, new, _) = versions.fate else {
            continue;
        };
        if old.description().is_generic() && old.instance.is_none() {
            continue;
        }
        let acceptance = acceptance(old, new);
        found.insert(versions.name, acceptance);
    }
    found
}

fn acceptance(old: View<'_>, new: View<'_>) -> Acceptance {
    let print = Hash::of(old);
    // A protocol and its dual have the same fingerprint, so equal fingerprints do not imply that the sides are the same.
    if let Some(reason) = refusal(old, new) {
        return Acceptance {
            words: format!("neither side may accept {print} of the old version: {reason}"),
            may_talk: false,
        };
    }
    if print == Hash::of(new) {
        return Acceptance {
            words: "the same as in the old version".to_owned(),
            may_talk: true,
        };
    }
    let sides = match tag_mismatch(old, new) {
        None => "servers",
        Some(_) => "clients",
    };
    Acceptance {
        words: format!("{sides} may accept {print} of the old version"),
        may_talk: true,
    }
}
