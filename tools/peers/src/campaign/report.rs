//! What an attack has found.

use crate::attack::{Case, Kind};
use clap::ValueEnum;
use duologue::diagnostic::counted;
use duologue::protocol::Side;
use duologue::robots::Plan;
use duologue_project::terminal::{ERROR, harmless};
use duologue_project::{Failure, Outcome};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many bytes are shown.
const SHOWN: usize = 512;

/// Something that a server does wrongly.
#[derive(Debug, Serialize)]
pub struct Finding {
    kind: Kind,
    state: String,
    case: String,
    /// The messages before it, as in a transcript.
    way: Vec<String>,
    /// What was sent, in hexadecimal.
    bytes: String,
    length: usize,
    expected: String,
    observed: String,
}

impl Finding {
    pub(super) fn new(case: &Case, state: &str, way: &[String], observed: String) -> Finding {
        Finding {
            kind: case.kind,
            state: state.to_owned(),
            case: case.name.clone(),
            way: way.to_vec(),
            bytes: hex(&case.bytes),
            length: case.bytes.len(),
            expected: case.expected.words(),
            observed: harmless(&observed).into_owned(),
        }
    }
}

/// Bytes in hexadecimal, as many as are shown.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in &bytes[..bytes.len().min(SHOWN)] {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    if bytes.len() > SHOWN {
        text.push_str("...");
    }
    text
}

/// What an attack has done and found.
pub struct Report<'a> {
    plan: &'a Plan<'a>,
    own: Side,
    counts: BTreeMap<Kind, u64>,
    /// How many cases have no verdict, because the server need not have read them.
    unknown: u64,
    /// How many states were attacked, the end included.
    pub reached: usize,
    /// States that were not reached, and why.
    unreached: Vec<(String, String)>,
    /// What was left out, and why.
    skipped: Vec<(String, String)>,
    /// What the other side does wrongly.
    pub findings: Vec<Finding>,
    /// Whether the server did not begin sessions any more.
    pub is_stopped: bool,
    /// Whether there was no time for all attacks.
    pub is_late: bool,
    /// Whether there were as many attacks as are allowed.
    pub is_cut: bool,
}

impl<'a> Report<'a> {
    /// A report about attacks by one side, in which nothing has happened yet.
    #[must_use]
    pub fn new(plan: &'a Plan<'a>, own: Side) -> Report<'a> {
        Report {
            plan,
            own,
            counts: BTreeMap::new(),
            unknown: 0,
            reached: 0,
            unreached: Vec::new(),
            skipped: Vec::new(),
            findings: Vec::new(),
            is_stopped: false,
            is_late: false,
            is_cut: false,
        }
    }

    pub(super) fn count(&mut self, kind: Kind, is_unknown: bool) {
        *self.counts.entry(kind).or_default() += 1;
        self.unknown += u64::from(is_unknown);
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    pub(super) fn unreached(&mut self, state: &str, why: &str) {
        self.unreached
            .push((state.to_owned(), harmless(why).into_owned()));
    }

    pub(super) fn skip(&mut self, state: &str, why: &str) {
        self.skipped.push((state.to_owned(), why.to_owned()));
    }

    /// Whether the server or the clients hold.
    ///
    /// # Errors
    /// They do not, or that cannot be said, because no further session begins.
    pub fn outcome(&self) -> Outcome {
        match self.findings.is_empty() {
            true if self.is_stopped => Err(environment!("no further session begins")),
            true => Ok(()),
            false => Err(Failure::Findings),
        }
    }

    /// The report for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let place = match finding.state.as_str() {
                "connecting" => "while connecting".to_owned(),
                "!" => "after the end".to_owned(),
                state => format!("in the state `{state}`"),
            };
            text += &format!("{ERROR}error{ERROR:#}: {place}: {}\n", finding.case);
            for line in &finding.way {
                text += &format!("  after     {}\n", harmless(line));
            }
            let bytes = match finding.length {
                0 => "nothing".to_owned(),
                length => format!("{} ({length} bytes)", finding.bytes),
            };
            text += &format!(
                "  sent      {bytes}\n  expected  {}\n  observed  {}\n\n",
                finding.expected, finding.observed
            );
        }
        let counts = self.counts.iter();
        let word = |kind: &Kind| {
            kind.to_possible_value()
                .map(|word| word.get_name().to_owned())
        };
        let counts = counts.filter_map(|(kind, count)| Some(format!("{count} {}", word(kind)?)));
        let counts: Vec<String> = counts.collect();
        let findings = counted(self.findings.len(), "finding");
        text += &format!(
            "{}: {} attacks on the {} ({}), {findings}\n",
            self.plan.name,
            self.total(),
            self.own.dual().word(),
            counts.join(", ")
        );
        for (state, why) in &self.unreached {
            let state = if state == "!" { "the end" } else { state };
            text += &format!("  not reached: {state}, because {why}\n");
        }
        for (state, why) in &self.skipped {
            text += &format!("  left out: silence in {state}, because {why}\n");
        }
        if self.is_late {
            text += "  not complete: the time that `--total` allows is over\n";
        }
        if self.is_cut {
            text += "  not complete: there were as many attacks as `--cases` allows\n";
        }
        if self.unknown > 0 {
            text += &format!(
                "  without a verdict: {}, because the other side kept the turn, or had left because of the messages before\n",
                self.unknown
            );
        }
        text
    }

    /// The report for programs.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let pairs = |all: &[(String, String)]| {
            let all = all
                .iter()
                .map(|(state, why)| json!({"state": state, "why": why}));
            all.collect::<Vec<_>>()
        };
        json!({
            "version": 1,
            "protocol": self.plan.name,
            "side": self.own.word(),
            "cases": self.counts,
            "without_verdict": self.unknown,
            "reached": self.reached,
            "not_reached": pairs(&self.unreached),
            "left_out": pairs(&self.skipped),
            "stopped": self.is_stopped || self.is_late || self.is_cut,
            "findings": self.findings,
        })
    }
}
