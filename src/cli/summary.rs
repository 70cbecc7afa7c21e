//! What `gen` tells when it is done: what was checked, what was written where, and what comes next.

use super::overview::overview;
use super::terminal::{GOOD, NAME, PATH, QUIET, Terminal, WARNING, styled};
use duologue::check::CheckedProgram;
use duologue::compile::Compilation;
use duologue::files::{Change, Outputs, Planned};
use duologue::report::{self, counted};
use duologue::target::Target;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// More than this is not read any more; `-v` shows everything.
const SHOWN: usize = 12;

/// Everything worth telling about a run that wrote files.
pub struct Summary<'a> {
    pub checked: &'a CheckedProgram,
    pub compiled: &'a Compilation,
    pub outputs: &'a Outputs,
    pub orphans: &'a [PathBuf],
    pub is_clean: bool,
    pub notes: &'a [String],
    pub time: Duration,
}

/// What is said when errors kept `gen` from writing.
pub fn nothing_written(compiled: &Compilation) -> String {
    let found = report::summary(&compiled.diagnostics, compiled.sources.len());
    format!("{found}; nothing was written\n")
}

impl Summary<'_> {
    pub fn text(&self, terminal: &Terminal) -> String {
        let shown = if terminal.verbose { usize::MAX } else { SHOWN };
        let mut text = String::new();
        let protocols_checked = self.checked.protocols().count();
        let _ = writeln!(
            text,
            "{} {} in {}",
            styled(GOOD, "checked"),
            counted(protocols_checked, "protocol"),
            counted(self.compiled.sources.len(), "file"),
        );
        text += &overview(self.checked, shown, terminal);
        for target in Target::ALL {
            let files = self
                .outputs
                .files
                .iter()
                .filter(|file| file.target == target);
            let files: Vec<&Planned> = files.collect();
            if let Some(first) = files.first() {
                self.target(&mut text, target, first, &files, shown);
            }
        }
        self.rest(&mut text);
        text
    }

    fn target(
        &self,
        text: &mut String,
        target: Target,
        first: &Planned,
        files: &[&Planned],
        shown: usize,
    ) {
        let of = |change: &[Change]| files.iter().filter(|f| change.contains(&f.change)).count();
        let counts = [
            (of(&[Change::New]), "new"),
            (of(&[Change::Updated, Change::LineEnds]), "updated"),
            (of(&[Change::Unchanged]), "unchanged"),
        ];
        let counts = counts.iter().filter(|(number, _)| *number > 0);
        let counts: Vec<_> = counts
            .map(|(number, word)| format!("{number} {word}"))
            .collect();
        let _ = writeln!(
            text,
            "{} {} {}  {}",
            styled(GOOD, "wrote  "),
            styled(NAME, format_args!("{:5}", target.name())),
            styled(PATH, first.directory.display()),
            styled(QUIET, counts.join(", ")),
        );
        let changed = files.iter().filter(|file| file.change != Change::Unchanged);
        for file in changed.clone().take(shown) {
            let sign = if file.change == Change::New { "+" } else { "~" };
            let _ = writeln!(text, "  {} {}", styled(GOOD, sign), file.path.display());
        }
        if changed.clone().count() > shown {
            let more = changed.count() - shown;
            let _ = writeln!(
                text,
                "{}",
                styled(QUIET, format_args!("  and {more} more; -v shows all"))
            );
        }
    }

    fn rest(&self, text: &mut String) {
        for note in self.notes {
            let _ = writeln!(text, "{} {note}", styled(WARNING, "note   "));
        }
        for path in self.orphans {
            let (word, remark) = if self.is_clean {
                ("removed", "")
            } else {
                ("stale  ", " is no longer generated; --clean removes it")
            };
            let _ = writeln!(text, "{} {}{remark}", styled(WARNING, word), path.display());
        }
        let _ = writeln!(
            text,
            "{} in {}",
            styled(GOOD, "done   "),
            duration(self.time)
        );
    }
}

fn duration(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis().max(1))
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
