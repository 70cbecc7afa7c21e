//! Which event of a session is the first wrong one, and which side, or the channel between them, is to blame.
//!
//! A session is half duplex: as long as nothing is wrong, both sides log the same messages in the same order. So the position of a
//! message in the logs says what comes first, without any clock.

use super::session::{Altered, Gap, KeptLine, Logged, Session, Wrong, index, shown};
use super::table::{OVER, Refusal, Table, UNKNOWN};
use duologue::diagnostic::{Diagnostic, Label, Level, counted, joined};
use duologue::name::nearest;
use duologue::protocol::Side;
use duologue::source::{SourceId, Span};
use serde::Serialize;

/// Something that is wrong in a log.
#[derive(Debug)]
pub struct Finding {
    /// The line.
    pub line: KeptLine,
    /// What is reported about it. Where the line is among the texts of the report is not known yet.
    pub report: Diagnostic,
    /// The same for programs; `None` for a line that cannot be read.
    pub verdict: Option<Verdict>,
}

/// The first wrong event of a session.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The session.
    pub session: String,
    /// Its protocol.
    pub protocol: String,
    /// The state; `!` if the session was over.
    pub state: String,
    /// The message.
    pub message: String,
    /// What was allowed.
    pub allowed: Vec<String>,
    /// Who is to blame.
    #[serde(skip)]
    pub blame: Blame,
}

/// Who is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The side that sent the message.
    Sender(Side),
    /// The side that should have received one.
    Receiver(Side),
    /// What carries the messages.
    Channel,
    /// This side, which sent the message, or the channel: the log of this side would tell.
    SenderOrChannel(Side),
    /// The side that sent the message, which the log does not name.
    Unknown,
    /// Nobody: something may have happened before that was not seen.
    Nobody,
}

/// The name of the findings for messages out of place.
pub const MESSAGE: &str = "trace-message";
/// The name of the findings for messages that did not arrive as they were sent.
pub const CHANNEL: &str = "trace-channel";
/// The name of the findings for lines that cannot be read.
pub const LINE: &str = "trace-line";
/// The name of the findings for sessions that were seen in part.
pub const PARTIAL: &str = "trace-partial";
/// Where a finding is before its line is among the texts of the report.
const NOWHERE: Span = Span {
    source: SourceId(0),
    start: 0,
    end: 0,
};
/// The beginning of the note that says who is to blame.
const TO_BLAME: &str = "to blame: ";

impl Finding {
    pub(super) fn unreadable(line: KeptLine, message: &str) -> Finding {
        Finding {
            line,
            report: Diagnostic::error(LINE, NOWHERE, shown(message)),
            verdict: None,
        }
    }

    /// The same if something may have happened before that was not seen: it blames nobody.
    pub(super) fn in_part(mut self, gap: Gap) -> Finding {
        (self.report.rule, self.report.level) = (PARTIAL, Level::Warn);
        self.report.message += ", as far as the session was seen";
        let notes = &mut self.report.notes;
        notes.retain(|note| !note.starts_with(TO_BLAME));
        let counted = |lines: u64, what: &str| {
            (lines > 0).then(|| format!("{} {what}", counted(lines, "earlier line")))
        };
        let lines = [
            counted(
                gap.unnamed,
                "of the session without an event that the mapping names",
            ),
            counted(gap.unread, "that could not be read"),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        let verb = if gap.unnamed + gap.unread == 1 {
            "is"
        } else {
            "are"
        };
        let note = format!("nobody is blamed: there {verb} {}", lines.join(" and "));
        notes.insert(0, note);
        if let Some(verdict) = &mut self.verdict {
            verdict.blame = Blame::Nobody;
        }
        self
    }

    /// Whether it is about a session that was seen in part.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.report.rule == PARTIAL
    }
}

/// The finding for a wrong event in a log that belongs to neither side.
pub(super) fn seen(table: &Table<'_>, id: &str, wrong: &Wrong) -> Finding {
    let id = &shown(id);
    let from = wrong.from.or_else(|| sender(table, wrong));
    let blame = from.map_or(Blame::Unknown, Blame::Sender);
    finding(table, id, wrong, None, blame)
}

/// The side that sends the message according to the protocol, where the log does not say.
fn sender(table: &Table<'_>, wrong: &Wrong) -> Option<Side> {
    table.sender(wrong.message).or(table.active(wrong.state))
}

/// What may be the first wrong event of a session.
enum Case<'s> {
    /// An event in the log of this side.
    Wrong(Side, &'s Wrong),
    /// A message of this side that was not received as it was sent.
    Altered(Side, &'s Altered),
    /// A message of this side that was received, and not sent.
    Unsent(Side, Logged),
}

/// The first wrong event of a session whose sides log, unless later events can change what that is, and whether it is only counted: unknown if
/// no line is kept.
pub(super) fn judge(
    table: &Table<'_>,
    id: &str,
    session: &Session,
    is_final: bool,
) -> Option<(Finding, Option<bool>)> {
    let id = &shown(id);
    let pair = session.pair.as_deref()?;
    let mut cases = Vec::new();
    for side in Side::BOTH {
        let way = &pair.ways[index(side)];
        if let Some(wrong) = &pair.wrong[index(side)] {
            let rank = if wrong.from == Some(side) { 0 } else { 2 };
            cases.push((wrong.position, rank, Case::Wrong(side, wrong)));
        }
        if let Some(altered) = &way.altered {
            cases.push((altered.received.position, 1, Case::Altered(side, altered)));
        }
        let is_unsent = !way.is_sent && session.has_both() && session.views[index(side)].is_done();
        if let Some(front) = way.ahead.front().filter(|_| is_unsent && is_final) {
            cases.push((front.position, 1, Case::Unsent(side, *front)));
        }
    }
    let (.., case) = cases.into_iter().min_by_key(|(at, rank, _)| (*at, *rank))?;
    match case {
        Case::Wrong(side, wrong) => {
            let from = wrong.from.unwrap_or(side);
            let is_unmatched = |way: Side| {
                let way = &pair.ways[index(way)];
                !way.is_sent && !way.ahead.is_empty() || way.is_incomplete
            };
            // Whether it is known that everything the side received before was sent so.
            let other = side.dual();
            // An earlier message of the side may have been received as another one, which is the first fault then.
            let own = &pair.ways[index(side)];
            let is_sent_before = own.is_sent
                && own
                    .ahead
                    .front()
                    .is_some_and(|front| front.position < wrong.position)
                && !session.views[index(other)].is_done();
            let is_open = (is_unmatched(other) || is_sent_before) && session.only_side().is_none();
            if is_open && !is_final {
                return None;
            }
            let blame = if from != side {
                match is_unmatched(other) {
                    true => Blame::SenderOrChannel(from),
                    false => Blame::Receiver(side),
                }
            } else if wrong.refusal == Refusal::Turn && is_waiting(pair, other) {
                Blame::Receiver(side)
            } else {
                Blame::Sender(side)
            };
            let found = finding(table, id, wrong, Some(side), blame);
            Some((found, Some(wrong.is_counted_only)))
        }
        Case::Altered(side, altered) => {
            let found = altered_finding(table, id, side, altered);
            Some((found, Some(altered.is_counted_only)))
        }
        Case::Unsent(side, logged) => Some((unsent_finding(table, id, side, logged), None)),
    }
}

/// Whether a message of this side was sent and not received.
fn is_waiting(pair: &super::session::Pair, side: Side) -> bool {
    let way = &pair.ways[index(side)];
    way.is_sent && !way.ahead.is_empty()
}

/// The finding for an event that is not allowed, in the log of a side or of neither.
fn finding(table: &Table<'_>, id: &str, wrong: &Wrong, at: Option<Side>, blame: Blame) -> Finding {
    let name = &wrong.name;
    let state = table.state_name(wrong.state);
    let active = table.active(wrong.state);
    let from = wrong.from.or_else(|| sender(table, wrong));
    let is_receive = at.is_some() && at != wrong.from;
    let does = match (at, from) {
        (Some(at), _) if is_receive => format!("the {} receives `{name}`", at.word()),
        (_, Some(from)) => format!("the {} sends `{name}`", from.word()),
        (_, None) => format!("`{name}` is sent"),
    };
    let message = match wrong.refusal {
        Refusal::Over => format!("{does} after the end of the session"),
        Refusal::Left => format!("{does} after the session was left"),
        Refusal::Turn => {
            let turn = active.map_or("other", Side::word);
            format!("{does} in the state `{state}`, in which the {turn} sends")
        }
        Refusal::State if wrong.message & UNKNOWN != 0 => {
            format!("{does}, which the protocol `{}` does not have", table.name)
        }
        Refusal::State => {
            format!("{does} in the state `{state}`, which does not have this message")
        }
    };
    let names = table.allowed(wrong.state);
    let names: Vec<&str> = names.collect();
    let number = u64::from(wrong.position) + 1;
    let label = format!("message {number} of session `{id}`");
    let mut report = Diagnostic::error(MESSAGE, NOWHERE, message).label(label);
    report.related.extend(place(table, wrong.state));
    report.dialogue = dialogue(table, wrong.state);
    report.notes.push(whose(blame, is_receive));
    report.notes.extend(way(table, wrong.state));
    let near = (wrong.refusal == Refusal::State).then(|| nearest(name, names.iter().copied()));
    if let Some(near) = near.flatten() {
        report = report.help(format!("did you mean `{near}`?"));
    }
    Finding {
        line: wrong.line.clone(),
        report,
        verdict: Some(Verdict {
            session: id.to_owned(),
            protocol: table.name.clone(),
            state: state.to_owned(),
            message: name.to_string(),
            allowed: names.into_iter().map(str::to_owned).collect(),
            blame,
        }),
    }
}

fn whose(blame: Blame, is_receive: bool) -> String {
    match blame {
        Blame::Sender(side) => format!("to blame: the {}, which sent the message", side.word()),
        Blame::Receiver(side) if is_receive => format!(
            "to blame: the {}, whose log lacks messages or has them in another order",
            side.word()
        ),
        Blame::Receiver(side) => format!(
            "to blame: the {}, which has not received what the {} sent before",
            side.word(),
            side.dual().word()
        ),
        Blame::Channel => "to blame: the channel".to_owned(),
        Blame::SenderOrChannel(side) => format!(
            "to blame: the {side}, if it sent the message, or the channel; the log of the {side} does not have it",
            side = side.word()
        ),
        Blame::Unknown | Blame::Nobody => "to blame: the side that sent the message".to_owned(),
    }
}

/// Where a state is declared, and what may be sent there; where it is over, the protocol.
fn place(table: &Table<'_>, state: u32) -> Option<Label> {
    const MOST: usize = 8;
    if state == OVER {
        let text = "its sessions end with a message that leads to `!` or to a terminal state";
        return Some(Label::new(table.protocol.name.span, text));
    }
    let declared = table.protocol.states.get(state as usize)?;
    let side = declared.active_side()?.word();
    let mut names: Vec<String> = table
        .allowed(state)
        .map(|name| format!("`{name}`"))
        .collect();
    if names.len() > MOST {
        let more = names.len() - MOST;
        names.truncate(MOST);
        names.push(format!("{more} more"));
    }
    if names.is_empty() {
        return None;
    }
    let text = format!("here the {side} may send {}", joined(&names, "or"));
    Some(Label::new(declared.name.span, text))
}

/// The shortest dialogue to a state, as a note; none for the start.
fn way(table: &Table<'_>, state: u32) -> Option<String> {
    let steps = table.dialogue(state as usize)?;
    if steps.is_empty() {
        return None;
    }
    let to = table.state_name(state);
    Some(format!(
        "the shortest dialogue to `{to}`: {}",
        spoken(table, &steps)
    ))
}

/// A dialogue in one line; of a long one, the beginning and the end.
pub(super) fn spoken(table: &Table<'_>, steps: &[duologue::graph::Step]) -> String {
    const ENDS: usize = 8;
    let name = |step: &duologue::graph::Step| {
        let message = &table.protocol.state(step.state).messages[step.message];
        format!("`{}`", message.name)
    };
    let names: Vec<String> = steps.iter().map(name).collect();
    if names.len() <= 2 * ENDS + 1 {
        return names.join(", ");
    }
    let (first, last) = (&names[..ENDS], &names[names.len() - ENDS..]);
    let between = names.len() - 2 * ENDS;
    format!("{}, {between} more, {}", first.join(", "), last.join(", "))
}

fn dialogue(table: &Table<'_>, state: u32) -> Vec<Label> {
    const MOST: usize = 1000;
    let steps = table.dialogue(state as usize).unwrap_or_default();
    let steps = steps.into_iter().take(MOST).map(|step| {
        let state = table.protocol.state(step.state);
        let message = &state.messages[step.message];
        let side = state.active_side().map_or("", Side::word);
        Label::new(message.name.span, format!("{side}: {}", message.name))
    });
    steps.collect()
}

/// The name of a message by its number.
fn name(table: &Table<'_>, number: u32) -> String {
    match table.named(number) {
        Some(name) => format!("`{name}`"),
        None => "a message that the protocol does not have".to_owned(),
    }
}

fn altered_finding(table: &Table<'_>, id: &str, side: Side, altered: &Altered) -> Finding {
    let (sender, receiver) = (side.word(), side.dual().word());
    let [sent, received] = [altered.sent, altered.received].map(|one| name(table, one.message));
    let message =
        format!("the {sender} sent {sent}, and the {receiver} received {received} instead");
    let line = altered.sent.place.line;
    let report = Diagnostic::error(CHANNEL, NOWHERE, message)
        .label(format!("the {receiver}'s log of session `{id}`"))
        .note(format!("in the log of the {sender}, it is on line {line}"));
    in_the_channel(
        altered.line.clone(),
        report,
        table,
        id,
        &received,
        Some(&sent),
    )
}

fn unsent_finding(table: &Table<'_>, id: &str, side: Side, logged: Logged) -> Finding {
    let (sender, receiver) = (side.word(), side.dual().word());
    let received = name(table, logged.message);
    let message = format!("the {receiver} received {received}, which the {sender} has not sent");
    let report = Diagnostic::error(CHANNEL, NOWHERE, message).label(format!("session `{id}`"));
    let line = KeptLine::at(logged.place, logged.byte);
    in_the_channel(line, report, table, id, &received, None)
}

/// The finding with the channel to blame for what was received, instead of what was sent, if anything was.
fn in_the_channel(
    line: KeptLine,
    report: Diagnostic,
    table: &Table<'_>,
    id: &str,
    received: &str,
    sent: Option<&str>,
) -> Finding {
    let plain = |name: &str| name.trim_matches('`').to_owned();
    Finding {
        line,
        report: report.note("to blame: the channel, or a log that lacks messages"),
        verdict: Some(Verdict {
            session: id.to_owned(),
            protocol: table.name.clone(),
            state: String::new(),
            message: plain(received),
            allowed: sent.map(plain).into_iter().collect(),
            blame: Blame::Channel,
        }),
    }
}
