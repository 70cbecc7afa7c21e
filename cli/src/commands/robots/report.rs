//! `duologue robots report`: what several coverages of robots have together.

use super::{Coverage, Sides, Transition, read};
use crate::args::named::Named;
use crate::args::{Findings, Format, Sources};
use crate::output::answer::Answer;
use crate::terminal::{Terminal, brief};
use clap::Args;
use duologue::check::CheckedProgram;
use duologue::diagnostic::{Diagnostic, Level};
use duologue::files::Disk;
use duologue::languages::Options;
use duologue::protocol::Message;
use duologue::relation::View;
use duologue::report::quoted;
use duologue::robots::{Edge, Makeable, Node, Plan};
use duologue_project::{Failure, Outcome, baseline};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The name of the finding that a transition is missing, and how many such findings a protocol has at most.
const MISSING: &str = "robots-missing";
const MOST_MISSING: usize = 1_000;

/// How long the name of a language in a report may be, and how many names there may be.
const MOST_LANGUAGES: usize = 16;

/// Merge coverage reports, and print which transitions are missing
#[derive(Debug, Args)]
pub struct Report {
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
    #[arg(long, default_value = "human", value_name = "STYLE")]
    format: Format,
    #[command(flatten)]
    sources: Sources,
}

/// The coverage of each protocol, for people or as JSON, and a message for each of which less is covered than asked for.
type Said = (String, Vec<String>);

impl Answer for Said {}

impl Report {
    pub fn run(mut self, terminal: &Terminal) -> Outcome {
        let named = Named::parse(&self.protocol);
        let sources = std::mem::take(&mut self.sources).leaving_out_unreadable();
        // For people the coverage is the result. Reports of other kinds are the findings.
        let (format, findings) = match self.format {
            Format::Human | Format::Json => (Format::Human, Findings::Reason),
            other @ (Format::Short | Format::Sarif | Format::Junit | Format::Github) => {
                (other, Findings::Product)
            }
        };
        let (paths, options) = ([named.file.clone()], Options::default());
        // The findings are the transitions that are missing, or those in the protocols if these have errors.
        let merge = |request: &_| {
            let (mut compiled, mut said) = (baseline::checked(request, &Disk)?, Said::default());
            if let Some(checked) = &compiled.checked {
                compiled.diagnostics = self.judge(checked, &named, &mut said)?;
            }
            Ok((compiled, said))
        };
        let (compiled, (text, complaints)) =
            sources.compile_by(merge, &paths, options, format, findings, terminal)?;
        if compiled.checked.is_none() {
            return Err(Failure::Findings);
        }
        match findings {
            Findings::Product => terminal.tell(&text)?,
            Findings::Aside | Findings::Reason => terminal.print(&text)?,
        }
        for words in &complaints {
            terminal.complain(words);
        }
        match complaints.is_empty() {
            true => Ok(()),
            false => Err(Failure::Findings),
        }
    }

    fn judge(
        &self,
        checked: &CheckedProgram,
        named: &Named,
        said: &mut Said,
    ) -> Result<Vec<Diagnostic>, Failure> {
        let (program, makeable) = (checked.program(), Makeable::of(checked.program()));
        let views = match &named.protocol {
            Some(_) => vec![named.view(checked)?],
            None => {
                let protocols = checked.protocols();
                let protocols = protocols.map(|protocol| View::of(program, protocol.id()));
                let instances = program.instances.iter();
                let instances = instances.map(|instance| View::instance(program, instance));
                protocols.chain(instances).collect()
            }
        };
        let sums = views
            .into_iter()
            .filter_map(|view| Sum::of(view, &makeable));
        let mut sums: BTreeMap<String, Sum> = sums.collect();
        for path in &self.files {
            read(path, |line| match sums.get_mut(&line.protocol) {
                Some(sum) => sum.add(line),
                None if named.protocol.is_some() => Ok(()),
                None => Err(format!(
                    "there is no protocol `{}`: name the file that declares it, or a protocol as in FILE#NAME, which leaves others out",
                    brief(&line.protocol)
                )),
            })?;
        }
        // A protocol that is named, or is the only one, has been played, or nothing of it is covered. With a percentage that holds for all
        // that the file itself declares, so that one that no test plays is found.
        let is_only = sums.len() == 1;
        let is_wanted =
            |sum: &Sum| is_only || sum.lines > 0 || sum.is_input && self.at_least.is_some();
        let file = named.file.display();
        if sums.is_empty() {
            bail_usage!("no protocol of {file} has robots");
        }
        sums.retain(|_, sum| is_wanted(sum));
        if sums.is_empty() {
            bail_environment!(
                "the files have no coverage of a protocol; write what a coverage returns as JSON into them"
            );
        }
        let (mut list, least) = (Vec::new(), self.at_least.unwrap_or(0));
        for (name, sum) in &sums {
            let steps = sum.transitions().filter(|step| step.edge.is_coverable);
            let seen: Vec<bool> = steps.map(|step| step.is_seen()).collect();
            let (count, seen) = (seen.len(), seen.iter().filter(|it| **it).count());
            let is_enough = (seen as u64) * 100 >= least * count as u64;
            if !is_enough {
                said.1.push(format!(
                    "{} % of the transitions of `{name}` are covered; --at-least requires {least} %",
                    seen * 100 / count.max(1)
                ));
            }
            let level = if is_enough { Level::Warn } else { Level::Deny };
            let text = sum.text([seen, count], level, &mut list);
            said.0 += &match self.format == Format::Json {
                true => sum.json([seen, count]),
                false => text,
            };
        }
        Ok(list)
    }
}

/// What all lines say about a protocol.
struct Sum<'p> {
    plan: Plan<'p>,
    /// Whether the files of the command line declare it.
    is_input: bool,
    lines: usize,
    languages: Vec<String>,
    side: Sides,
    sessions: u64,
    /// For each state and message, how often it was sent and received.
    counts: BTreeMap<(String, String), [u64; 2]>,
}

/// A transition of a plan, and how often it was sent and received.
struct Step<'s> {
    at: usize,
    node: &'s Node,
    message: &'s Message,
    edge: &'s Edge,
    counts: [u64; 2],
}

impl Step<'_> {
    fn is_seen(&self) -> bool {
        self.counts != [0, 0]
    }
}

impl<'p> Sum<'p> {
    /// Nothing of a protocol or an instance, with its name; `None` if it has no robots.
    fn of(view: View<'p>, makeable: &Makeable) -> Option<(String, Sum<'p>)> {
        let plan = Plan::of(view, makeable).ok()?;
        let counts = plan.nodes.iter().flat_map(|node| {
            let key = |message: &Message| (node.name.clone(), message.name.to_string());
            plan.messages(node)
                .map(move |(message, _)| (key(message), [0, 0]))
        });
        let sum = Sum {
            is_input: view.program.file(view.file()).is_input,
            lines: 0,
            languages: Vec::new(),
            side: Sides::Both,
            sessions: 0,
            counts: counts.collect(),
            plan,
        };
        Some((sum.plan.name.clone(), sum))
    }

    /// Adds a line. Fails if it is not about this protocol.
    fn add(&mut self, line: Coverage) -> Result<(), String> {
        if self.plan.fingerprint != line.fingerprint {
            return Err(format!(
                "this is the coverage of another version of `{}`: run the tests again",
                line.protocol
            ));
        }
        for name in line.language.split(',') {
            let is_word = name.chars().all(|letter| letter.is_ascii_alphanumeric());
            if !is_word || name.len() > MOST_LANGUAGES {
                return Err(format!("there is no language `{}`", brief(name)));
            }
            let is_new = !name.is_empty() && self.languages.iter().all(|known| known != name);
            if is_new && self.languages.len() < MOST_LANGUAGES {
                self.languages.push(name.to_owned());
            }
        }
        let is_same = self.lines == 0 || self.side == line.side;
        self.side = if is_same { line.side } else { Sides::Both };
        self.lines += 1;
        self.sessions = self.sessions.saturating_add(line.sessions);
        for own in line.transitions {
            let key = (own.state, own.message);
            let Some([sent, received]) = self.counts.get_mut(&key) else {
                let (state, message) = (brief(&key.0), brief(&key.1));
                return Err(format!("there is no message `{message}` in `{state}`"));
            };
            *sent = sent.saturating_add(own.sent);
            *received = received.saturating_add(own.received);
        }
        Ok(())
    }

    fn transitions(&self) -> impl Iterator<Item = Step<'_>> {
        let nodes = self.plan.nodes.iter().enumerate();
        nodes.flat_map(move |(at, node)| {
            self.plan.messages(node).map(move |(message, edge)| Step {
                at,
                node,
                message,
                edge,
                counts: self.counts[&(node.name.clone(), message.name.to_string())],
            })
        })
    }

    /// The form of a line, so that it can be merged again.
    fn json(&self, [covered, coverable]: [usize; 2]) -> String {
        let transitions = self.transitions().map(|step| Transition {
            state: step.node.name.clone(),
            message: step.message.name.to_string(),
            sent: step.counts[0],
            received: step.counts[1],
        });
        let line = serde_json::json!({
            "version": 1,
            "protocol": self.plan.name,
            "fingerprint": self.plan.fingerprint,
            "language": self.languages.join(","),
            "side": self.side,
            "sessions": self.sessions,
            "covered": covered,
            "coverable": coverable,
            "transitions": transitions.collect::<Vec<_>>(),
        });
        format!("{line}\n")
    }

    /// The coverage for people. The transitions that no robot has seen are also findings: the first of them, if there are very many.
    fn text(&self, [seen, count]: [usize; 2], level: Level, list: &mut Vec<Diagnostic>) -> String {
        let name = &self.plan.name;
        let plural = if self.sessions == 1 { "" } else { "s" };
        let mut text = format!("{name}: {} session{plural}", self.sessions);
        if !self.languages.is_empty() {
            let _ = write!(text, " in {}", self.languages.join(", "));
        }
        let _ = write!(text, "\n    covered {seen}/{count} transitions\n");
        let most = list.len() + MOST_MISSING;
        for step in self.transitions().filter(|step| !step.is_seen()) {
            let (side, state) = (step.node.sender.word(), &step.node.name);
            let message = &step.message.name;
            if !step.edge.is_coverable {
                let _ = writeln!(text, "    no robot gets to {side}: {message} ({state})");
                continue;
            }
            let steps = self.plan.way_to(step.at).into_iter().map(|(node, edge)| {
                let node = &self.plan.nodes[node];
                (node.sender, &self.plan.state(node).messages[edge].name)
            });
            let steps: Vec<_> = steps.collect();
            let way = match quoted(steps.iter().map(|(_, name)| name)).as_str() {
                "" => "at the start".to_owned(),
                names => format!("after {names}"),
            };
            let _ = writeln!(text, "    missing {side}: {message} ({state}) {way}");
            if list.len() < most {
                let words = format!(
                    "no robot has seen the {side} of `{name}` send `{message}` in the state `{state}`"
                );
                let mut found = Diagnostic::error(MISSING, message.span, words);
                found.level = level;
                found = found.label("never sent or received here");
                for (sender, name) in steps {
                    let words = format!("the {} sends `{name}`", sender.word());
                    found = found.step(name.span, words);
                }
                list.push(found.note(format!("robots get there {way}")));
            }
        }
        text
    }
}
