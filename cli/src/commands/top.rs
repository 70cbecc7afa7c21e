//! `duologue top`: the sessions of a running program, and what they wait for.

use crate::args::{Shape, TEMPLATE};
use crate::terminal::{ERROR, NAME, QUIET, Terminal, brief, harmless, styled};
use clap::Args;
use duologue::report::counted;
use duologue_peers::top::{Deadlock, Document, Session, deadlocks, read};
use duologue_project::{Failure, Outcome};
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::thread;
use std::time::Duration;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue top unix:/run/bank.top     the sessions of a program, every second
  duologue top unix:/run/bank.top --once
                                      once, with the exit code 1 if there is a deadlock
  duologue top sessions.json --once --format json
                                      a file that the program has written
";

/// Show the sessions of a running program that have not ended: what they wait for, and deadlocks
///
/// The program serves its registry of sessions at a Unix socket, or writes it to a file, as `duologue explain trace` describes. Sessions that have waited for longest come first.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Top {
    /// A socket (unix:PATH), a file, or - for standard input, which is read once
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Print the sessions once; the exit code is 1 if there is a deadlock
    #[arg(long)]
    once: bool,
    /// The time between two updates, in seconds
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600), value_name = "SECONDS")]
    every: u64,
    /// How many sessions and deadlocks are shown; all sessions are searched for deadlocks
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    most: usize,
    /// How the sessions are printed: human or json, one document on a line
    #[arg(
        long,
        value_enum,
        default_value = "human",
        hide_possible_values = true,
        value_name = "STYLE"
    )]
    format: Shape,
}

impl Top {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let is_once = self.once || self.source == "-";
        let mut was_read = false;
        let clears = !is_once && self.format == Shape::Human && io::stdout().is_terminal();
        loop {
            let mut document = match read(&self.source) {
                Ok(document) => document,
                // The program may begin again, or be writing its file. A source that was never there is a mistake.
                Err(Failure::Environment(why)) if was_read => {
                    let every =
                        counted(usize::try_from(self.every).unwrap_or(usize::MAX), "second");
                    terminal.insist(format_args!("{why}; trying again every {every}\n"))?;
                    thread::sleep(Duration::from_secs(self.every));
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            was_read = true;
            let found = document.deadlocks.take();
            let found = found.unwrap_or_else(|| deadlocks(&document.sessions));
            let is_deadlocked = !found.is_empty();
            let text = match self.format {
                Shape::Human => text(&self.source, &mut document, &found, self.most),
                Shape::Json => {
                    document.deadlocks = Some(found);
                    let json = serde_json::to_string(&document).map_err(|error| {
                        Failure::Mistake(format!("the sessions are no JSON: {error}"))
                    })?;
                    match io::stdout().is_terminal() {
                        true => harmless(&json).into_owned() + "\n",
                        false => json + "\n",
                    }
                }
            };
            if clears {
                // Also where colors are not wanted, which would remove it.
                io::stdout().write_all(b"\x1b[H\x1b[2J")?;
            }
            let is_read = terminal.print_while_read(text)?;
            match (is_once, is_deadlocked) {
                (true, true) => return Err(Failure::Findings),
                (true, false) => return Ok(()),
                (false, _) if !is_read => return Ok(()),
                (false, _) => thread::sleep(Duration::from_secs(self.every)),
            }
        }
    }
}

/// The sessions for people. Their texts are the program's.
fn text(source: &str, document: &mut Document, found: &[Deadlock], most: usize) -> String {
    let sessions = &mut document.sessions;
    sessions.sort_by_key(|one| Reverse(one.waits));
    let waiting = sessions
        .iter()
        .filter(|one| one.sides.iter().any(|side| side.waits.is_some()));
    let mut text = format!(
        "{}: {}, process {}: {}, {} with a side that waits, {}\n",
        harmless(source),
        brief(&document.language),
        document.process,
        counted(sessions.len(), "session"),
        waiting.count(),
        counted(found.len(), "deadlock"),
    );
    if document.missing > 0 {
        let _ = writeln!(
            text,
            "not complete: the registry has no place for some sessions, which were used {} times; deadlocks with them are not found",
            document.missing
        );
    }
    for deadlock in found.iter().take(most) {
        write_deadlock(&mut text, deadlock, most.max(2));
    }
    if found.len() > most {
        let more = counted(found.len() - most, "more deadlock");
        let _ = writeln!(text, "and {more}");
    }
    for session in sessions.iter().take(most) {
        write_session(&mut text, session);
    }
    if sessions.len() > most {
        let _ = writeln!(
            text,
            "and {}",
            counted(sessions.len() - most, "more session")
        );
    }
    text
}

fn seconds(milliseconds: u64) -> String {
    let tenths = milliseconds / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

fn state(state: Option<&str>) -> String {
    state.map_or("the end".to_owned(), brief)
}

/// The first `most` of those that wait for each other.
fn write_deadlock(text: &mut String, deadlock: &Deadlock, most: usize) {
    let waits = &deadlock.waits;
    let more = waits.len().saturating_sub(most);
    let owners = waits.iter().take(most).map(|one| brief(&one.owner));
    let cut = (more > 0).then(|| format!("{more} more"));
    let first = waits.first().map(|one| brief(&one.owner));
    let owners: Vec<String> = owners.chain(cut).chain(first).collect();
    let _ = writeln!(
        text,
        "{}: {}",
        styled(ERROR, "deadlock"),
        owners.join(" -> ")
    );
    for one in waits.iter().take(most) {
        let _ = writeln!(
            text,
            "    {} waits {} in session #{} as its {}, in {}, for {}",
            styled(NAME, brief(&one.owner)),
            seconds(one.waits),
            brief(&one.session),
            brief(&one.side),
            state(one.state.as_deref()),
            styled(NAME, brief(&one.awaited)),
        );
    }
}

fn write_session(text: &mut String, session: &Session) {
    let messages = usize::try_from(session.messages).unwrap_or(usize::MAX);
    let (number, messages) = (brief(&session.session), counted(messages, "message"));
    let waits = seconds(session.waits);
    let _ = match &session.state {
        Some(state) => writeln!(
            text,
            "#{number} {} waits {waits} for the {}, {messages}",
            styled(NAME, brief(state)),
            brief(&session.turn)
        ),
        None => writeln!(
            text,
            "#{number} {} is over, but not received for {waits}, {messages}",
            styled(NAME, brief(&session.protocol))
        ),
    };
    for side in session.sides.iter().take(2) {
        let owner = side
            .owner
            .as_deref()
            .map_or("not used yet".to_owned(), brief);
        let _ = write!(
            text,
            "    {} in {}: {owner}",
            brief(&side.side),
            state(side.state.as_deref())
        );
        let _ = match (side.left, side.waits) {
            (true, _) => writeln!(text, " has left"),
            (false, waits) => {
                let what = match side.awaits.as_deref() {
                    Some("space") => "space",
                    _ => "a message",
                };
                let waits = waits.map(|waits| format!(" waits {} for {what}", seconds(waits)));
                let in_flight = format!("{} in flight to it", side.in_flight);
                let waits = waits.unwrap_or_default();
                writeln!(text, "{waits}, {}", styled(QUIET, in_flight))
            }
        };
    }
}
