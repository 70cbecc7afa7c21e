//! `duologue robots`: what generated robots have covered, and scripts for them.

mod bytes;
mod report;

use crate::args::TEMPLATE;
use crate::terminal::{Terminal, brief};
use bytes::Bytes;
use clap::{Args, Subcommand};
use duologue_project::Outcome;
use report::Report;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

const EXAMPLES: &str = "  duologue robots report client.json server.json --protocol bank.proto
                                      what robots have covered, and the shortest dialogue to each gap
  duologue robots report target/*.json --protocol bank.proto --at-least 100
                                      the same; fail if a transition is missing
  duologue robots bytes bank.proto --side client --script session.txt
                                      the bytes with which the client's robot plays a script
";

/// How large a file with coverages may be.
const MOST_BYTES: u64 = 64 << 20;

/// Merge the coverage of generated robots, or make them play a script
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Robots {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Report(Report),
    Bytes(Bytes),
}

impl Robots {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        match self.command {
            Command::Report(report) => report.run(terminal),
            Command::Bytes(bytes) => bytes.run(terminal),
        }
    }
}

/// How often robots have taken each transition of a protocol: a line of a file.
#[derive(Debug, Deserialize)]
pub struct Coverage {
    version: u32,
    pub protocol: String,
    pub fingerprint: String,
    /// Names with a comma between two.
    #[serde(default)]
    language: String,
    #[serde(default)]
    side: Sides,
    #[serde(default)]
    sessions: u64,
    pub transitions: Vec<Transition>,
}

/// Which sides robots have played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Sides {
    Client,
    Server,
    #[default]
    Both,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct Transition {
    pub state: String,
    pub message: String,
    pub sent: u64,
    pub received: u64,
}

/// The coverages in a file that may come from anywhere. `each` is called for each of them, and says what is wrong with it.
pub fn read(path: &Path, mut each: impl FnMut(Coverage) -> Result<(), String>) -> Outcome {
    let path = path.display();
    let fail = |why: &dyn std::fmt::Display| environment!("cannot read {path}: {why}");
    let file = File::open(path.to_string()).map_err(|error| fail(&error))?;
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| fail(&error))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(fail(&"it is larger than 64 MiB"));
    }
    for (line, number) in text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty())
    {
        let coverage = serde_json::from_str(line).map_err(|error| {
            let why = brief(&error.to_string());
            format!("this is not the coverage of a robot: {why}")
        });
        let taken = coverage.and_then(|coverage: Coverage| match coverage.version {
            1 => each(coverage),
            other => Err(format!("version {other} of reports is not known, only 1")),
        });
        taken.map_err(|why| environment!("{path}:{number}: {why}"))?;
    }
    Ok(())
}
