//! `duologue robots`: what generated robots have covered, and scripts for them.

mod merged;
mod script;

use crate::args::named::Named;
use crate::args::{Findings, Format, Sources, TEMPLATE};
use crate::output::answer::Answer;
use crate::terminal::{Terminal, harmless};
use clap::{Args, Subcommand};
use duologue::check::CheckedProgram;
use duologue::compile::{Compilation, Request};
use duologue::diagnostic::{Diagnostic, Level};
use duologue::files::Disk;
use duologue::languages::Options;
use duologue::name::nearest;
use duologue::relation::View;
use duologue::robots::{Makeable, Plan};
use duologue_project::{Failure, Outcome, baseline};
use merged::Merged;
use script::{Bytes, read};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue robots report client.json server.json --protocol bank.proto
                                      what robots have covered, and the shortest dialogue to each gap
  duologue robots report target/*.json --protocol bank.proto --at-least 100
                                      the same; fail if a transition is missing
  duologue robots bytes bank.proto --side client --script session.txt
                                      the bytes with which the client's robot plays a script
";

/// How long the name of a language in a report may be, and how many names there may be.
const MOST_LANGUAGES: usize = 16;

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
    /// How what is missing is printed: human, short, json, sarif, junit or github; json is the merged coverage of each protocol, on a
    /// line
    #[arg(
        long,
        value_enum,
        default_value = "human",
        hide_possible_values = true,
        value_name = "STYLE"
    )]
    format: Format,
    #[command(flatten)]
    sources: Sources,
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

/// What may be reported: the protocols and instances that have robots.
struct Known<'p> {
    plan: &'p Plan<'p>,
    /// Each state and message, with its node and edge.
    positions: BTreeMap<(&'p str, &'p str), (usize, usize)>,
}

impl Robots {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        match self.command {
            Command::Report(report) => report.run(terminal),
            Command::Bytes(bytes) => bytes.run(terminal),
        }
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

/// The names of the protocols and instances that the files of the command line declare, not those that they import.
fn declared(checked: &CheckedProgram) -> BTreeSet<String> {
    let program = checked.program();
    let protocols = program.protocols.iter();
    let protocols = protocols.map(|protocol| (protocol.file, &protocol.name));
    let instances = program.instances.iter();
    let instances = instances.map(|instance| (instance.file, &instance.name));
    let own = protocols
        .chain(instances)
        .filter(|(file, _)| program.file(*file).is_input);
    own.map(|(file, name)| program.full_name(file, name.text()))
        .collect()
}

impl<'p> Known<'p> {
    fn of(plan: &'p Plan<'p>) -> Known<'p> {
        let mut positions = BTreeMap::new();
        for (at, node) in plan.nodes.iter().enumerate() {
            for (edge, (message, _)) in plan.messages(node).enumerate() {
                positions.insert((node.name.as_str(), message.name.text()), (at, edge));
            }
        }
        Known { plan, positions }
    }
}

/// What a report says in addition to its findings.
#[derive(Default)]
struct Said {
    /// The coverage of each protocol, for people or as JSON.
    text: String,
    /// A message for each protocol of which less is covered than asked for.
    complaints: Vec<String>,
}

impl Answer for Said {}

impl Report {
    fn run(mut self, terminal: &Terminal) -> Outcome {
        let named = Named::parse(&self.protocol);
        let sources = std::mem::take(&mut self.sources).leaving_out_unreadable();
        // For people the coverage is the result. Reports of other kinds are the findings.
        let (format, findings) = match self.format {
            Format::Human | Format::Json => (Format::Human, Findings::Reason),
            other @ (Format::Short | Format::Sarif | Format::Junit | Format::Github) => {
                (other, Findings::Product)
            }
        };
        let merge = |request: &Request| self.merge(request, &named);
        let (paths, options) = ([named.file.clone()], Options::default());
        let (compiled, said) =
            sources.compile_by(merge, &paths, options, format, findings, terminal)?;
        if compiled.checked.is_none() {
            return Err(Failure::Findings);
        }
        match findings {
            Findings::Product => terminal.tell(&said.text)?,
            Findings::Aside | Findings::Reason => terminal.print(&said.text)?,
        }
        for words in &said.complaints {
            terminal.complain(words);
        }
        match said.complaints.is_empty() {
            true => Ok(()),
            false => Err(Failure::Findings),
        }
    }

    /// Checks the protocols and adds the coverages up. The findings are the transitions that are missing, or those in the protocols if
    /// these have errors.
    fn merge(&self, request: &Request, named: &Named) -> Result<(Compilation, Said), Failure> {
        let mut compiled = baseline::checked(request, &Disk)?;
        let mut said = Said::default();
        if let Some(checked) = &compiled.checked {
            compiled.diagnostics = self.judge(checked, named, &mut said)?;
        }
        Ok((compiled, said))
    }

    fn judge(
        &self,
        checked: &CheckedProgram,
        named: &Named,
        said: &mut Said,
    ) -> Result<Vec<Diagnostic>, Failure> {
        let makeable = Makeable::of(checked.program());
        let plans = plans(checked, &makeable);
        let known: BTreeMap<&str, Known<'_>> = plans
            .iter()
            .map(|(name, plan)| (name.as_str(), Known::of(plan)))
            .collect();
        let meant = meant(named, known.keys().copied())?;
        let all = self.read(&known, named.protocol.is_some())?;
        // A protocol that is named, or is the only one, has been played, or nothing of it is covered. With a percentage that holds for all
        // that the file itself declares, so that one that no test plays is found.
        let declared = match self.at_least {
            Some(_) => declared(checked),
            None => BTreeSet::new(),
        };
        let is_reported =
            |name: &&str| meant.len() == 1 || all.contains_key(*name) || declared.contains(*name);
        let reported: Vec<&str> = meant.iter().copied().filter(is_reported).collect();
        if reported.is_empty() {
            let words = "the files have no coverage of a protocol; write what a coverage returns as JSON into them";
            return Err(Failure::Environment(words.to_owned()));
        }
        let nothing = Merged::default();
        let mut list = Vec::new();
        for name in reported {
            let (plan, merged) = (known[name].plan, all.get(name).unwrap_or(&nothing));
            said.text += &match self.format == Format::Json {
                true => merged.json(plan),
                false => merged.text(plan),
            };
            let (seen, count) = merged.covered(plan);
            let least = self.at_least.unwrap_or(0);
            let is_enough = (seen as u64) * 100 >= least * count as u64;
            if !is_enough {
                said.complaints.push(format!(
                    "{} % of the transitions of `{name}` are covered; --at-least requires {least} %",
                    seen * 100 / count.max(1)
                ));
            }
            let level = match is_enough {
                true => Level::Warn,
                false => Level::Deny,
            };
            list.extend(merged.missing(plan, level));
        }
        Ok(list)
    }

    /// What the files say together about each protocol. If the command line names one, lines of protocols that are not known are left out.
    fn read(
        &self,
        known: &BTreeMap<&str, Known<'_>>,
        is_named: bool,
    ) -> Result<BTreeMap<String, Merged>, Failure> {
        let mut all = BTreeMap::new();
        for path in &self.files {
            for (number, text) in read(path)?.lines().enumerate() {
                if text.trim().is_empty() {
                    continue;
                }
                let place = format!("{}:{}", path.display(), number + 1);
                let line = add(text, known, is_named, &mut all);
                line.map_err(|why| Failure::Environment(format!("{place}: {why}")))?;
            }
        }
        Ok(all)
    }
}

/// The protocols that the command line means, of those that have robots: all, or the one that it names.
fn meant<'p>(
    named: &Named,
    known: impl Iterator<Item = &'p str> + Clone,
) -> Result<Vec<&'p str>, Failure> {
    let file = named.file.display();
    let Some(meant) = &named.protocol else {
        let all: Vec<&str> = known.collect();
        return match all.is_empty() {
            true => Err(Failure::Usage(format!("no protocol of {file} has robots"))),
            false => Ok(all),
        };
    };
    let is_meant = |name: &&str| name == meant || short(name) == meant;
    let found: Vec<&str> = known.clone().filter(is_meant).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let hint = match nearest(meant, known.map(short)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    Err(Failure::Usage(format!(
        "{file} has no protocol `{meant}` with robots{hint}"
    )))
}

/// A name without its package.
fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// A text from a report, as it can be printed.
fn shown(words: &str) -> String {
    const MOST: usize = 200;
    let mut text: String = words.chars().take(MOST).collect();
    if text.len() < words.len() {
        text.push_str("...");
    }
    harmless(&text).replace(['\n', '\t'], " ")
}

/// Adds a line of a report.
fn add(
    text: &str,
    known: &BTreeMap<&str, Known<'_>>,
    is_named: bool,
    all: &mut BTreeMap<String, Merged>,
) -> Result<(), String> {
    let line: Line = serde_json::from_str(text).map_err(|error| {
        // Messages of the parser quote what it found, which may be long.
        format!(
            "this is not the coverage of a robot: {}",
            shown(&error.to_string())
        )
    })?;
    if line.version != 1 {
        return Err(format!(
            "version {} of reports is not known, only 1",
            line.version
        ));
    }
    let Some(Known { plan, positions }) = known.get(line.protocol.as_str()) else {
        return match is_named {
            true => Ok(()),
            false => Err(format!(
                "there is no protocol `{}`: name the file that declares it, or a protocol as in FILE#NAME, which leaves others out",
                shown(&line.protocol)
            )),
        };
    };
    if plan.fingerprint != line.fingerprint {
        return Err(format!(
            "this is the coverage of another version of `{}`: run the tests again",
            line.protocol
        ));
    }
    if !["", "client", "server", "both"].contains(&line.side.as_str()) {
        return Err(format!("there is no side `{}`", shown(&line.side)));
    }
    let languages: Vec<&str> = line.language.split(',').collect();
    let is_name = |name: &&str| {
        let mut letters = name.chars();
        name.len() <= MOST_LANGUAGES && letters.all(|letter| letter.is_ascii_alphanumeric())
    };
    if languages.len() > MOST_LANGUAGES || !languages.iter().all(is_name) {
        return Err(format!("there is no language `{}`", shown(&line.language)));
    }
    let mut counts = Vec::new();
    for transition in &line.transitions {
        let (state, message) = (transition.state.as_str(), transition.message.as_str());
        let Some(position) = positions.get(&(state, message)) else {
            return Err(format!(
                "there is no message `{}` in `{}`",
                shown(message),
                shown(state)
            ));
        };
        counts.push((*position, [transition.sent, transition.received]));
    }
    let merged = all.entry(line.protocol).or_default();
    merged.sessions = merged.sessions.saturating_add(line.sessions);
    note(&mut merged.sides, &line.side);
    for language in languages {
        note(&mut merged.languages, language);
    }
    for (position, [sent, received]) in counts {
        let own = merged.counts.entry(position).or_default();
        *own = [own[0].saturating_add(sent), own[1].saturating_add(received)];
    }
    Ok(())
}

/// Adds a word to a list, once. A list does not grow further than there is anything to say.
fn note(list: &mut Vec<String>, word: &str) {
    if !word.is_empty() && list.len() < MOST_LANGUAGES && list.iter().all(|known| known != word) {
        list.push(word.to_owned());
    }
}
