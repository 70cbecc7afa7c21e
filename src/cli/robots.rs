//! `duologue robots`: what generated robots have covered, and scripts for them.

use super::args::Sources;
use super::named::Named;
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE};
use clap::{Args, Subcommand, ValueEnum};
use duologue::check::CheckedProgram;
use duologue::protocol::Side;
use duologue::relation::View;
use duologue::robots::{Makeable, Node, Plan};
use duologue::talk::{Talk, bytes_of};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue robots report client.json server.json --protocol bank.proto
                                      what robots have covered, and the shortest dialogue to each gap
  duologue robots report target/*.json --protocol bank.proto --at-least 100
                                      the same; fail if a transition is missing
  duologue robots bytes bank.proto --side client --script session.txt
                                      the bytes with which the client's robot plays a script
";

/// How large a report or a script may be.
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

/// Merge coverage reports, and print which transitions are missing
#[derive(Debug, Args)]
struct Report {
    /// Files with the JSON lines of coverages
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The protocol file
    #[arg(long, value_name = "FILE")]
    protocol: PathBuf,
    /// Fail if less than this percentage of the transitions of a protocol is covered
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u64).range(0..=100))]
    at_least: Option<u64>,
    /// human, or json: the merged coverage of each protocol, on a line
    #[arg(
        long,
        value_enum,
        default_value = "human",
        hide_possible_values = true,
        value_name = "STYLE"
    )]
    format: Form,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Human,
    Json,
}

/// Print the bytes with which a robot plays a script
#[derive(Debug, Args)]
struct Bytes {
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

/// A line of a report.
#[derive(Debug, Deserialize)]
struct Line {
    version: u32,
    protocol: String,
    fingerprint: String,
    #[serde(default)]
    language: String,
    #[serde(default)]
    side: String,
    #[serde(default)]
    sessions: u64,
    transitions: Vec<Transition>,
}

#[derive(Debug, Deserialize)]
struct Transition {
    state: String,
    message: String,
    sent: u64,
    received: u64,
}

/// What reports say about a protocol together.
#[derive(Debug, Default)]
struct Merged {
    sessions: u64,
    languages: Vec<String>,
    sides: Vec<String>,
    /// For each node and edge, how often it was sent and received.
    counts: BTreeMap<(usize, usize), [u64; 2]>,
}

impl Robots {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        match self.command {
            Command::Report(report) => report.run(terminal),
            Command::Bytes(bytes) => bytes.run(terminal),
        }
    }
}

/// Reads a text that may come from anywhere.
fn read(path: &Path) -> Result<String, Failure> {
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

/// The plans of all protocols and instances of the program that have robots, by their names.
fn plans<'c>(checked: &'c CheckedProgram, makeable: &Makeable) -> BTreeMap<String, Plan<'c>> {
    let program = checked.program();
    let protocols = checked
        .protocols()
        .map(|protocol| View::of(program, protocol.id()));
    let instances = program.instances.iter();
    let instances = instances.map(|instance| View::instance(program, instance));
    let all = protocols.chain(instances);
    let all = all.filter_map(|view| Plan::of(view, makeable).ok());
    all.map(|plan| (plan.name.clone(), plan)).collect()
}

impl Report {
    fn run(self, terminal: &Terminal) -> Outcome {
        let named = Named::parse(&self.protocol);
        let compiled = named.compile(self.sources, terminal)?;
        let checked = compiled.checked.as_ref().ok_or(Failure::Findings)?;
        let makeable = Makeable::of(checked.program());
        let plans = plans(checked, &makeable);
        let mut all: BTreeMap<String, Merged> = BTreeMap::new();
        for path in &self.files {
            for (number, text) in read(path)?.lines().enumerate() {
                if text.trim().is_empty() {
                    continue;
                }
                let place = format!("{}:{}", path.display(), number + 1);
                let line = add(text, &plans, &mut all);
                line.map_err(|why| Failure::Environment(format!("{place}: {why}")))?;
            }
        }
        let is_meant = |name: &str| match &named.protocol {
            Some(meant) => name == meant || name.ends_with(&format!(".{meant}")),
            None => true,
        };
        let mut is_enough = true;
        for (name, merged) in all.iter().filter(|(name, _)| is_meant(name)) {
            let plan = &plans[name];
            let (seen, count) = merged.covered(plan);
            match self.format {
                Form::Human => terminal.print(merged.text(plan))?,
                Form::Json => terminal.print(merged.json(plan))?,
            }
            if let Some(least) = self.at_least
                && (seen as u64) * 100 < least * count as u64
            {
                is_enough = false;
                let words = format!(
                    "`{name}` is covered to {} %, which is less than {least} %",
                    seen * 100 / count.max(1)
                );
                terminal.complain(&words);
            }
        }
        match is_enough {
            true => Ok(()),
            false => Err(Failure::Findings),
        }
    }
}

/// Adds a line of a report.
fn add(
    text: &str,
    plans: &BTreeMap<String, Plan<'_>>,
    all: &mut BTreeMap<String, Merged>,
) -> Result<(), String> {
    let line: Line = serde_json::from_str(text)
        .map_err(|error| format!("this is not the coverage of a robot: {error}"))?;
    if line.version != 1 {
        return Err(format!(
            "version {} of reports is not known, only 1",
            line.version
        ));
    }
    let Some(plan) = plans.get(&line.protocol) else {
        return Err(format!("there is no protocol `{}`", line.protocol));
    };
    if plan.fingerprint != line.fingerprint {
        return Err(format!(
            "this is the coverage of another version of `{}`",
            line.protocol
        ));
    }
    let mut positions = BTreeMap::new();
    for (at, node) in plan.nodes.iter().enumerate() {
        for (edge, (message, _)) in plan.messages(node).enumerate() {
            positions.insert((node.name.as_str(), message.name.text()), (at, edge));
        }
    }
    let mut counts = Vec::new();
    for transition in &line.transitions {
        let (state, message) = (transition.state.as_str(), transition.message.as_str());
        let Some(position) = positions.get(&(state, message)) else {
            return Err(format!("there is no message `{message}` in `{state}`"));
        };
        counts.push((*position, [transition.sent, transition.received]));
    }
    let merged = all.entry(line.protocol).or_default();
    merged.sessions = merged.sessions.saturating_add(line.sessions);
    for (list, word) in [
        (&mut merged.languages, line.language),
        (&mut merged.sides, line.side),
    ] {
        if !word.is_empty() && !list.contains(&word) {
            list.push(word);
        }
    }
    for (position, [sent, received]) in counts {
        let own = merged.counts.entry(position).or_default();
        *own = [own[0].saturating_add(sent), own[1].saturating_add(received)];
    }
    Ok(())
}

impl Merged {
    fn seen(&self, at: usize, edge: usize) -> bool {
        let counts = self.counts.get(&(at, edge));
        counts.is_some_and(|[sent, received]| sent.saturating_add(*received) > 0)
    }

    /// How many of the transitions that robots can get to were seen, and how many there are.
    fn covered(&self, plan: &Plan<'_>) -> (usize, usize) {
        let (mut seen, mut all) = (0, 0);
        for (at, node) in plan.nodes.iter().enumerate() {
            for (edge, description) in node.edges.iter().enumerate() {
                all += usize::from(description.is_coverable);
                seen += usize::from(description.is_coverable && self.seen(at, edge));
            }
        }
        (seen, all)
    }

    fn text(&self, plan: &Plan<'_>) -> String {
        let (seen, all) = self.covered(plan);
        let mut text = format!("{}: {} sessions", plan.name, self.sessions);
        if !self.languages.is_empty() {
            let _ = write!(text, " in {}", self.languages.join(", "));
        }
        let _ = write!(text, "\n    covered {seen}/{all} transitions\n");
        for (at, node) in plan.nodes.iter().enumerate() {
            for (edge, (message, description)) in plan.messages(node).enumerate() {
                let name = &message.name;
                let (side, state) = (node.sender.word(), &node.name);
                if !description.is_coverable {
                    let _ = writeln!(text, "    no robot gets to {side}: {name} ({state})");
                } else if !self.seen(at, edge) {
                    let way = way(plan, at);
                    let _ = writeln!(text, "    missing {side}: {name} ({state}) {way}");
                }
            }
        }
        text
    }

    /// The merged coverage in the form of a report, so that it can be merged again.
    fn json(&self, plan: &Plan<'_>) -> String {
        let transition = |at: usize, edge: usize, node: &Node, message: &str| {
            let counts = self.counts.get(&(at, edge));
            let [sent, received] = counts.copied().unwrap_or_default();
            serde_json::json!({
                "state": node.name, "message": message, "sent": sent, "received": received
            })
        };
        let nodes = plan.nodes.iter().enumerate();
        let transitions = nodes.flat_map(|(at, node)| {
            let messages = plan.messages(node).enumerate();
            let all = messages
                .map(move |(edge, (message, _))| transition(at, edge, node, message.name.text()));
            all.collect::<Vec<_>>()
        });
        let side = match self.sides.as_slice() {
            [only] => only,
            _ => "both",
        };
        let (covered, coverable) = self.covered(plan);
        let value = serde_json::json!({
            "version": 1,
            "protocol": plan.name,
            "fingerprint": plan.fingerprint,
            "language": self.languages.join(","),
            "side": side,
            "sessions": self.sessions,
            "covered": covered,
            "coverable": coverable,
            "transitions": transitions.collect::<Vec<_>>(),
        });
        format!("{value}\n")
    }
}

/// The shortest dialogue to a state.
fn way(plan: &Plan<'_>, node: usize) -> String {
    let way = plan.way_to(node).unwrap_or_default();
    if way.is_empty() {
        return "at the start".to_owned();
    }
    let names = way.iter().map(|(at, edge)| {
        let state = plan.state(&plan.nodes[*at]);
        format!("`{}`", state.messages[*edge].name)
    });
    format!("after {}", names.collect::<Vec<_>>().join(", "))
}

impl Bytes {
    fn run(self, terminal: &Terminal) -> Outcome {
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
        for (number, line) in read(&self.script)?.lines().enumerate() {
            let fail = |why: &str| {
                let place = format!("{}:{}", self.script.display(), number + 1);
                terminal.complain(&format!("{place}: {why}"));
                Failure::Findings
            };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (to, text) = match line.split_once(" <- ") {
                Some(("client", text)) => (Some(Side::Client), text),
                Some(("server", text)) => (Some(Side::Server), text),
                _ => (None, line),
            };
            let active = talk.active().ok_or_else(|| fail("the session is over"))?;
            if text == "closed" {
                talk.leave(to.map_or(active, Side::dual));
                continue;
            }
            if to.is_some_and(|to| to == active) {
                return Err(fail(&format!("it is the turn of the {}", active.word())));
            }
            talk.send(text).map_err(|fault| fail(&fault.message))?;
        }
        let side = match self.side {
            Own::Client => Side::Client,
            Own::Server => Side::Server,
        };
        let bytes = bytes_of(&talk, &plan, &makeable, side);
        let bytes = bytes.map_err(|(line, why)| {
            terminal.complain(&format!("{}: {line}: {why}", self.script.display()));
            Failure::Findings
        })?;
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
