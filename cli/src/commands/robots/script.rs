//! `duologue robots bytes`: scripts as the bytes with which a robot plays them.

use crate::args::Sources;
use crate::args::named::Named;
use crate::terminal::Terminal;
use clap::{Args, ValueEnum};
use duologue::protocol::Side;
use duologue::relation::View;
use duologue::robots::{Makeable, Plan};
use duologue_peers::talk::{Event, Talk, bytes_of};
use duologue_project::{Failure, Outcome};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// How large a report or a script may be.
const MOST_BYTES: u64 = 64 << 20;

/// After how many messages a robot ends its session, unless its program sets another limit.
const LIMIT: usize = 100;

/// Print the bytes with which a robot plays a script
#[derive(Debug, Args)]
pub struct Bytes {
    /// A protocol file; FILE#NAME names a protocol or an instance in it
    file: PathBuf,
    /// The side that the robot plays: client or server
    #[arg(long, value_enum, hide_possible_values = true, value_name = "SIDE")]
    side: Own,
    /// A transcript, as `duologue talk` reads and prints it
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Write the bytes to this file, instead of printing them as hexadecimal digits
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Own {
    Client,
    Server,
}

/// Reads a text that may come from anywhere.
pub fn read(path: &Path) -> Result<String, Failure> {
    let fail = |why: &dyn std::fmt::Display| {
        Failure::Environment(format!("cannot read {}: {why}", path.display()))
    };
    let file = File::open(path).map_err(|error| fail(&error))?;
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| fail(&error))?;
    match text.len() as u64 > MOST_BYTES {
        true => Err(fail(&"it is larger than 64 MiB")),
        false => Ok(text),
    }
}

/// Does what a line of a script says.
fn play(talk: &mut Talk<'_>, line: &str) -> Result<(), String> {
    let transcript = line.split_once("<-").and_then(|(receiver, text)| {
        let mut sides = [Side::Client, Side::Server].into_iter();
        let to = sides.find(|side| side.word() == receiver.trim())?;
        Some((to.dual(), text.trim()))
    });
    let active = talk.active().ok_or("the session is over")?;
    match transcript {
        Some((from, "closed")) => {
            talk.leave(from);
            Ok(())
        }
        Some((from, _)) if from != active => {
            Err(format!("it is the turn of the {}", active.word()))
        }
        Some((_, text)) => send(talk, text),
        None => send(talk, line),
    }
}

fn send(talk: &mut Talk<'_>, text: &str) -> Result<(), String> {
    match talk.send(text) {
        Ok(_) => Ok(()),
        Err(fault) => Err(fault.message),
    }
}

impl Bytes {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let named = Named::parse(&self.file);
        let compiled = named.compile(self.sources, terminal)?;
        let checked = compiled.checked.as_ref().ok_or(Failure::Findings)?;
        let program = checked.program();
        let mut instances = program.instances.iter();
        let is_meant = |name: &str| Some(name) == named.protocol.as_deref();
        let instance = instances.find(|instance| is_meant(instance.name.text()));
        let (protocol, view) = match instance {
            Some(instance) => (instance.protocol, View::instance(program, instance)),
            None => {
                let protocol = named.find(checked)?;
                (protocol, View::of(program, protocol))
            }
        };
        let makeable = Makeable::of(program);
        let Ok(plan) = Plan::of(view, &makeable) else {
            return Err(Failure::Usage(format!(
                "`{}` has no robots: name an instance, as in {}#NAME",
                view.name(),
                named.file.display()
            )));
        };
        let mut talk = Talk::new(program, protocol, instance);
        let mut numbers = Vec::new();
        let fail = |number: usize, why: &str| {
            terminal.complain(&format!("{}:{number}: {why}", self.script.display()));
            Failure::Findings
        };
        for (at, line) in read(&self.script)?.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            play(&mut talk, line).map_err(|why| fail(at + 1, &why))?;
            numbers.push(at + 1);
        }
        let side = match self.side {
            Own::Client => Side::Client,
            Own::Server => Side::Server,
        };
        let bytes = bytes_of(&talk, &plan, &makeable, side);
        let bytes = bytes.map_err(|(event, why)| fail(numbers[event], why))?;
        let messages = talk
            .events()
            .filter(|event| matches!(event, Event::Message { .. }))
            .count();
        if messages > LIMIT {
            terminal.insist(format_args!(
                "note: the script has {messages} messages: set the robot's `limit` to at least {messages}, or it ends the session after {LIMIT}\n"
            ))?;
        }
        match &self.output {
            Some(path) => fs::write(path, bytes).map_err(|error| {
                Failure::Environment(format!("cannot write {}: {error}", path.display()))
            }),
            None => {
                let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
                Ok(terminal.print(digits.collect::<String>() + "\n")?)
            }
        }
    }
}
