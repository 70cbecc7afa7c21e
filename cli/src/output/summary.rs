//! The last step of `gen` and `doc`: what was planned is written, and a summary says what was checked, what was written where, and how to use
//! it.

use crate::output::protocol_table::overview;
use crate::terminal::{GOOD, NAME, PATH, QUIET, Terminal, WARNING, styled};
use duologue::check::CheckedProgram;
use duologue::compile::Compilation;
use duologue::files::{Change, OutputError, Outputs, Planned, Producer};
use duologue::languages::{Options, Target};
use duologue::report::{self, counted};
use duologue_project::Outcome;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// At most this many protocols are listed; `-v` lists all.
const PROTOCOLS: usize = 12;
/// At most this many files of one target or plugin are listed; `-v` lists all.
const FILES: usize = 4;

/// Everything that the summary of a run that wrote files reports.
pub struct Summary<'a> {
    pub checked: &'a CheckedProgram,
    pub compiled: &'a Compilation,
    pub options: &'a Options,
    pub outputs: &'a Outputs,
    pub orphans: &'a [PathBuf],
    pub is_clean: bool,
    pub notes: &'a [String],
    pub started: Instant,
}

/// The message if errors kept `gen` from writing.
pub fn nothing_written(compiled: &Compilation) -> String {
    let found = report::summary(&compiled.diagnostics, compiled.sources.len());
    format!("{found}; nothing was written\n")
}

impl Summary<'_> {
    /// Writes the outputs and the `extra` files, removes files that are no longer written if that is wanted, and prints the summary.
    pub fn conclude(&self, extra: &[(PathBuf, String)], terminal: &Terminal) -> Outcome {
        self.outputs.write(extra)?;
        if self.is_clean {
            for path in self.orphans {
                fs::remove_file(path).map_err(|error| OutputError::Io(path.clone(), error))?;
            }
        }
        terminal.tell(self.text(terminal))
    }

    fn text(&self, terminal: &Terminal) -> String {
        let mut text = String::new();
        let protocols = counted(self.checked.protocols().count(), "protocol");
        let files = counted(self.compiled.sources.len(), "file");
        let _ = writeln!(text, "{} {protocols} in {files}", styled(GOOD, "checked"));
        let shown = if terminal.verbose {
            usize::MAX
        } else {
            PROTOCOLS
        };
        text += &overview(self.checked, shown, terminal);
        self.written(&mut text, terminal);
        self.remarks(&mut text);
        let time = styled(
            QUIET,
            format_args!("in {}", duration(self.started.elapsed())),
        );
        let _ = writeln!(text, "{} {time}", styled(GOOD, "done"));
        self.next(&mut text);
        text
    }

    /// For new files, the line with which a program uses them, and the first time also what the program has to depend on.
    fn next(&self, text: &mut String) {
        let is_new = |file: &&Planned| file.change == Change::New;
        let new = self.outputs.files.iter().filter(is_new);
        let mut hints = Vec::new();
        for target in Target::ALL {
            let producer = Producer::Target(target);
            let mut of = new.clone().filter(|file| file.producer == producer);
            hints.extend(
                of.find_map(|file| self.usage(file))
                    .map(|hint| (target, hint)),
            );
        }
        if !hints.is_empty() {
            let _ = writeln!(text, "{}", styled(GOOD, "next"));
        }
        for (target, hint) in hints {
            let name = styled(NAME, format_args!("{:5}", target.name()));
            let _ = writeln!(text, "  {name}  {hint}");
            if self.is_first(target) {
                let _ = writeln!(text, "         {}", target.runtime(self.options));
            }
        }
    }

    /// Whether nothing was generated for the target before.
    fn is_first(&self, target: Target) -> bool {
        let producer = Producer::Target(target);
        self.of(&producer).all(|file| file.change == Change::New)
    }

    /// The line with which a program uses a file, if programs refer to it at all.
    fn usage(&self, file: &Planned) -> Option<String> {
        let path = file.path.strip_prefix(&file.directory).ok()?;
        let is_generated = |other: &Path| {
            let other = file.directory.join(other);
            self.outputs.files.iter().any(|file| file.path == other)
        };
        match file.producer {
            Producer::Target(target) => target.usage(&file.directory, path, &is_generated),
            Producer::Plugin(_) | Producer::Site => None,
        }
    }

    fn of<'a>(&'a self, producer: &'a Producer) -> impl Iterator<Item = &'a Planned> {
        let files = self.outputs.files.iter();
        files.filter(move |file| file.producer == *producer)
    }

    /// A line for each target and plugin, and with `-v` also one for each file.
    fn written(&self, text: &mut String, terminal: &Terminal) {
        let mut producers: Vec<&Producer> = Vec::new();
        for file in &self.outputs.files {
            if !producers.contains(&&file.producer) {
                producers.push(&file.producer);
            }
        }
        let directory = |file: &Planned| file.directory.display().to_string();
        let width = self
            .outputs
            .files
            .iter()
            .map(|file| directory(file).len())
            .max();
        if self.outputs.files.is_empty() {
            return;
        }
        let is_written = |file: &Planned| file.change != Change::Unchanged;
        let heading = if self.outputs.files.iter().any(is_written) {
            "wrote"
        } else {
            "up to date"
        };
        let _ = writeln!(text, "{}", styled(GOOD, heading));
        for producer in producers {
            let Some(first) = self.of(producer).next() else {
                continue;
            };
            let (width, directory) = (width.unwrap_or(0), directory(first));
            let _ = write!(
                text,
                "  {}  {}  {}",
                styled(NAME, format_args!("{:5}", producer.name())),
                styled(PATH, format_args!("{directory:width$}")),
                changes(self.of(producer)),
            );
            if terminal.verbose {
                text.push('\n');
                for file in self.of(producer) {
                    let sign = match file.change {
                        Change::New => styled(GOOD, '+'),
                        Change::Updated | Change::LineEnds => styled(WARNING, '~'),
                        Change::Unchanged => styled(QUIET, '='),
                    };
                    let _ = writeln!(text, "    {sign} {}", file.path.display());
                }
            } else {
                let _ = writeln!(text, "{}", styled(QUIET, names(self.of(producer))));
            }
        }
    }

    fn remarks(&self, text: &mut String) {
        for note in self.notes {
            let _ = writeln!(text, "{} {note}", styled(WARNING, "note"));
        }
        for path in self.orphans {
            let path = path.display();
            let _ = if self.is_clean {
                writeln!(text, "{} {path}", styled(GOOD, "removed"))
            } else {
                let word = styled(WARNING, "stale");
                writeln!(
                    text,
                    "{word} {path} is no longer generated; --clean removes it"
                )
            };
        }
    }
}

/// `2 new, 1 updated`
fn changes<'a>(files: impl Iterator<Item = &'a Planned>) -> String {
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
fn names<'a>(files: impl Iterator<Item = &'a Planned>) -> String {
    let changed = files.filter(|file| file.change != Change::Unchanged);
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

fn duration(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis().max(1))
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
