//! How a robot plays a session.

use std::fmt;
use std::time::Duration;

use super::choices::Choices;
use super::coverage::Coverage;
use super::line::Line;
use super::table::Table;
use super::values::Values;
use crate::ring::driver::Why;
use crate::typed::error::Closed;
use crate::typed::futures::Endpoint;

/// How often a robot is slow before it sends a message, at most.
const PAUSES: u32 = 4;

/// A robot that plays sessions, one after another: where its decisions come from, and what it has seen.
///
/// The functions `client` and `server` of a protocol's module `robots` play a session with it.
#[derive(Debug)]
pub struct Play {
    choices: Choices,
    coverage: Option<Coverage>,
    /// Whether the coverage was made here, because the program has not supplied one.
    is_own: bool,
    limit: u32,
    pause: Duration,
    is_leaving: bool,
    within: Option<Duration>,
    // The session.
    table: Option<&'static Table>,
    is_client: bool,
    messages: u32,
    line: Line,
    state: &'static str,
}

/// How a robot's session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "`check` finds out whether the session ended as it may"]
pub enum Ending {
    /// The protocol has reached its end.
    Finished,
    /// The robot has left early, which [`Choices`] may say.
    Left,
    /// In this state the robot had no message of which it can make the values, so it has left.
    Stuck(String),
    /// The peer has left early.
    Closed(String),
    /// The peer needed too long.
    Late(String),
    /// A property does not hold, or the session could not be played.
    Failed(String),
}

impl Ending {
    /// Fails if the peer left or was late, or a property does not hold.
    ///
    /// # Errors
    /// What was wrong, with the transcript of the session.
    pub fn check(self) -> Result<(), Failure> {
        match self {
            Ending::Finished | Ending::Left | Ending::Stuck(_) => Ok(()),
            Ending::Closed(text) | Ending::Late(text) | Ending::Failed(text) => Err(Failure(text)),
        }
    }
}

/// Why a session was wrong, with its transcript.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text as it is, since `unwrap` and `main` print errors in this form.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl Play {
    /// A robot with these choices. It has a coverage of its own, ends its sessions after 100 messages, and waits for its peer without a
    /// time limit.
    pub fn new(choices: Choices) -> Play {
        Play {
            choices,
            coverage: None,
            is_own: true,
            limit: 100,
            pause: Duration::from_millis(1),
            is_leaving: true,
            within: None,
            table: None,
            is_client: false,
            messages: 0,
            line: Line::default(),
            state: "",
        }
    }

    /// Counts in this coverage, which robots may share.
    pub fn coverage(mut self, coverage: &Coverage) -> Play {
        self.coverage = Some(coverage.clone());
        self.is_own = false;
        self
    }

    /// After this many messages of a session, sent and received, the robot takes the shortest way to its end. After twice as many it leaves.
    pub fn limit(mut self, messages: u32) -> Play {
        self.limit = messages;
        self
    }

    /// How long the robot waits before a message when its choices tell it to be slow: this long, or up to four times as long.
    pub fn pause(mut self, pause: Duration) -> Play {
        self.pause = pause;
        self
    }

    /// Whether the robot may leave a session before its end. It may unless this is turned off, and always leaves if there is no way to
    /// the end.
    pub fn leaving(mut self, is_leaving: bool) -> Play {
        self.is_leaving = is_leaving;
        self
    }

    /// How long the waits of a session may take, all together.
    pub fn within(mut self, limit: Duration) -> Play {
        self.within = Some(limit);
        self
    }

    /// What was sent and received in the last session, in the order of the messages.
    pub fn transcript(&self) -> &str {
        self.line.as_str()
    }

    /// Plays a session from its first state, in generated code. `step` plays one state, and returns the next one or how the session
    /// ended.
    #[doc(hidden)]
    pub fn run<E: Endpoint, S>(
        &mut self,
        table: &'static Table,
        is_client: bool,
        endpoint: E,
        first: impl FnOnce(E) -> S,
        mut step: impl FnMut(&mut Play, S) -> Result<S, Ending>,
    ) -> Ending {
        let mut state = match self.begin(table, is_client, endpoint) {
            Ok(endpoint) => first(endpoint),
            Err(ending) => return ending,
        };
        loop {
            state = match step(self, state) {
                Ok(next) => next,
                Err(ending) => return ending,
            };
        }
    }

    /// Begins a session. Fails if the coverage is that of another protocol.
    fn begin<E: Endpoint>(
        &mut self,
        table: &'static Table,
        is_client: bool,
        endpoint: E,
    ) -> Result<E, Ending> {
        // One robot may play several protocols.
        if self.is_own {
            self.coverage = self.coverage.take().filter(|own| own.is_of(table));
        }
        let coverage = self.coverage.get_or_insert_with(|| Coverage::new(table));
        if !coverage.is_of(table) {
            let text = format!("the coverage is not one of `{}`", table.protocol);
            return Err(Ending::Failed(text));
        }
        coverage.begin(is_client);
        self.table = Some(table);
        self.is_client = is_client;
        self.messages = 0;
        self.line = Line::default();
        self.state = "";
        Ok(match self.within {
            Some(limit) => endpoint.within(limit),
            None => endpoint,
        })
    }

    /// The message that the robot sends next in a state.
    ///
    /// # Errors
    /// The robot leaves.
    #[doc(hidden)]
    pub fn turn(&mut self, node: usize) -> Result<usize, Ending> {
        self.choice(node).ok_or_else(|| self.left(node))
    }

    fn choice(&mut self, node: usize) -> Option<usize> {
        let table = self.table?;
        self.state = table.nodes[node].state;
        let makeable: Vec<usize> = table.nodes[node].makeable().collect();
        let count = makeable.len();
        // The way out may be long, or the peer may not take it.
        if count == 0 || self.messages / 2 >= self.limit {
            return None;
        }
        let mut pauses = 0;
        loop {
            let byte = match self.messages >= self.limit {
                true => 0,
                false => self.choices.byte(),
            };
            let at = usize::from(byte);
            return match byte {
                0 => table.way_out(node),
                1 => self.steer(node).or_else(|| table.way_out(node)),
                2..=95 => Some(self.steer(node).unwrap_or(makeable[at % count])),
                96..=247 if count > 152 => {
                    let high = usize::from(self.choices.byte());
                    Some(makeable[(at - 96 + 152 * high) % count])
                }
                96..=247 => Some(makeable[(at - 96) % count]),
                248..=251 if pauses == PAUSES => table.way_out(node),
                248..=251 => {
                    pauses += 1;
                    let pause = self.pause.saturating_mul(u32::from(byte) - 247);
                    if !pause.is_zero() {
                        std::thread::sleep(pause);
                    }
                    continue;
                }
                252..=255 if !self.is_leaving => Some(makeable[at % count]),
                252..=255 => None,
            };
        }
    }

    fn steer(&self, node: usize) -> Option<usize> {
        self.coverage.as_ref()?.steer(node)
    }

    /// Begins the values of a message.
    #[doc(hidden)]
    pub fn values(&mut self) -> Values<'_> {
        Values::new(&mut self.choices)
    }

    /// Counts a message, and begins its line in the transcript.
    #[doc(hidden)]
    pub fn line(&mut self, node: usize, edge: usize, is_received: bool) -> &mut Line {
        self.messages = self.messages.saturating_add(1);
        if let Some(coverage) = &self.coverage {
            coverage.count(node, edge, is_received);
        }
        let to = self.receiver(is_received);
        self.line.raw(to);
        self.line.raw(" <- ");
        if let Some(table) = self.table {
            self.state = table.nodes[node].state;
            self.line.raw(table.nodes[node].edges[edge].message);
        }
        &mut self.line
    }

    fn receiver(&self, is_own: bool) -> &'static str {
        match self.is_client == is_own {
            true => "client",
            false => "server",
        }
    }

    fn closed(&mut self, is_own: bool) {
        let to = self.receiver(is_own);
        self.line.raw(to);
        self.line.raw(" <- closed\n");
    }

    fn with_transcript(&self, text: impl fmt::Display) -> String {
        format!("{text}\n{}", self.transcript())
    }

    /// The robot leaves the session.
    fn left(&mut self, node: usize) -> Ending {
        self.closed(false);
        match self.table {
            Some(table) if table.nodes[node].makeable().next().is_none() => {
                Ending::Stuck(table.nodes[node].state.to_owned())
            }
            _ => Ending::Left,
        }
    }

    /// The peer has left, or the time is over.
    #[doc(hidden)]
    pub fn gone(&mut self, closed: impl Into<Closed>) -> Ending {
        let closed = closed.into();
        self.closed(true);
        let text = self.with_transcript(closed);
        match closed.why() {
            Why::Late => Ending::Late(text),
            Why::Left | Why::Lost | Why::Broken | Why::TooLarge | Why::Stopped => {
                Ending::Closed(text)
            }
        }
    }

    /// A property does not hold.
    #[doc(hidden)]
    pub fn failed(&mut self, text: String) -> Ending {
        let text = format!("in state `{}`: {text}", self.state);
        Ending::Failed(self.with_transcript(text))
    }
}
