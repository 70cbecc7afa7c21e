//! A session in which a server is attacked: the way to a state, the attack, and what the server does about it.

use super::Failure;
use super::attack_way::{Goal, step};
use super::socket::{Socket, is_late, open, read, reason, write_all};
use duologue::attack::{Case, Expected, LEAVE};
use duologue::protocol::{Instance, Program, ProtocolId, Side, StateId};
use duologue::robots::Plan;
use duologue::talk::{Arrival, Control, Event, Robot, Stream, Talk, Value};
use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// How many messages the way to a state has at most.
const LONGEST_WAY: usize = 200;

/// How many characters of a message are reported.
const MOST_SHOWN: usize = 1_000;

/// How many bytes a server may send after an attack.
const MOST_SENT: usize = 4 << 20;

/// How many messages of a server are read after an attack.
const MOST_MESSAGES: usize = 10_000;

/// How long to wait before a server that is full is asked again.
const PAUSE: Duration = Duration::from_millis(20);

/// The verdict of a server that can take no further session at the moment.
const FULL: u8 = 18;

/// The payloads that are known for a message of a state, in the order in which they are sent.
pub type Values = BTreeMap<(StateId, usize), Vec<Vec<Value>>>;

/// What all sessions of an attack share.
pub struct Target<'c> {
    pub address: String,
    pub own: Side,
    pub patience: Duration,
    pub program: &'c Program,
    pub protocol: ProtocolId,
    pub instance: Option<&'c Instance>,
    pub plan: &'c Plan<'c>,
    pub hello: Vec<u8>,
    /// Values with which the server is known to go on, for messages of this side.
    pub values: Values,
}

/// Why a session did not get to where the attack should begin.
pub enum Obstacle {
    /// There was no session.
    Down(String),
    /// The server did not play the session.
    Stuck(String),
    /// The session took another course.
    Elsewhere(String),
}

/// What a server has done about an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgment {
    /// What it must.
    Held,
    /// It need not have read the attack: it has the turn and keeps it, or it has left because of messages before.
    Unknown,
    /// Something else.
    Wrong(String),
}

/// A connection that is attacked.
pub struct Session<'c> {
    socket: Box<dyn Socket>,
    stream: Stream,
    talk: Talk<'c>,
    /// The node of the plan; `None` after the end.
    at: Option<usize>,
    /// What this side has to send before the attack.
    unsent: Vec<u8>,
    /// The messages before the attack.
    pub way: Vec<String>,
    /// Whether the attack was sent together with the last of these messages.
    is_unanswered: bool,
    is_reset: bool,
}

impl<'c> Session<'c> {
    /// Opens a connection, on which nothing is sent yet.
    pub fn open(target: &Target<'c>) -> Result<Result<Session<'c>, String>, Failure> {
        let deadline = Instant::now() + target.patience;
        let socket = open(&target.address, deadline, "attack")?;
        let talk = Talk::new(target.program, target.protocol, target.instance);
        Ok(match socket {
            Ok(socket) => Ok(Session {
                socket,
                stream: Stream::new(&talk),
                talk,
                at: Some(0),
                unsent: Vec::new(),
                way: Vec::new(),
                is_unanswered: false,
                is_reset: false,
            }),
            Err(error) => Err(format!(
                "cannot connect to {}: {}",
                target.address,
                reason(&error)
            )),
        })
    }

    /// Begins a session. A server that is full is asked again for a while, because it may not have ended the last session yet.
    pub fn begin(target: &Target<'c>) -> Result<Result<Session<'c>, String>, Failure> {
        let deadline = Instant::now() + target.patience;
        loop {
            let mut session = match Session::open(target)? {
                Ok(session) => session,
                Err(_) if Instant::now() + PAUSE < deadline => {
                    thread::sleep(PAUSE);
                    continue;
                }
                Err(words) => return Ok(Err(words)),
            };
            // A server that refuses may close the connection before it has read the hello.
            let _ = write_all(&mut *session.socket, &target.hello, deadline);
            match session.greet(deadline) {
                Ok(()) => return Ok(Ok(session)),
                Err(_) if session.pauses_if_full(deadline) => {}
                Err(words) => return Ok(Err(words)),
            }
        }
    }

    /// The largest payload that the server accepts.
    pub fn largest(&self) -> u64 {
        self.stream.largest()
    }

    /// Whether the server has refused the session because it is full, and there is time to ask again, after the pause that this makes.
    pub fn pauses_if_full(&self, deadline: Instant) -> bool {
        let answer = self.stream.unused();
        let is_full = answer.starts_with(b"duologue") && answer.get(9) == Some(&FULL);
        let asks_again = is_full && Instant::now() + PAUSE < deadline;
        if asks_again {
            thread::sleep(PAUSE);
        }
        asks_again
    }

    fn greet(&mut self, deadline: Instant) -> Result<(), String> {
        loop {
            if self.stream.answer()? {
                return Ok(());
            }
            match self.fill(deadline) {
                Ok(true) => {}
                Ok(false) => return Err("it closes the connection without an answer".to_owned()),
                Err(error) => return Err(format!("it does not answer: {}", reason(&error))),
            }
        }
    }

    /// Reads what has arrived; `Ok(false)` at the end of the connection.
    fn fill(&mut self, deadline: Instant) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        match read(&mut *self.socket, &mut bytes, deadline) {
            Ok(length) => {
                self.stream.push(&bytes[..length]);
                Ok(length > 0)
            }
            Err(error) if is_end(&error) => {
                self.is_reset = true;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Plays to a state, or to the end, with valid messages.
    pub fn walk(&mut self, target: &Target<'c>, goal: Goal, seed: u64) -> Result<(), Obstacle> {
        let elsewhere = |words: &str| Obstacle::Elsewhere(words.to_owned());
        let mut robot = Robot::new(seed);
        let mut used: BTreeMap<(StateId, usize), usize> = BTreeMap::new();
        let deadline = Instant::now() + target.patience;
        for _ in 0..LONGEST_WAY {
            let at = match (self.at, goal) {
                (None, Goal::End) => return Ok(()),
                (Some(at), Goal::Node(node)) if at == node => return Ok(()),
                (None, Goal::Node(_)) => return Err(elsewhere("the session ended before")),
                (Some(at), _) => at,
            };
            let node = &target.plan.nodes[at];
            if node.sender == target.own {
                let position = step(target.plan, at, goal);
                let position = position.ok_or_else(|| elsewhere("no message leads there"))?;
                let known = target.values.get(&(node.state, position));
                let turn = used.entry((node.state, position)).or_default();
                let values = match known.filter(|known| !known.is_empty()) {
                    Some(known) => known[*turn % known.len()].clone(),
                    None => {
                        let values = robot.values(&self.talk, position);
                        let words = "no values can be made for a message that leads there";
                        values.ok_or_else(|| elsewhere(words))?
                    }
                };
                *turn += 1;
                self.way.push(line(self.talk.take(position, values)));
                let bytes = self.stream.written(&self.talk);
                let bytes = bytes.map_err(|fault| elsewhere(&fault.message))?;
                self.unsent.extend(bytes);
                self.at = node.edges[position].next;
            } else {
                self.flush(deadline).map_err(Obstacle::Stuck)?;
                self.receive(target, deadline)?;
            }
        }
        let words = format!("it took more than {LONGEST_WAY} messages");
        Err(Obstacle::Elsewhere(words))
    }

    fn flush(&mut self, deadline: Instant) -> Result<(), String> {
        let bytes = std::mem::take(&mut self.unsent);
        let written = write_all(&mut *self.socket, &bytes, deadline);
        written.map_err(|error| format!("the connection is lost: {}", reason(&error)))
    }

    fn receive(&mut self, target: &Target<'c>, deadline: Instant) -> Result<(), Obstacle> {
        let stuck = |words: &str| Obstacle::Stuck(words.to_owned());
        loop {
            match self.stream.arrival(&mut self.talk).map_err(stuck)? {
                Some(Arrival::Message) => {
                    self.advance(target);
                    return Ok(());
                }
                Some(Arrival::Left(why)) => {
                    let has_only_left = why.is_none();
                    let why = why.unwrap_or("it leaves");
                    let words = format!("the {} ends the session: {why}", target.own.dual().word());
                    return Err(match has_only_left {
                        true => Obstacle::Elsewhere(words),
                        false => Obstacle::Stuck(words),
                    });
                }
                None => {}
            }
            match self.fill(deadline) {
                Ok(true) => {}
                Ok(false) => return Err(stuck("the connection ends")),
                Err(error) => {
                    let words = reason(&error);
                    let words = format!("the {} sends nothing: {words}", target.own.dual().word());
                    return Err(Obstacle::Stuck(words));
                }
            }
        }
    }

    /// Follows the last message to the next node.
    fn advance(&mut self, target: &Target<'c>) {
        if let Some(event) = self.talk.events().next_back() {
            self.way.push(line(event));
            if let Event::Message { position, .. } = event {
                self.at = self
                    .at
                    .and_then(|at| target.plan.nodes[at].edges[*position].next);
            }
        }
    }

    /// Sends the bytes of an attack.
    pub fn send(&mut self, target: &Target<'c>, case: &Case) {
        let deadline = Instant::now() + target.patience;
        let mut bytes = std::mem::take(&mut self.unsent);
        self.is_unanswered = !bytes.is_empty();
        // A server may close the connection before it has read everything. What it sends says why.
        let _ = match case.is_slow {
            false => {
                bytes.extend_from_slice(&case.bytes);
                write_all(&mut *self.socket, &bytes, deadline)
            }
            true => {
                let before = write_all(&mut *self.socket, &bytes, deadline);
                let mut each = case.bytes.chunks(1);
                before.and_then(|()| {
                    each.try_for_each(|byte| write_all(&mut *self.socket, byte, deadline))
                })
            }
        };
        if case.is_cut {
            // If the connection is closed already, the server reads no more either.
            let _ = self.socket.end();
        }
    }

    /// Waits for what the server does about an attack. `wait`: how long.
    pub fn judge(&mut self, target: &Target<'c>, case: &Case, wait: Duration) -> Judgment {
        let deadline = Instant::now() + wait;
        match case.expected {
            Expected::Dropped
            | Expected::Refused(_)
            | Expected::Begun
            | Expected::BegunOrDropped => self.judge_answer(case, deadline),
            Expected::Closed if self.talk.events().len() == 0 && self.largest() == 0 => {
                self.judge_answer(case, deadline)
            }
            Expected::Broken | Expected::Late | Expected::Closed | Expected::Taken => {
                if let Some(position) = case.message {
                    // What the session carries after it does not depend on the values.
                    self.talk.take(position, Vec::new());
                    self.at = self
                        .at
                        .and_then(|at| target.plan.nodes[at].edges[position].next);
                }
                self.judge_session(target, case, deadline)
            }
        }
    }

    /// What the server does about a hello.
    fn judge_answer(&mut self, case: &Case, deadline: Instant) -> Judgment {
        let mut has_left = false;
        loop {
            let begins = matches!(case.expected, Expected::Begun | Expected::BegunOrDropped);
            if begins && !has_left && self.stream.unused().len() >= 12 {
                match self.stream.answer() {
                    Ok(true) => {
                        has_left = true;
                        // What follows shows whether the server has read it.
                        let _ = write_all(&mut *self.socket, &LEAVE, deadline);
                        let _ = self.socket.end();
                    }
                    Ok(false) => {}
                    Err(words) => return Judgment::Wrong(words),
                }
            }
            match self.fill(deadline) {
                Ok(true) if self.stream.unused().len() <= MOST_SENT => {}
                Ok(true) => return Judgment::Wrong("it sends without end".to_owned()),
                Ok(false) => break,
                Err(error) => return Judgment::Wrong(not_closed(&error, case)),
            }
        }
        if has_left {
            return Judgment::Held;
        }
        let answer = self.stream.unused();
        if self.is_unanswered && answer == LEAVE {
            return Judgment::Unknown;
        }
        let found = match answer {
            [] => "it closes the connection without an answer".to_owned(),
            answer => match answer.get(9) {
                Some(verdict) if answer.len() == 16 && answer.starts_with(b"duologue") => {
                    format!("it refuses the session with verdict {verdict}")
                }
                _ => format!("it answers {}", super::attack_report::hex(answer)),
            },
        };
        let is_right = match case.expected {
            Expected::Refused(verdict) => {
                answer.len() == 16
                    && answer.starts_with(b"duologue")
                    && answer[9..12] == [verdict, 4, 0]
            }
            Expected::Dropped | Expected::BegunOrDropped => answer.is_empty(),
            // A server that has read half a hello may say so.
            Expected::Begun
            | Expected::Broken
            | Expected::Late
            | Expected::Closed
            | Expected::Taken => answer.is_empty() || answer.len() == 16 && answer[9] >= 16,
        };
        match is_right {
            true => Judgment::Held,
            false => Judgment::Wrong(found),
        }
    }

    /// What the server does in a session.
    fn judge_session(&mut self, target: &Target<'c>, case: &Case, deadline: Instant) -> Judgment {
        let wrong = |words: &str| Judgment::Wrong(words.to_owned());
        let mut left = None;
        let (mut sent, mut messages) = (0, 0);
        loop {
            let theirs = self.talk.active() == Some(target.own.dual());
            let next = self.stream.unused().first().copied();
            match next {
                Some(_) if left.is_some() => {
                    return wrong("it sends something after it has left");
                }
                Some(0) => match self.stream.control() {
                    Ok(Some(Control::Leave(reason))) => {
                        left = Some((reason, theirs));
                        continue;
                    }
                    Ok(Some(Control::Alive | Control::Drain)) => continue,
                    Ok(None) => {}
                    Err(words) => return wrong(words),
                },
                Some(_) if theirs => match self.stream.arrival(&mut self.talk) {
                    Ok(Some(_)) if messages == MOST_MESSAGES => return Judgment::Unknown,
                    Ok(Some(_)) => {
                        messages += 1;
                        self.advance(target);
                        continue;
                    }
                    Ok(None) => {}
                    Err(words) => return wrong(words),
                },
                Some(_) if self.talk.is_finished() => {
                    return wrong("it sends something after the last message");
                }
                Some(_) => return wrong("it sends a message although it is not its turn"),
                None => {}
            }
            match self.fill(deadline) {
                Ok(true) => {
                    sent += 1;
                    if sent > MOST_SENT / 4096 {
                        return Judgment::Unknown;
                    }
                }
                Ok(false) => break,
                Err(_) if theirs => return Judgment::Unknown,
                Err(error) => return Judgment::Wrong(not_closed(&error, case)),
            }
        }
        if !self.stream.unused().is_empty() {
            return wrong("it closes the connection in the middle of a frame");
        }
        let is_over = self.talk.is_finished();
        let wanted = match case.expected {
            Expected::Broken => 1,
            Expected::Late => 2,
            Expected::Taken if matches!(left, Some((1, _))) => {
                return wrong("it leaves with reason 1 (broken)");
            }
            Expected::Dropped
            | Expected::Refused(_)
            | Expected::Begun
            | Expected::BegunOrDropped
            | Expected::Closed
            | Expected::Taken => return Judgment::Held,
        };
        match left {
            Some((reason, _)) if reason == wanted => Judgment::Held,
            // The program left before it read the attack.
            Some((0, true)) => Judgment::Held,
            // It may not go on after what was sent before.
            Some((0, false)) if self.is_unanswered => Judgment::Unknown,
            None if is_over => Judgment::Held,
            Some((reason, _)) => Judgment::Wrong(format!(
                "it leaves with reason {reason} ({})",
                ["left", "broken", "late", "too large"]
                    .get(usize::from(reason))
                    .unwrap_or(&"?")
            )),
            None if self.is_reset => wrong("it resets the connection and gives no reason"),
            None => wrong("it closes the connection and gives no reason"),
        }
    }
}

/// A message as a line of a report. A server may send large ones.
fn line(event: &Event) -> String {
    let text = event.to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

/// What an error of a read says, after which the connection is not closed.
fn not_closed(error: &io::Error, case: &Case) -> String {
    match is_late(error) {
        true if case.is_cut => "it does not close a connection that has ended".to_owned(),
        true => "it does not close the connection in time".to_owned(),
        false => error.to_string(),
    }
}

/// Whether the other side has closed the connection with bytes that it has not read.
fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
    )
}
