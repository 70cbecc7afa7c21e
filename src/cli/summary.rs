//! What `gen` tells when it is done: what was checked, what was written where, and what comes next.

use super::terminal::{GOOD, NAME, PATH, QUIET, Terminal, WARNING, styled};
use duologue::check::{CheckedProgram, CheckedProtocol};
use duologue::compile::Compilation;
use duologue::files::{Change, Outputs, Planned};
use duologue::graph::Capacity;
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

/// A table of protocols: size and capacity in both directions.
pub fn protocols(checked: &CheckedProgram, shown: usize, terminal: &Terminal) -> String {
    let all: Vec<_> = checked.protocols().collect();
    let listed = &all[..all.len().min(shown)];
    let name = |protocol: &CheckedProtocol<'_>| protocol.protocol().name.text().len();
    let width = listed.iter().map(name).max().unwrap_or(0);
    let mut text = String::new();
    for protocol in listed {
        text += &line(*protocol, width, terminal);
    }
    if all.len() > listed.len() {
        let more = format!("  and {} more; -v shows all\n", all.len() - listed.len());
        text += &styled(QUIET, more);
    }
    text
}

fn line(protocol: CheckedProtocol<'_>, width: usize, terminal: &Terminal) -> String {
    let (tick, right, left) = if terminal.ascii {
        ("ok", "->", "<-")
    } else {
        ("\u{2713}", "\u{2192}", "\u{2190}")
    };
    let states = &protocol.protocol().states;
    let messages = states.iter().map(|state| state.messages.len()).sum();
    let name = format!("{:width$}", protocol.protocol().name.text());
    let size = format!(
        "{}, {}",
        counted(states.len(), "state"),
        counted(messages, "message")
    );
    let capacity = |capacity| match capacity {
        Capacity::Bounded(messages) => format!("{messages}"),
        Capacity::Unbounded => "unbounded".to_owned(),
    };
    let to_server = capacity(protocol.capacity_to_server());
    let to_client = capacity(protocol.capacity_to_client());
    format!(
        "  {} {}  {size:24} {}\n",
        styled(GOOD, tick),
        styled(NAME, name),
        styled(
            QUIET,
            format_args!(
                "in flight: client {right} server {to_server}, client {left} server {to_client}"
            )
        ),
    )
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
        text += &protocols(self.checked, shown, terminal);
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
