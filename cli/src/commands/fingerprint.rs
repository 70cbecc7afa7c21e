//! `duologue fingerprint`: prints the hashes by which two processes recognize that they use the same protocol.

use crate::answer::Answer;
use crate::args::{Findings, Format, Sources};
use crate::fix::edit;
use crate::terminal::Terminal;
use crate::vocabulary::TEMPLATE;
use clap::Args;
use duologue::check::CheckedProgram;
use duologue::compile::{Compilation, Request};
use duologue::files::Disk;
use duologue::fingerprint::{Acceptance, Fingerprint as Hash, MOST_ACCEPTED, accepts, attribute};
use duologue::languages::Options;
use duologue::protocol::{Accepted, Program, Side};
use duologue::relation::{Fate, Travel, View, canonical, versions};
use duologue::source::Span;
use duologue_project::baseline::{Old, checked};
use duologue_project::{Failure, Outcome};
use std::collections::BTreeMap;
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue fingerprint bank.proto     a line for each protocol: its name and its fingerprint
  duologue fingerprint bank.proto --text
                                      also the text that is hashed; see docs/wire.md
  duologue fingerprint bank.proto --against v1.2
                                      which side may accept the fingerprints of an older version
  duologue fingerprint bank.proto --against v1.2 --write
                                      write that into the file: #[accepts(...)]
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
    /// Write the older fingerprints that a side may accept into the files, as #[accepts(...)]; those already there are kept
    #[arg(long, requires = "against")]
    write: bool,
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
            let older = Older(old.transpose()?);
            if self.write
                && let (Some(new_checked), Some(old)) = (&new.checked, older.checked())
            {
                let all = acceptances(old.program(), new_checked.program());
                if let Some(full) = all.iter().find(|(_, found)| found.is_full()) {
                    return Err(Failure::Environment(format!(
                        "`{}` accepts {MOST_ACCEPTED} fingerprints for this side already: remove the oldest first",
                        full.0
                    )));
                }
                let edits = all.values().filter_map(|found| found.edit(&new));
                let edits: Vec<_> = edits.collect();
                edit(request, &new, &edits, "--write")?;
            }
            Ok((new, older))
        };
        let (format, findings) = (Format::Human, Findings::Reason);
        let (compiled, older) =
            self.sources
                .compile_by(by, &self.paths, options, format, findings, terminal)?;
        let program = compiled
            .checked
            .as_ref()
            .ok_or(Failure::Findings)?
            .program();
        let old = older.checked().map(CheckedProgram::program);
        if let (None, Some(against)) = (old, &self.against) {
            let words = format!("the old version, `{against}`, itself has errors");
            return Err(Failure::Environment(words));
        }
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
                    terminal.print(verdict.words(self.write))?;
                }
                if self.text {
                    terminal.print(canonical.text)?;
                }
                if let Some(obstacle) = canonical.obstacle {
                    terminal.tell(format!("`{name}` stays in one process: {obstacle}\n"))?;
                }
            }
        }
        let is_refused = |found: &Accepting<'_>| matches!(found.may, Acceptance::Neither(_));
        match verdicts.values().any(is_refused) {
            true => Err(Failure::Findings),
            false => Ok(()),
        }
    }
}

/// The old version, if the protocols are compared with one.
struct Older(Option<Compilation>);

impl Answer for Older {}

impl Older {
    fn checked(&self) -> Option<&CheckedProgram> {
        self.0.as_ref()?.checked.as_ref()
    }
}

/// Which side of a protocol may accept the fingerprint of the old version, and which does.
struct Accepting<'a> {
    new: View<'a>,
    old: Hash,
    may: Acceptance,
    /// The attribute that names the old fingerprint, if there is one.
    written: Option<Accepted>,
    /// The side for which an attribute has to be written.
    missing: Option<Side>,
}

/// For each protocol that is in both versions, by its name with the package: which side may accept the old fingerprint.
fn acceptances<'a>(old: &'a Program, new: &'a Program) -> BTreeMap<String, Accepting<'a>> {
    let mut found = BTreeMap::new();
    for versions in versions(old, new, Travel::Names) {
        let Fate::Kept(old, new, _) = versions.fate else {
            continue;
        };
        if old.description().is_generic() && old.instance.is_none() {
            continue;
        }
        let print = Hash::of(old);
        let mut written = accepts(new).iter();
        let may = Acceptance::between(old, new);
        let accepting = Accepting {
            new,
            old: print,
            missing: may.unwritten(old, new),
            may,
            written: written.find(|own| own.fingerprint == print.0).copied(),
        };
        found.insert(versions.name, accepting);
    }
    found
}

impl Accepting<'_> {
    /// Whether the side for which an attribute has to be added has as many as it can have.
    fn is_full(&self) -> bool {
        let own = |side: Side| accepts(self.new).iter().filter(move |own| own.side == side);
        let mut missing = self.missing.into_iter();
        self.written.is_none() && missing.any(|side| own(side).count() >= MOST_ACCEPTED)
    }

    /// What has to be changed in the text so that the right side accepts the old fingerprint.
    fn edit(&self, compilation: &Compilation) -> Option<(Span, String)> {
        let attribute = attribute(self.missing?, self.old);
        if let Some(wrong) = self.written {
            return Some((wrong.span, attribute));
        }
        let head = match self.new.instance {
            Some(instance) => instance.head,
            None => self.new.description().head,
        };
        let text = compilation.sources.get(head.source).text();
        let start = head.range().start;
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let indent = &text[line..start];
        let separator = match indent.chars().all(|letter| letter == ' ' || letter == '\t') {
            true if text
                .split('\n')
                .next()
                .is_some_and(|first| first.ends_with('\r')) =>
            {
                format!("\r\n{indent}")
            }
            true => format!("\n{indent}"),
            false => " ".to_owned(),
        };
        let place = Span {
            end: head.start,
            ..head
        };
        Some((place, attribute + &separator))
    }

    /// One or two lines about it. `is_written`: what was missing has been written.
    fn words(&self, is_written: bool) -> String {
        let old = self.old;
        let side = match &self.may {
            Acceptance::Neither(reason) => {
                return format!("  neither side may accept {old} of the old version: {reason}\n");
            }
            Acceptance::Same => return "  the same as in the old version\n".to_owned(),
            Acceptance::By(side) => side.word(),
        };
        match self.missing {
            Some(missing) if !is_written => format!(
                "  {side}s may accept {old} of the old version\n    `--write` adds `{}`\n",
                attribute(missing, old)
            ),
            Some(_) => format!("  {side}s accept {old} of the old version: added\n"),
            None if self.written.is_some() => {
                format!("  {side}s accept {old} of the old version\n")
            }
            None => format!("  {side}s may accept {old} of the old version\n"),
        }
    }
}
