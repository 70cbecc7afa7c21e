//! `duologue robots bytes`: scripts as the bytes with which a robot plays them.

use crate::args::Sources;
use crate::args::named::{Named, sides};
use crate::terminal::Terminal;
use clap::Args;
use duologue::protocol::Side;
use duologue::robots::{Makeable, Plan};
use duologue_peers::game::{Script, say};
use duologue_peers::talk::{Event, Talk, bytes_of};
use duologue_project::{Failure, Outcome};
use std::fs;
use std::path::PathBuf;

/// After how many messages a robot ends its session, unless its program sets another limit.
const LIMIT: usize = 100;

/// Print the bytes with which a robot plays a script
#[derive(Debug, Args)]
pub struct Bytes {
    /// A protocol file; FILE#NAME names a protocol or an instance in it
    file: PathBuf,
    /// The side that the robot plays: client or server
    #[arg(long, value_name = "SIDE", value_parser = sides())]
    side: Side,
    /// A transcript, as `duologue talk` reads and prints it
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Write the bytes to this file, instead of printing them as hexadecimal digits
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
}

impl Bytes {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let named = Named::parse(&self.file);
        let (checked, _) = named.compile(self.sources, terminal)?;
        let (view, makeable) = (named.view(&checked)?, Makeable::of(checked.program()));
        let plan = Plan::of(view, &makeable).map_err(|_| {
            let (name, file) = (view.name(), named.file.display());
            usage!("`{name}` has no robots: name an instance, as in {file}#NAME")
        })?;
        let fail = |place: &str, why: &str| {
            terminal.complain(&format!("{place}: {why}"));
            Failure::Findings
        };
        let mut talk = Talk::new(view);
        let (mut script, mut places) = (Script::open(&self.script)?, Vec::new());
        while let Some(line) = script.take()? {
            say(&mut talk, &line.text).map_err(|(_, why)| fail(&line.place, &why))?;
            places.push(line.place);
        }
        let bytes = bytes_of(&talk, &plan, &makeable, self.side);
        let bytes = bytes.map_err(|(event, why)| fail(&places[event], why))?;
        let is_message = |event: &&Event| matches!(event, Event::Message { .. });
        let messages = talk.events().filter(is_message).count();
        if messages > LIMIT {
            terminal.insist(format_args!(
                "note: the script has {messages} messages: set the robot's `limit` to at least {messages}, or it ends the session after {LIMIT}\n"
            ))?;
        }
        match &self.output {
            Some(path) => fs::write(path, bytes)
                .map_err(|error| environment!("cannot write {}: {error}", path.display())),
            None => {
                let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
                terminal.print(digits.collect::<String>() + "\n")
            }
        }
    }
}
