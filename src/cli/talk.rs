//! `duologue talk`: a session that is played in the terminal.

use super::args::Sources;
use super::named::Named;
use super::talk_input::{Input, Script, Text};
use super::talk_output::{Output, Style};
use super::talk_peer::{Answer, Peer};
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE};
use clap::{Args, ValueEnum};
use duologue::check::CheckedProgram;
use duologue::protocol::{Instance, ProtocolId, Side};
use duologue::source;
use duologue::talk::{Event, Robot, Talk};
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue talk bank.proto            play both sides of the bank; Tab completes what may be sent
  duologue talk bank.proto --robot server --seed 7
                                      play the client; the server plays by itself
  duologue talk bank.proto --robot both --messages 50
                                      print a dialogue that the protocol allows
  duologue talk bank.proto --script session.txt --record session.jsonl
                                      play a transcript, and record it for `duologue trace check`
  duologue talk bank.proto --connect tcp://localhost:7000 --script session.txt
                                      be the client of a server, and compare what it sends with the script
";

const LINES: &str = "\
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

/// Play a session of a protocol in the terminal
///
/// Only what the protocol allows can be sent, and values must have the right types. What was sent is printed as a transcript, which
/// `--script` and `duologue trace check` read.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, after_help = LINES, help_template = TEMPLATE)]
pub struct TalkArguments {
    /// A protocol file; FILE#NAME names a protocol or an instance in it
    file: PathBuf,
    /// The side that plays by itself: client, server or both
    #[arg(long, value_enum, hide_possible_values = true, value_name = "SIDE")]
    robot: Option<Robots>,
    /// Play with the server at this address: unix:PATH or tcp://HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    connect: Option<String>,
    /// The side to play with the server: client or server
    #[arg(
        long = "as",
        value_enum,
        default_value = "client",
        hide_possible_values = true,
        value_name = "SIDE",
        requires = "connect"
    )]
    own: Own,
    /// How many seconds to wait for each message of the server
    #[arg(
        long,
        default_value_t = 30,
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=86_400),
        requires = "connect"
    )]
    timeout: u64,
    /// What the choices of robots follow from
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    /// How many messages robots send at most
    #[arg(long, default_value_t = 100, value_name = "COUNT")]
    messages: u32,
    /// Read lines from this file, or from standard input for `-`, and fail at the first that is wrong
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Write the session to this file: as JSON lines for `trace check` if its name ends in .jsonl, otherwise as a transcript
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How the session is printed: human, a transcript, or json, an event on each line
    #[arg(
        long,
        value_enum,
        default_value = "human",
        hide_possible_values = true,
        value_name = "STYLE"
    )]
    format: Style,
    #[command(flatten)]
    sources: Sources,
}

/// The side that a person or a script plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Own {
    Client,
    Server,
}

impl Own {
    fn side(self) -> Side {
        match self {
            Own::Client => Side::Client,
            Own::Server => Side::Server,
        }
    }
}

/// The sides that play by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Robots {
    Client,
    Server,
    Both,
}

impl Robots {
    fn plays(self, side: Side) -> bool {
        match self {
            Robots::Both => true,
            Robots::Client => side == Side::Client,
            Robots::Server => side == Side::Server,
        }
    }
}

impl TalkArguments {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let named = Named::parse(&self.file);
        let compiled = named.compile(self.sources, terminal)?;
        let checked = compiled.checked.as_ref().ok_or(Failure::Findings)?;
        let (protocol, instance) = find(&named, checked)?;
        let own = self.connect.as_ref().map(|_| self.own.side());
        if let (Some(own), Some(robots)) = (own, self.robot)
            && robots.plays(own.dual())
        {
            let words = format!(
                "the {} is at the other end: a robot can play the {}",
                own.dual().word(),
                own.word()
            );
            return Err(Failure::Usage(words));
        }
        let talk = Talk::new(checked.program(), protocol, instance);
        let input = match (&self.script, self.robot) {
            (Some(path), _) => Input::Script(Script::open(path)?),
            (None, Some(Robots::Both)) => Input::Nothing,
            (None, Some(_)) if own.is_some() => Input::Nothing,
            (None, _) if io::stdin().is_terminal() => Input::editor()?,
            (None, _) => Input::Script(Script::standard()),
        };
        let name = instance.map_or(&talk.protocol().name, |instance| &instance.name);
        let output = Output::new(name.text(), self.format, self.record.as_deref(), terminal)?;
        let peer = match (&self.connect, own) {
            (Some(address), Some(own)) => {
                let patience = Duration::from_secs(self.timeout);
                let meant = (protocol, instance);
                Some(Peer::connect(
                    address,
                    own.dual(),
                    patience,
                    checked,
                    meant,
                    &talk,
                )?)
            }
            _ => None,
        };
        let mut game = Game {
            peer,
            robot: Robot::new(self.seed),
            robots: self.robot,
            left: self.messages,
            sources: &compiled.sources,
            talk,
            input,
            output,
        };
        let outcome = game.play();
        // Even after a wrong line, so that the record has the events before it.
        game.output.write_record(&game.talk)?;
        outcome
    }
}

/// The protocol that is meant, or the instance of a generic one.
fn find<'c>(
    named: &Named,
    checked: &'c CheckedProgram,
) -> Result<(ProtocolId, Option<&'c Instance>), Failure> {
    let mut instances = checked.program().instances.iter();
    let is_meant = |instance: &&Instance| Some(instance.name.text()) == named.protocol.as_deref();
    match instances.find(is_meant) {
        Some(instance) => Ok((instance.protocol, Some(instance))),
        None => Ok((named.find(checked)?, None)),
    }
}

/// A session and its players.
struct Game<'p> {
    talk: Talk<'p>,
    /// The other side, if it is in another process.
    peer: Option<Peer>,
    robot: Robot,
    robots: Option<Robots>,
    /// How many more messages robots send.
    left: u32,
    sources: &'p source::Sources,
    input: Input<'p>,
    output: Output<'p>,
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
    fn play(&mut self) -> Outcome {
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
        if self.talk.active().is_none()
            && let Some(rest) = self.input.rest()?
        {
            return Err(self.output.wrong(&rest, 0, "the session is over"));
        }
        self.output.end(&self.talk, self.robot.covered())
    }

    /// Waits for the side that is in another process, and compares what it does with the next line of the script, if that says it.
    fn hear(&mut self) -> Result<(), Failure> {
        let Some(peer) = &mut self.peer else {
            return Ok(());
        };
        let side = peer.side;
        let mut expected = self.talk.clone();
        let before = self.talk.events().len();
        let answer = peer.wait(&mut self.talk)?;
        if let Answer::Left(why) = answer {
            self.talk.leave(side);
            if let Some(words) = why {
                self.output.tell(words)?;
            }
        }
        let event = self.talk.events().nth(before).cloned();
        let event = event.ok_or(Failure::Findings)?;
        self.robot.note(&event);
        self.output.event(&event)?;
        if !self.input.is_scripted_for(side)? {
            return self
                .output
                .allowed(&self.talk, self.sources, self.input.is_editor());
        }
        let Some(line) = self.input.line(&self.talk)? else {
            return Ok(());
        };
        let (_, text) = line.text.split_once("<-").unwrap_or_default();
        let text = text.trim();
        let is_as_expected = match text {
            "closed" => expected.leave(side) == Some(&event),
            text => match expected.send(text) {
                Ok(wanted) => *wanted == event,
                Err(fault) => {
                    let at = line.text.len() - text.len() + fault.at;
                    return Err(self.output.wrong(&line, at, &fault.message));
                }
            },
        };
        if is_as_expected {
            return Ok(());
        }
        let words = format!("expected this, but the {} did: {event}", side.word());
        Err(self
            .output
            .wrong(&line, line.text.len() - text.len(), &words))
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
            self.left = 0;
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
        let fault = match line.text.strip_prefix(':') {
            Some(command) => match self.command(command.trim())? {
                Ok(step) => return Ok(step),
                Err(fault) => fault,
            },
            None => match self.message(&line.text) {
                Ok(()) => {
                    if let Err((_, words)) = self.publish()? {
                        return self.refused(line, 0, &words);
                    }
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

    /// Sends the message of a line, or lets a side leave. A fault has the byte of the line from which it is wrong.
    fn message(&mut self, line: &str) -> Result<(), (usize, String)> {
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
        let from = match receiver {
            None => None,
            Some("client") => Some(Side::Server),
            Some("server") => Some(Side::Client),
            Some(other) => {
                let words = format!("`{other}` is neither `client` nor `server`");
                return Err((0, words));
            }
        };
        let is_peers = |side| {
            self.peer
                .as_ref()
                .is_some_and(|peer| Some(peer.side) == side)
        };
        if text == "closed" && is_peers(from) {
            let words = "the other side has not left: it is this side's turn";
            return Err((at, words.to_owned()));
        }
        if text == "closed" && from.is_some() {
            self.talk.leave(from.unwrap_or(Side::Client));
            return Ok(());
        }
        if let (Some(from), Some(active)) = (from, self.talk.active())
            && from != active
        {
            let words = format!(
                "it is the {}'s turn, so the {} receives",
                active.word(),
                active.dual().word()
            );
            return Err((0, words));
        }
        match self.talk.send(text) {
            Ok(_) => Ok(()),
            Err(fault) => Err((at + fault.at, fault.message)),
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
                let sides = [Side::Client, Side::Server];
                let side = match side {
                    None => sides
                        .into_iter()
                        .find(own)
                        .filter(|_| self.robots.is_some()),
                    Some(word) => match sides.into_iter().find(|side| side.word() == word) {
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
