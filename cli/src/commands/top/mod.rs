//! `duologue top`: the sessions of a running program, and what they wait for.

mod lines;
#[cfg(unix)]
mod live;
#[cfg(any(unix, test))]
mod screen;

use crate::args::{Shape, TEMPLATE, seconds};
use crate::terminal::{Terminal, harmless};
use clap::Args;
use duologue::report::counted;
use duologue_peers::top::{Deadlock, Document, deadlocks, read};
use duologue_project::{Failure, Outcome};
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::Duration;

/// How many sessions and deadlocks are printed.
const MOST: usize = 20;

const EXAMPLES: &str =
    "  duologue top unix:/run/bank.top     the sessions of a program, every second
  duologue top unix:/run/bank.top --once
                                      once, with the exit code 1 if there is a deadlock
  duologue top sessions.json --once --format json
                                      a file that the program has written
";

/// Show the sessions of a running program that have not ended: what they wait for, and deadlocks
///
/// The program serves its registry of sessions at a Unix socket, or writes it to a file, as `duologue explain trace` describes. Sessions that have waited for longest come first. On a terminal, the arrow keys select one, Enter shows more about it, and q ends the program.
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
    #[arg(long, default_value_t = 1, value_parser = seconds(3600), value_name = "SECONDS")]
    every: u64,
    /// How many sessions and deadlocks are printed; all sessions are searched for deadlocks
    #[arg(long, default_value_t = MOST, value_name = "COUNT")]
    most: usize,
    /// How the sessions are printed: human or json, one document on a line
    #[arg(long, default_value = "human", value_name = "STYLE")]
    format: Shape,
}

impl Top {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let is_once = self.once || self.source == "-";
        #[cfg(unix)]
        if !is_once && self.format == Shape::Human && live::can_be() {
            return live::run(&self.source, Duration::from_secs(self.every));
        }
        let mut was_read = false;
        loop {
            let (document, found) = match next(&self.source) {
                Ok(next) => next,
                Err(Failure::Environment(why)) if was_read => {
                    terminal.insist(again(&why, self.every) + "\n")?;
                    thread::sleep(Duration::from_secs(self.every));
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            was_read = true;
            let is_deadlocked = !found.is_empty();
            let text = match self.format {
                Shape::Human => self.text(&document, &found, terminal),
                Shape::Json => json(document, found)?,
            };
            let is_read = terminal.print_while_read(text)?;
            match (is_once, is_deadlocked) {
                (true, true) => return Err(Failure::Findings),
                (true, false) => return Ok(()),
                (false, _) if !is_read => return Ok(()),
                (false, _) => thread::sleep(Duration::from_secs(self.every)),
            }
        }
    }

    /// The sessions for people, once.
    fn text(&self, document: &Document, found: &[Deadlock], terminal: &Terminal) -> String {
        let mut text = lines::head(&self.source, document, found.len()) + "\n";
        text.extend(lines::missing(document).map(|line| line + "\n"));
        let add = |text: &mut String, entry: &lines::Entry, has_details: bool| {
            let _ = writeln!(text, "{}", entry.line(usize::MAX));
            for line in entry.details.iter().filter(|_| has_details) {
                let _ = writeln!(text, "    {line}");
            }
        };
        for deadlock in found.iter().take(self.most) {
            add(
                &mut text,
                &lines::deadlock(deadlock, self.most.max(2)),
                true,
            );
        }
        let more = found.len().saturating_sub(self.most);
        if more > 0 {
            let _ = writeln!(text, "and {}", counted(more, "more deadlock"));
        }
        let sessions = &document.sessions;
        let (title, entries) = lines::sessions(&sessions[..sessions.len().min(self.most)]);
        if !entries.is_empty() {
            let _ = writeln!(text, "{title}");
        }
        for entry in &entries {
            add(&mut text, entry, terminal.verbose);
        }
        let more = sessions.len().saturating_sub(self.most);
        if more > 0 {
            let _ = writeln!(text, "and {}", counted(more, "more session"));
        }
        text
    }
}

/// The sessions of a source, those that have waited for longest first, and the deadlocks among them.
fn next(source: &str) -> Result<(Document, Vec<Deadlock>), Failure> {
    let mut document = read(source)?;
    let found = document.deadlocks.take();
    let found = found.unwrap_or_else(|| deadlocks(&document.sessions));
    document.sessions.sort_by_key(|one| Reverse(one.waits));
    Ok((document, found))
}

/// The program may begin again, or be writing its file. A source that was never there is a mistake.
fn again(why: &str, every: u64) -> String {
    let every = counted(every, "second");
    format!("{why}; trying again every {every}")
}

fn json(mut document: Document, found: Vec<Deadlock>) -> Result<String, Failure> {
    document.deadlocks = Some(found);
    let json = serde_json::to_string(&document)
        .map_err(|error| Failure::Mistake(format!("the sessions are no JSON: {error}")))?;
    Ok(match io::stdout().is_terminal() {
        true => harmless(&json).into_owned() + "\n",
        false => json + "\n",
    })
}
