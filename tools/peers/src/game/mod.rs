//! A session that is played: by a person, a script, robots, or a side in another process.

mod input;
mod output;
mod peer;

pub use input::{Input, Script, Text};
pub use output::{Output, Style};
pub use peer::Peer;

use crate::talk::{Arrival, Event, Robot, Talk};
use clap::ValueEnum;
use duologue::protocol::Side;
use duologue::source;
use duologue_project::Failure;
use std::collections::VecDeque;

/// What lines mean, for the help.
pub const LINES: &str = "\
\x1b[1;32mLines:\x1b[0m
  login(\"holk\", \"1234\")               the side whose turn it is sends a message
  server <- login(\"holk\", \"1234\")     the same, as in a transcript: the receiver is named
  client <- closed                    the server leaves
  :allowed                            what may be sent
  :undo                               take the last message back, and what a robot answered
  :leave                              your side leaves, or the one whose turn it is
  :transcript                         the session so far
  :quit                               stop; so does the end of the input
  # ...                               a comment";

/// The sides that play by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Robots {
    /// The client.
    Client,
    /// The server.
    Server,
    /// Both sides.
    Both,
}

impl Robots {
    /// Whether this side is one of them.
    pub fn plays(self, side: Side) -> bool {
        match self {
            Robots::Both => true,
            Robots::Client => side == Side::Client,
            Robots::Server => side == Side::Server,
        }
    }
}

/// A session and its players.
pub struct Game<'p> {
    /// The session.
    pub talk: Talk<'p>,
    /// The other side, if it is in another process.
    pub peer: Option<Peer>,
    /// What chooses for a side that plays by itself.
    pub robot: Robot,
    /// The sides that do so.
    pub robots: Option<Robots>,
    /// How many more messages robots send.
    pub left: u32,
    /// Whether a robot could not make a value of any message.
    pub is_stuck: bool,
    /// What the side in another process has done and no line of the script has said yet, with the session before it.
    pub heard: VecDeque<(Talk<'p>, Event)>,
    /// The texts of the program.
    pub sources: &'p source::Sources,
    /// Where lines come from.
    pub input: Input<'p>,
    /// Where the session is printed.
    pub output: Output<'p>,
}

/// What a line was for.
enum Step {
    /// The session has changed.
    Played,
    /// It has not.
    Told,
    /// The player ends the session.
    Quit,
}

impl Game<'_> {
    /// Plays until the session is over, or the lines end.
    pub fn play(&mut self) -> Result<(), Failure> {
        self.output
            .allowed(&self.talk, self.sources, self.input.is_editor())?;
        while let Some(side) = self.talk.active() {
            if self.peer.as_ref().is_some_and(|peer| peer.side == side) {
                self.hear()?;
                continue;
            }
            let is_robots = self.robots.is_some_and(|robots| robots.plays(side));
            if is_robots && !self.input.is_scripted_for(side)? && self.send_as_robot(side)? {
                continue;
            }
            if is_robots && self.left == 0 && !self.input.is_editor() {
                break;
            }
            let Some(text) = self.input.line(&self.talk)? else {
                break;
            };
            match self.obey(&text)? {
                Step::Played => {
                    self.output
                        .allowed(&self.talk, self.sources, self.input.is_editor())?;
                }
                Step::Told => {}
                Step::Quit => break,
            }
        }
        while let Some(rest) = self.rest()? {
            match self.said_of_peer(&rest.text) {
                Some((at, text)) if !self.heard.is_empty() => {
                    if let Err((at, words)) = self.compare(at, text) {
                        return Err(self.output.wrong(&rest, at, &words));
                    }
                }
                _ => return Err(self.output.wrong(&rest, 0, "the session is over")),
            }
        }
        self.output.end(&self.talk, self.robot.covered())?;
        match self.is_stuck && self.talk.active().is_some() && matches!(self.input, Input::Nothing)
        {
            true => Err(Failure::Findings),
            false => Ok(()),
        }
    }

    /// A line that is left in a script when the session is over.
    fn rest(&mut self) -> Result<Option<Text>, Failure> {
        match self.talk.active() {
            None => self.input.rest(),
            Some(_) => Ok(None),
        }
    }

    /// What a line says of the side that is in another process, and where.
    fn said_of_peer<'l>(&self, line: &'l str) -> Option<(usize, &'l str)> {
        let (receiver, text) = line.split_once("<-")?;
        let peer = self.peer.as_ref()?.side;
        let text = text.trim();
        (receiver.trim() == peer.dual().word()).then_some((line.len() - text.len(), text))
    }

    /// Waits for the side that is in another process.
    fn hear(&mut self) -> Result<(), Failure> {
        let Some(peer) = &mut self.peer else {
            return Ok(());
        };
        let (side, before) = (peer.side, self.talk.fork());
        let answer = peer.wait(&mut self.talk)?;
        if let Arrival::Left(_) = answer {
            self.talk.leave(side);
        }
        let Some(event) = self.talk.events().next_back().cloned() else {
            return Ok(());
        };
        self.robot.note(&event);
        self.output.event(&event)?;
        if let Arrival::Left(Some(words)) = answer {
            bail_environment!("the {} has left: {words}", side.word());
        }
        if matches!(self.input, Input::Script(_)) {
            self.heard.push_back((before, event));
        }
        self.output
            .allowed(&self.talk, self.sources, self.input.is_editor())
    }

    /// Compares what a line says of the other side with the first event of it that no line has said. A script need not mention all.
    fn compare(&mut self, at: usize, text: &str) -> Result<(), (usize, String)> {
        let Some((mut expected, event)) = self.heard.pop_front() else {
            let words =
                "the other side has done nothing that this could say: it is this side's turn";
            return Err((at, words.to_owned()));
        };
        let side = match &event {
            Event::Message { from, .. } | Event::Left(from) => *from,
        };
        let wanted = match text {
            "closed" => expected.leave(side),
            text => match expected.send(text) {
                Ok(wanted) => Some(wanted),
                Err(fault) => return Err((at + fault.at, fault.message)),
            },
        };
        match wanted.is_some_and(|wanted| wanted.to_string() == event.to_string()) {
            true => Ok(()),
            false => Err((
                at,
                format!("expected this, but the {} did: {event}", side.word()),
            )),
        }
    }

    /// Sends the last event to the side that is in another process, if there is one.
    fn publish(&mut self) -> Result<Result<(), (usize, String)>, Failure> {
        let Some(peer) = &mut self.peer else {
            return Ok(Ok(()));
        };
        match peer.publish(&self.talk)? {
            Ok(()) => Ok(Ok(())),
            Err(fault) => {
                self.talk.undo();
                Ok(Err((fault.at, fault.message)))
            }
        }
    }

    /// Whether the robot has sent a message.
    fn send_as_robot(&mut self, side: Side) -> Result<bool, Failure> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(false);
        };
        let Some(event) = self.robot.play(&mut self.talk) else {
            let words = format!(
                "the robot cannot make a value of the messages here: play the {}",
                side.word()
            );
            self.output.tell(&words)?;
            (self.left, self.is_stuck) = (0, true);
            return Ok(false);
        };
        self.left = left;
        let event = event.clone();
        if let Err((_, words)) = self.publish()? {
            self.output.tell(&words)?;
            return Ok(false);
        }
        self.robot.note(&event);
        self.output.event(&event)?;
        let is_editor = self.input.is_editor();
        self.output.allowed(&self.talk, self.sources, is_editor)?;
        Ok(true)
    }

    /// Does what a line says. A mistake ends a script, and not a session in a terminal.
    fn obey(&mut self, line: &Text) -> Result<Step, Failure> {
        if let Some((at, text)) = self.said_of_peer(&line.text) {
            return match self.compare(at, text) {
                Ok(()) => Ok(Step::Told),
                Err((at, words)) => self.refused(line, at, &words),
            };
        }
        let fault = match line.text.strip_prefix(':') {
            Some(command) => match self.command(command.trim())? {
                Ok(step) => return Ok(step),
                Err(fault) => fault,
            },
            None => match say(&mut self.talk, &line.text) {
                Ok(()) => {
                    if let Err((_, words)) = self.publish()? {
                        return self.refused(line, 0, &words);
                    }
                    self.heard.clear();
                    if let Some(event) = self.talk.events().next_back() {
                        self.robot.note(event);
                        self.output.event(event)?;
                    }
                    return Ok(Step::Played);
                }
                Err(fault) => fault,
            },
        };
        self.refused(line, fault.0, &fault.1)
    }

    /// Reports a line that is wrong from this byte on, which is the end of a script.
    fn refused(&mut self, line: &Text, at: usize, words: &str) -> Result<Step, Failure> {
        let failure = self.output.wrong(line, at, words);
        match self.input.is_editor() {
            true => Ok(Step::Told),
            false => Err(failure),
        }
    }

    fn command(&mut self, command: &str) -> Result<Result<Step, (usize, String)>, Failure> {
        let mut words = command.split_whitespace();
        let (name, argument) = (words.next().unwrap_or_default(), words.next());
        let own = |side: &Side| !self.robots.is_some_and(|robots| robots.plays(*side));
        match (name, argument) {
            ("quit" | "q", None) => return Ok(Ok(Step::Quit)),
            ("help" | "h", None) => self.output.say(LINES)?,
            ("allowed" | "a", None) => self.output.allowed(&self.talk, self.sources, true)?,
            ("transcript" | "t", None) => {
                let lines: Vec<String> = self.talk.events().map(Event::to_string).collect();
                self.output.say(&lines.join("\n"))?;
            }
            ("undo" | "u", None) if self.peer.is_some() => {
                let words = "what was sent over a connection cannot be taken back";
                return Ok(Err((0, words.to_owned())));
            }
            ("undo" | "u", None) => {
                // Down to a turn of the player's own.
                let mut undone = self.talk.undo();
                while undone.is_some() && self.talk.active().is_some_and(|side| !own(&side)) {
                    undone = self.talk.undo();
                }
                self.output.undone(&self.talk)?;
                return Ok(Ok(Step::Played));
            }
            ("leave" | "l", side) => {
                let side = match side {
                    None => Side::BOTH
                        .into_iter()
                        .find(own)
                        .filter(|_| self.robots.is_some()),
                    Some(word) => match Side::named(word) {
                        Some(side) => Some(side),
                        None => {
                            let at = command.find(word).unwrap_or_default() + 1;
                            return Ok(Err((at, "expected `client` or `server`".to_owned())));
                        }
                    },
                };
                let side = side.or(self.talk.active()).unwrap_or(Side::Client);
                let side = self.peer.as_ref().map_or(side, |peer| peer.side.dual());
                if let Some(event) = self.talk.leave(side).cloned() {
                    // Only a message can be refused.
                    let _ = self.publish()?;
                    self.output.event(&event)?;
                }
                return Ok(Ok(Step::Played));
            }
            _ => {
                let words = "there is no such command; `:help` lists them";
                return Ok(Err((0, words.to_owned())));
            }
        }
        Ok(Ok(Step::Told))
    }
}

/// Sends the message of a line in a session, or lets a side leave.
///
/// # Errors
/// The byte of the line from which it is wrong, and why.
pub fn say(talk: &mut Talk<'_>, line: &str) -> Result<(), (usize, String)> {
    let (receiver, at) = match line.find("<-") {
        // An arrow within a text or in bytes is not that of a transcript.
        Some(arrow) if line[..arrow].trim().chars().all(char::is_alphanumeric) => {
            (Some(line[..arrow].trim()), arrow + 2)
        }
        _ => (None, 0),
    };
    let text = &line[at..];
    let spaces = text.len() - text.trim_start().len();
    let (at, text) = (at + spaces, text.trim());
    let from = receiver.map(|word| {
        let side = Side::named(word).map(Side::dual);
        side.ok_or_else(|| (0, format!("`{word}` is neither `client` nor `server`")))
    });
    let from = from.transpose()?;
    if let (Some(from), "closed") = (from, text) {
        talk.leave(from);
        return Ok(());
    }
    if let (Some(from), Some(active)) = (from, talk.active())
        && from != active
    {
        let words = format!(
            "it is the {}'s turn, so the {} receives",
            active.word(),
            active.dual().word()
        );
        return Err((0, words));
    }
    match talk.send(text) {
        Ok(_) => Ok(()),
        Err(fault) => Err((at + fault.at, fault.message)),
    }
}
