//! What was found, for the reports.

use super::blame::{Blame, Finding, Verdict, spoken};
use super::counts::Counts;
use super::session::{Place, shown};
use super::table::{Table, Tables};
use duologue::diagnostic::{Diagnostic, Level, counted};
use duologue::protocol::Side;
use duologue::source::{SourceId, Sources, Span};
use serde::Serialize;
use std::sync::Arc;

/// The name of the findings for sessions that do not come to an end.
const UNFINISHED: &str = "trace-unfinished";

/// The sessions of a protocol. Within version 1 of the report, fields are only added.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The name of the protocol.
    pub name: String,
    /// Its sessions.
    #[serde(flatten)]
    pub counts: Counts,
    /// How many transitions were seen.
    pub covered: usize,
    /// How many there are.
    pub transitions: usize,
    /// Those that were not seen, at most 1,000.
    pub missing: Vec<Missing>,
}

/// A transition that was not seen.
#[derive(Debug, Serialize)]
pub struct Missing {
    /// The state.
    pub state: String,
    /// The side that sends.
    pub side: &'static str,
    /// The message.
    pub message: String,
    /// The shortest dialogue to the state; `null` if no session reaches it.
    pub dialogue: Option<Vec<Said>>,
    /// The same as text.
    #[serde(skip)]
    pub way: String,
}

/// A message of a dialogue.
#[derive(Debug, Serialize)]
pub struct Said {
    side: &'static str,
    message: String,
}

/// A finding for programs.
#[derive(Debug, Serialize)]
pub struct Judged {
    log: String,
    line: u64,
    #[serde(flatten)]
    verdict: Verdict,
    /// `client`, `server` or `channel`; `null` if that is not known.
    blame: Option<&'static str>,
    /// `sender`, `receiver`, `channel`, `sender or channel`, or `nobody`.
    role: &'static str,
}

/// Everything that was found in some logs.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The protocols with sessions, or, if there are none, all.
    pub protocols: Vec<Summary>,
    /// The first wrong event of each session.
    pub sessions: Vec<Judged>,
    /// How many findings are only counted.
    pub more: u64,
}

impl Outcome {
    /// What was found in logs of these names.
    #[must_use]
    pub fn of(
        tables: &Tables<'_>,
        counts: &[Counts],
        found: &[Finding],
        more: u64,
        logs: &[String],
    ) -> Outcome {
        let both = tables.list().iter().zip(counts);
        let is_used = counts.iter().any(|counts| counts.sessions > 0);
        let both = both.filter(|(_, counts)| counts.sessions > 0 || !is_used);
        let sessions = found.iter().filter_map(|found| {
            let verdict = found.verdict.as_ref()?;
            Some(judged(verdict, found.line.place, logs))
        });
        Outcome {
            protocols: both.map(|(table, counts)| summary(table, counts)).collect(),
            sessions: sessions.collect(),
            more,
        }
    }
}

fn judged(verdict: &Verdict, place: Place, logs: &[String]) -> Judged {
    let (blame, role) = match verdict.blame {
        Blame::Sender(side) => (Some(side.word()), "sender"),
        Blame::Receiver(side) => (Some(side.word()), "receiver"),
        Blame::Channel => (Some("channel"), "channel"),
        Blame::SenderOrChannel(_) => (None, "sender or channel"),
        Blame::Unknown => (None, "sender"),
        Blame::Nobody => (None, "nobody"),
    };
    Judged {
        log: logs.get(place.log as usize).cloned().unwrap_or_default(),
        line: place.line,
        verdict: verdict.clone(),
        blame,
        role,
    }
}

fn summary(table: &Table<'_>, counts: &Counts) -> Summary {
    const MOST: usize = 1000;
    let steps = table.steps().zip(&counts.covered);
    let missing = steps.filter(|(_, seen)| !**seen).map(|(step, _)| {
        let state = table.protocol.state(step.state);
        let reached = table.dialogue(step.state.index());
        let said = |step: &duologue::graph::Step| {
            let state = table.protocol.state(step.state);
            Said {
                side: state.active_side().map_or("", Side::word),
                message: state.messages[step.message].name.to_string(),
            }
        };
        Missing {
            state: state.name.to_string(),
            side: state.active_side().map_or("", Side::word),
            message: state.messages[step.message].name.to_string(),
            way: match &reached {
                None => "no session reaches the state".to_owned(),
                Some(steps) if steps.is_empty() => "at the start".to_owned(),
                Some(steps) => format!("after {}", spoken(table, steps)),
            },
            dialogue: reached.map(|steps| steps.iter().map(said).collect()),
        }
    });
    Summary {
        name: table.name.clone(),
        counts: counts.clone(),
        covered: counts.covered.iter().filter(|seen| **seen).count(),
        transitions: table.transitions(),
        missing: missing.take(MOST).collect(),
    }
}

/// The findings as diagnostics, with the lines of the logs that they need as texts. `unfinished` is the level of sessions that are
/// not finished.
#[must_use]
pub fn diagnostics(
    tables: &Tables<'_>,
    counts: &[Counts],
    found: &[Finding],
    logs: &[String],
    sources: &mut Sources,
    unfinished: Level,
) -> Vec<Diagnostic> {
    let ids: Vec<SourceId> = (0_u32..)
        .zip(logs)
        .map(|(log, name)| {
            let lines = found.iter().map(|found| &found.line);
            let lines = lines.filter(|line| line.place.log == log);
            let mut lines: Vec<(u64, u64, &str)> = lines
                .map(|line| (line.place.line, line.byte, line.text.as_str()))
                .collect();
            // A text that was kept goes before one that was not.
            lines.sort_unstable_by_key(|(line, _, text)| (*line, std::cmp::Reverse(text.len())));
            lines.dedup_by_key(|(line, ..)| *line);
            sources.add_lines(name.clone(), &lines)
        })
        .collect();
    let mut list: Vec<Diagnostic> = found
        .iter()
        .map(|found| diagnostic(found, &ids, sources))
        .collect();
    for (table, counts) in tables.list().iter().zip(counts) {
        for (state, (count, first)) in table.protocol.states.iter().zip(&counts.open) {
            if let Some(first) = first {
                let mut found = unfinished_in(table, state, *count, first, logs);
                found.level = unfinished;
                list.push(found);
            }
        }
    }
    list
}

fn diagnostic(found: &Finding, ids: &[SourceId], sources: &Sources) -> Diagnostic {
    let id = ids[found.line.place.log as usize];
    let start = sources.get(id).start_of_line(found.line.place.line);
    let [from, to] = [found.line.marked.start, found.line.marked.end].map(|at| start + at);
    let mut report = found.report.clone();
    report.primary.span = Span::new(id, from, to);
    report
}

fn unfinished_in(
    table: &Table<'_>,
    state: &duologue::protocol::State,
    count: u64,
    (session, place): &(Arc<str>, Place),
    logs: &[String],
) -> Diagnostic {
    let verb = if count == 1 { "is" } else { "are" };
    let message = format!(
        "{} of `{}` {verb} unfinished in the state `{}`",
        counted(count, "session"),
        table.name,
        state.name
    );
    let log = logs.get(place.log as usize).map_or("", String::as_str);
    let session = shown(session);
    let first = format!(
        "`{session}`, whose last event is on line {} of {log}",
        place.line
    );
    let note = match count {
        1 => format!("it is {first}"),
        _ => format!("the first of them is {first}"),
    };
    let side = state.active_side().map_or("client", Side::word);
    Diagnostic::error(UNFINISHED, state.name.span, message)
        .label(format!("here the {side} sends next"))
        .note(note)
}
