//! `--report KIND=FILE`: findings for machines, in addition to the text for people.

use crate::output::answer::Answer;
use crate::terminal::Terminal;
use clap::Args;
use duologue::compile::Compilation;
use duologue_project::Failure;
use duologue_project::repository::relative;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Which reports are written, and where.
#[derive(Debug, Default, Args)]
pub struct Reports {
    /// Also write a report: json=FILE, sarif=FILE, junit=FILE, or github; may be given more than once. Annotations for GitHub are
    /// on by default if GITHUB_ACTIONS is true; github=none turns them off
    #[arg(long, value_name = "KIND=FILE", value_parser = parse)]
    report: Vec<Report>,
}

#[derive(Clone, Debug)]
enum Report {
    File(ReportKind, PathBuf),
    Github(bool),
}

#[derive(Clone, Copy, Debug)]
enum ReportKind {
    Json,
    Sarif,
    Junit,
}

impl Reports {
    /// Whether the findings are written as JSON.
    pub fn has_json(&self) -> bool {
        let is_json = |report| matches!(report, &Report::File(ReportKind::Json, _));
        self.report.iter().any(is_json)
    }

    /// Whether findings become annotations of a workflow of GitHub.
    pub fn annotates(&self) -> bool {
        let said = self.report.iter().rev().find_map(|report| match report {
            Report::Github(on) => Some(*on),
            Report::File(..) => None,
        });
        said.unwrap_or_else(is_github)
    }

    /// Whether a report is asked for.
    pub fn is_any(&self) -> bool {
        let mut reports = self.report.iter();
        reports.any(|report| !matches!(report, Report::Github(false)))
    }
}

fn parse(text: &str) -> Result<Report, String> {
    let (kind, file) = text
        .split_once('=')
        .map_or((text, None), |(kind, file)| (kind, Some(file)));
    let kind = match (kind, file) {
        ("github", None) => return Ok(Report::Github(true)),
        ("github", Some("none")) => return Ok(Report::Github(false)),
        ("github", Some(_)) => {
            return Err("GitHub reads annotations from the log: write `github` alone".to_owned());
        }
        ("json", _) => ReportKind::Json,
        ("sarif", _) => ReportKind::Sarif,
        ("junit", _) => ReportKind::Junit,
        (other, _) => {
            return Err(format!(
                "there is no report `{other}`; the reports are json, sarif, junit and github"
            ));
        }
    };
    match file {
        Some(file) if !file.is_empty() => Ok(Report::File(kind, file.into())),
        _ => Err(format!(
            "no file is given: write `{text}=FILE`, or print the report with `--format`"
        )),
    }
}

impl Reports {
    /// Writes every requested report. The exit code does not depend on them.
    pub fn write(
        &self,
        compilation: &Compilation,
        answer: &dyn Answer,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        let annotates = self.annotates();
        let (found, sources) = (&compilation.diagnostics, &compilation.sources);
        for report in &self.report {
            match report {
                Report::Github(_) => {}
                Report::File(kind, path) => {
                    let text = match kind {
                        ReportKind::Json => json(compilation, answer),
                        ReportKind::Sarif => duologue_reports::sarif(found, sources),
                        ReportKind::Junit => duologue_reports::junit(found, sources),
                    };
                    std::fs::write(path, text).map_err(|error| unwritable(path, &error))?;
                }
            }
        }
        if annotates {
            terminal.insist(duologue_reports::github_annotations(found, sources))?;
            if let Some(path) = env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from) {
                let verdicts =
                    duologue_reports::github_verdicts(answer.verdicts().unwrap_or_default());
                let text = verdicts + &duologue_reports::github_summary(found, sources);
                let file = OpenOptions::new().append(true).create(true).open(&path);
                let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
                written.map_err(|error| unwritable(&path, &error))?;
            }
        }
        Ok(())
    }
}

/// Whether the program runs in a workflow of GitHub.
pub fn is_github() -> bool {
    env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// The annotation of a file that is not as it should be.
pub fn annotation(path: &Path, line: usize, title: &str, words: &str) -> String {
    duologue_reports::github_annotation(&relative(&path.to_string_lossy()), line, title, words)
}

/// The findings as JSON, with the verdicts if versions were compared, and the sessions if logs were checked.
pub fn json(compilation: &Compilation, answer: &dyn Answer) -> String {
    let (found, sources) = (&compilation.diagnostics, &compilation.sources);
    match (answer.verdicts(), answer.traces()) {
        (Some(verdicts), _) => duologue_reports::json_of_versions(found, sources, verdicts),
        (None, Some(traces)) => duologue_reports::json_of_traces(found, sources, traces),
        (None, None) => duologue_reports::json(found, sources),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    environment!("cannot write the report {}: {error}", path.display())
}
