//! The last step of `gen` and `doc`: what was planned is written, and a summary says what was checked, what was written where, and how to use
//! it.

use crate::output::protocol_table::overview;
use crate::terminal::{GOOD, NAME, PATH, QUIET, Terminal, WARNING};
use askama::Template;
use duologue::check::CheckedProgram;
use duologue::compile::Compilation;
use duologue::files::{Change, OutputError, Outputs, Planned, Producer};
use duologue::languages::{Options, Target};
use duologue::report;
use duologue_project::Outcome;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// At most this many protocols are listed; `-v` lists all.
const PROTOCOLS: usize = 12;
/// At most this many files of one target or plugin are listed; `-v` lists all.
const FILES: usize = 4;

/// Everything that the summary of a run that wrote files reports.
#[derive(Template)]
#[template(path = "summary.jinja")]
pub struct Summary<'a> {
    pub checked: &'a CheckedProgram,
    pub compiled: &'a Compilation,
    pub options: &'a Options,
    pub outputs: &'a Outputs,
    pub orphans: &'a [PathBuf],
    pub is_clean: bool,
    pub notes: &'a [String],
    pub started: Instant,
    pub terminal: &'a Terminal,
}

/// The message if errors kept `gen` from writing.
pub fn nothing_written(compiled: &Compilation) -> String {
    let found = report::summary(&compiled.diagnostics, compiled.sources.len());
    format!("{found}; nothing was written\n")
}

impl Summary<'_> {
    /// Writes the outputs and the `extra` files, removes files that are no longer written if that is wanted, and prints the summary.
    pub fn conclude(&self, extra: &[(PathBuf, String)]) -> Outcome {
        self.outputs.write(extra)?;
        if self.is_clean {
            for path in self.orphans {
                fs::remove_file(path).map_err(|error| OutputError::Io(path.clone(), error))?;
            }
        }
        self.terminal.tell(self)
    }

    fn protocols(&self) -> String {
        let shown = if self.terminal.verbose {
            usize::MAX
        } else {
            PROTOCOLS
        };
        overview(self.checked, shown, self.terminal)
    }

    /// For new files, the line with which a program uses them, and the first time also what the program has to depend on.
    fn hints(&self) -> Vec<(&'static str, String, Option<String>)> {
        let hints = Target::ALL.into_iter().filter_map(|target| {
            let producer = Producer::Target(target);
            let mut new = self.of(&producer).filter(|file| file.change == Change::New);
            let hint = new.find_map(|file| self.usage(target, file))?;
            let is_first = self.of(&producer).all(|file| file.change == Change::New);
            let runtime = is_first.then(|| target.runtime(self.options));
            Some((target.name(), hint, runtime))
        });
        hints.collect()
    }

    /// The line with which a program uses a file, if programs refer to it at all.
    fn usage(&self, target: Target, file: &Planned) -> Option<String> {
        let path = file.path.strip_prefix(&file.directory).ok()?;
        let is_generated = |other: &Path| {
            let other = file.directory.join(other);
            self.outputs.files.iter().any(|file| file.path == other)
        };
        target.usage(&file.directory, path, &is_generated)
    }

    fn of<'a>(&'a self, producer: &Producer) -> impl Iterator<Item = &'a Planned> {
        let files = self.outputs.files.iter();
        files.filter(move |file| file.producer == *producer)
    }

    fn is_any_written(&self) -> bool {
        let mut files = self.outputs.files.iter();
        files.any(|file| file.change != Change::Unchanged)
    }

    /// Each target and plugin with its directory and its files.
    fn written(&self) -> Vec<(&str, String, Vec<&Planned>)> {
        let directory = |file: &Planned| file.directory.display().to_string();
        let all = self.outputs.files.iter();
        let width = all.clone().map(|file| directory(file).len()).max();
        let width = width.unwrap_or(0);
        let mut producers: Vec<&Producer> = Vec::new();
        let mut written = Vec::new();
        for file in all {
            if !producers.contains(&&file.producer) {
                producers.push(&file.producer);
                let shown = format!("{:width$}", directory(file));
                written.push((
                    file.producer.name(),
                    shown,
                    self.of(&file.producer).collect(),
                ));
            }
        }
        written
    }

    /// `2 new, 1 updated`
    fn changes(files: &[&Planned]) -> String {
        let (mut new, mut updated, mut unchanged) = (0, 0, 0);
        for file in files {
            match file.change {
                Change::New => new += 1,
                Change::Updated | Change::LineEnds => updated += 1,
                Change::Unchanged => unchanged += 1,
            }
        }
        let counts = [(new, "new"), (updated, "updated"), (unchanged, "unchanged")];
        let counts = counts.iter().filter(|(number, _)| *number > 0);
        let counts: Vec<_> = counts
            .map(|(number, word)| format!("{number} {word}"))
            .collect();
        counts.join(", ")
    }

    /// The first files that were written, relative to their directory.
    fn names(files: &[&Planned]) -> String {
        let changed = files.iter().filter(|file| file.change != Change::Unchanged);
        let names = changed.map(|file| {
            let path = file.path.strip_prefix(&file.directory);
            path.unwrap_or(&file.path).display().to_string()
        });
        let names: Vec<String> = names.collect();
        match names.len() {
            0 => String::new(),
            all if all <= FILES => format!(": {}", names.join(", ")),
            all => format!(": {} and {} more", names[..FILES].join(", "), all - FILES),
        }
    }

    fn elapsed(started: &Instant) -> String {
        let time = started.elapsed();
        if time < Duration::from_secs(1) {
            format!("{} ms", time.as_millis().max(1))
        } else {
            format!("{:.1} s", time.as_secs_f64())
        }
    }
}
