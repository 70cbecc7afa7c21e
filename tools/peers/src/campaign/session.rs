//! A session in which the other side is attacked: how it begins, the way to a state, and the attack.

use crate::attack::Case;
use crate::campaign::target::Target;
use crate::campaign::victim::Victim;
use crate::campaign::way::{Goal, LONGEST_WAY, step};
use crate::socket::{Socket, read, reason, write_all};
use crate::talk::{Arrival, Event, Robot, Stream, Talk};
use duologue::protocol::StateId;
use duologue_project::Failure;
use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// How many characters of a message are reported.
const MOST_SHOWN: usize = 1_000;

/// How long to wait before a server that is full is asked again.
const PAUSE: Duration = Duration::from_millis(20);

/// The verdict of a server that can take no further session at the moment.
const FULL: u8 = 18;

/// Why a session did not get to where the attack should begin.
pub enum Obstacle {
    /// There was no session.
    Down(String),
    /// The server did not play the session.
    Stuck(String),
    /// The session took another course.
    Elsewhere(String),
}

/// What the other side has done about an attack.
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
    pub socket: Box<dyn Socket>,
    pub stream: Stream,
    pub talk: Talk<'c>,
    /// The program that is attacked, if this side has started it.
    victim: Option<Victim>,
    /// The node of the plan; `None` after the end.
    pub at: Option<usize>,
    /// What this side has to send before the attack.
    unsent: Vec<u8>,
    /// The messages before the attack.
    pub way: Vec<String>,
    /// Whether the attack was sent together with the last of these messages.
    pub is_unanswered: bool,
    /// Whether the connection has failed instead of ending.
    pub is_reset: bool,
}

impl<'c> Session<'c> {
    /// Opens a connection, on which nothing is sent yet. If the other side connects, its hello has been read.
    pub fn open(target: &Target<'c>) -> Result<Result<Session<'c>, String>, Failure> {
        let (socket, victim) = match target.open()? {
            Ok(opened) => opened,
            Err(words) => return Ok(Err(words)),
        };
        let talk = Talk::new(target.view);
        let mut session = Session {
            socket,
            stream: Stream::new(&talk),
            talk,
            victim,
            at: Some(0),
            unsent: Vec::new(),
            way: Vec::new(),
            is_unanswered: false,
            is_reset: false,
        };
        if target.listens()
            && let Err(words) = session.be_greeted(target)
        {
            return Ok(Err(words));
        }
        Ok(Ok(session))
    }

    /// Begins a session. A server that is full is asked again for a while, because it may not have ended the last session yet. `is_first`: it
    /// is the first session of the attack.
    pub fn begin(
        target: &Target<'c>,
        is_first: bool,
    ) -> Result<Result<Session<'c>, String>, Failure> {
        let begin = Instant::now();
        let (deadline, grace) = (begin + target.patience, begin + target.grace(is_first));
        loop {
            let mut session = match Session::open(target)? {
                Ok(session) => session,
                Err(_) if !target.listens() && Instant::now() + PAUSE < grace => {
                    thread::sleep(PAUSE);
                    continue;
                }
                Err(words) => return Ok(Err(words)),
            };
            // A server that refuses may close the connection before it has read the hello.
            let _ = write_all(&mut *session.socket, &target.greeting, deadline);
            if target.listens() {
                return Ok(Ok(session));
            }
            match session.greet(deadline) {
                Ok(()) => return Ok(Ok(session)),
                Err(_) if session.pauses_if_full(deadline) => {}
                Err(words) => return Ok(Err(words)),
            }
        }
    }

    /// Reads the hello of a side that connects.
    fn be_greeted(&mut self, target: &Target<'c>) -> Result<(), String> {
        let deadline = Instant::now() + target.patience;
        let greeting = loop {
            if let Some(greeting) = self.stream.greeting()? {
                break greeting;
            }
            match self.fill(deadline) {
                Ok(true) => {}
                Ok(false) => return Err("it closes the connection without a hello".to_owned()),
                Err(error) => return Err(format!("it sends no hello: {}", reason(&error))),
            }
        };
        let refusal = if greeting.fingerprint != target.fingerprint {
            Some((16, "it speaks another protocol, or another version of it"))
        } else if greeting.receives_first == (self.talk.active() == Some(target.own.dual())) {
            Some((22, "it plays the same side of the protocol"))
        } else {
            None
        };
        let Some((verdict, words)) = refusal else {
            return Ok(());
        };
        let answer = [&b"duologue\x01"[..], &[verdict, 4, 0, 0, 0, 0, 0]].concat();
        // It is not a client that can be attacked, whether it reads this or not.
        let _ = write_all(&mut *self.socket, &answer, deadline);
        Err(words.to_owned())
    }

    /// Waits for the end of the program, if this side has started one. Returns what is wrong about it.
    pub fn complaint(&mut self, target: &Target<'c>) -> Option<String> {
        self.victim.as_mut()?.complaint(target.patience)
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
    pub fn fill(&mut self, deadline: Instant) -> io::Result<bool> {
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

    /// Plays to a state, or to the end, with valid messages. `follows`: with those of the transcript as long as the other side sends its own.
    pub fn walk(
        &mut self,
        target: &Target<'c>,
        goal: Goal,
        seed: u64,
        mut follows: bool,
    ) -> Result<(), Obstacle> {
        let elsewhere = |words: &str| Obstacle::Elsewhere(words.to_owned());
        let mut robot = Robot::new(seed);
        let mut used: BTreeMap<(StateId, usize), usize> = BTreeMap::new();
        let deadline = Instant::now() + target.patience;
        for number in 0..LONGEST_WAY {
            let at = match (self.at, goal) {
                (None, Goal::End) => return Ok(()),
                (Some(at), Goal::Node(node)) if at == node => return Ok(()),
                (None, Goal::Node(_)) => return Err(elsewhere("the session ended before")),
                (Some(at), _) => at,
            };
            let node = &target.plan.nodes[at];
            if node.sender == target.own {
                let course = &target.known.course;
                let position = follows.then(|| course.step(number, at, goal)).flatten();
                follows &= position.is_some();
                let position = position.or_else(|| step(target.plan, at, goal));
                let position = position.ok_or_else(|| elsewhere("no message leads there"))?;
                let known = target.known.values.get(&(node.state, position));
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
                let last = self.talk.events().next_back();
                follows &= last.is_some_and(|event| target.known.course.is_at(number, event));
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
    pub fn advance(&mut self, target: &Target<'c>) {
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
}

/// A message as a line of a report. A server may send large ones.
fn line(event: &Event) -> String {
    let text = event.to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

/// Whether the other side has closed the connection with bytes that it has not read.
fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            // TLS without `close_notify`.
            | io::ErrorKind::UnexpectedEof
    )
}
