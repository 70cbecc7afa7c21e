//! `duologue doc`: a site about protocols.

use crate::args::{Findings, Names, Sources, Style, TEMPLATE};
use crate::output::answer::Answer;
use crate::output::drift;
use crate::output::reports;
use crate::output::summary::{self, Summary};
use crate::terminal::Terminal;
use clap::Args;
use duologue::compile::{Compilation, Request};
use duologue::files::{Disk, Outputs, Tree};
use duologue::languages::Options;
use duologue::relation::{Require, Travel, Verdict, versions};
use duologue_project::baseline::{Old, checked};
use duologue_project::git::last_tag;
use duologue_project::{Failure, Outcome};
use duologue_site::doc::{Compared, Comparison, Input, site};
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "  duologue doc protocols -o site      a page for each protocol, state and type; open site/index.html
  duologue doc protocols -o site --against v1.2
                                      also what has changed since v1.2, and which side to deploy first
  duologue doc protocols -o site --check
                                      write nothing; fail if a page is not up to date
";

/// Write a site about protocols: pages that work without a server, and a stepper that plays both sides.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Doc {
    /// Files, directories, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the site into this directory
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The name of the site
    #[arg(long, default_value = "Protocols", value_name = "TEXT")]
    title: String,
    /// Also show what has changed since this version: a directory, a file, or a git revision; by default the last tag, if there is one
    #[arg(long, value_name = "REV|DIR|FILE")]
    against: Option<String>,
    /// Do not compare with the last tag
    #[arg(long, conflicts_with = "against")]
    no_against: bool,
    /// Write nothing, and fail if a file is missing, not up to date, or no longer written
    #[arg(long, conflicts_with_all = ["force", "clean"])]
    check: bool,
    /// Overwrite files that duologue did not write
    #[arg(long)]
    force: bool,
    /// Remove pages of protocols, states, types and files that are gone
    #[arg(long)]
    clean: bool,
    #[command(flatten)]
    style: Style,
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    names: Names,
}

/// What has changed since an older version.
enum Changes {
    Known(Vec<Compared>),
    /// There is no older version, or it has errors.
    Unknown,
    /// The new version has errors.
    None,
}

impl Answer for Changes {}

impl Doc {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let started = Instant::now();
        let options: Options = self.names.into();
        let is_asked = self.against.is_some();
        let against = match self.no_against {
            true => None,
            false => self.against.or_else(|| tag(&self.paths)),
        };
        let old = match &against {
            Some(against) => match Old::find(against, &self.paths) {
                Ok(old) => Some(old),
                Err(failure) if is_asked => return Err(failure),
                Err(_) => None,
            },
            None => None,
        };
        let compare = |request: &Request| compared(request, &self.paths, old.as_ref(), is_asked);
        let (format, findings) = (self.style.format, Findings::Aside);
        let sources = self.sources.leaving_out_unreadable();
        let (compiled, changes) = sources.compile_by(
            compare,
            &self.paths,
            options.clone(),
            format,
            findings,
            terminal,
        )?;
        let Some(checked) = &compiled.checked else {
            terminal.tell(summary::nothing_written(&compiled))?;
            return Err(Failure::Findings);
        };
        let mut notes = Vec::new();
        let against = against.unwrap_or_default();
        let versions = match &changes {
            Changes::Known(compared) => Some(Comparison {
                against: &against,
                compared,
                sources: &compiled.sources,
            }),
            Changes::Unknown if is_asked => {
                bail_environment!("the old version, `{against}`, itself has errors");
            }
            Changes::Unknown if !against.is_empty() => {
                notes.push(format!(
                    "the site does not say what has changed since the tag `{against}`, which has errors or cannot be read"
                ));
                None
            }
            Changes::Unknown | Changes::None => None,
        };
        let files = site(&Input {
            title: &self.title,
            checked,
            sources: &compiled.sources,
            options: &options,
            findings: &compiled.diagnostics,
            versions,
        });
        let outputs = Outputs::plan(vec![Tree::of_site(self.output.clone(), files)])?;
        let orphans = outputs.orphans(&|_| true)?;
        if self.check {
            return drift::report(&outputs, &orphans, (false, reports::is_github()), terminal);
        }
        if !self.force {
            outputs.refuse_foreign()?;
        }
        let summary = Summary {
            checked,
            compiled: &compiled,
            options: &options,
            outputs: &outputs,
            orphans: &orphans,
            is_clean: self.clean,
            notes: &notes,
            started,
            terminal,
        };
        summary.conclude(&[])
    }
}

/// The last tag of the repository that contains the first path.
fn tag(paths: &[PathBuf]) -> Option<String> {
    let is_standard = |path: &PathBuf| path.as_os_str() == "-";
    match paths.iter().any(is_standard) {
        true => None,
        false => last_tag(paths.first()?),
    }
}

/// Checks both versions. The texts of the old one join those of the new one, so that findings can refer to both.
fn compared(
    request: &Request,
    paths: &[PathBuf],
    old: Option<&Old<'_>>,
    is_asked: bool,
) -> Result<(Compilation, Changes), Failure> {
    let mut new = checked(request, &Disk)?;
    let (Some(new_checked), Some(old_version)) = (&new.checked, old) else {
        let changes = match new.checked {
            Some(_) => Changes::Unknown,
            None => Changes::None,
        };
        return Ok((new, changes));
    };
    let mut old = match old_version.check(request, paths) {
        Ok(old) => old,
        Err(failure) if is_asked => return Err(failure),
        Err(_) => return Ok((new, Changes::Unknown)),
    };
    let texts = std::mem::take(&mut old.sources);
    let Some(old_checked) = &old.checked else {
        return Ok((new, Changes::Unknown));
    };
    let moved = new.sources.absorb(texts, |name| old_version.name_of(name));
    let all = versions(old_checked.program(), new_checked.program(), Travel::Names);
    let all = all.iter().map(|versions| Compared {
        verdict: Verdict::on(versions),
        findings: versions.findings(Require::SomeOrder, moved),
    });
    let changes = Changes::Known(all.collect());
    Ok((new, changes))
}
