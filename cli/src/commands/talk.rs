//! `duologue talk`: a session that is played in the terminal.

use crate::args::named::{Named, sides};
use crate::args::{Sources, TEMPLATE, seconds};
use crate::terminal::Terminal;
use clap::Args;
use duologue::protocol::Side;
use duologue_peers::address::Address;
use duologue_peers::game::{Game, Input, LINES, Output, Peer, Robots, Script, Style};
use duologue_peers::socket::Credentials;
use duologue_peers::talk::{Robot, Talk};
use duologue_project::{Outcome, needs_native};
use std::collections::VecDeque;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "  duologue talk bank.proto            play both sides of the bank; Tab completes what may be sent
  duologue talk bank.proto --robot server --seed 7
                                      play the client; the server plays by itself
  duologue talk bank.proto --robot both --messages 50
                                      print a dialogue that the protocol allows
  duologue talk bank.proto --script session.txt --record session.jsonl
                                      play a transcript, and record it for `duologue trace`
  duologue talk bank.proto --connect tcp://localhost:7000 --script session.txt
                                      be the client of a server, and compare what it sends with the script
";

/// Play a session of a protocol in the terminal
///
/// Only what the protocol allows can be sent, and values must have the right types. What was sent is printed as a transcript, which
/// `--script` and `duologue trace` read.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, after_help = LINES, help_template = TEMPLATE)]
pub struct TalkArguments {
    /// A protocol file; FILE#NAME names a protocol or an instance in it
    file: PathBuf,
    /// The side that plays by itself: client, server or both
    #[arg(long, value_name = "SIDE")]
    robot: Option<Robots>,
    /// Play with the server at this address: unix:PATH, tcp://HOST:PORT or tls://HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    connect: Option<String>,
    /// The side to play with the server: client or server
    #[arg(long = "as", default_value = "client", value_name = "SIDE", value_parser = sides(), requires = "connect")]
    own: Side,
    /// How many seconds to wait for each message of the server
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = seconds(86_400), requires = "connect")]
    timeout: u64,
    #[command(flatten)]
    credentials: Credentials,
    /// What the choices of robots follow from
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    /// How many messages robots send at most
    #[arg(long, default_value_t = 100, value_name = "COUNT")]
    messages: u32,
    /// Read lines from this file, or from standard input for `-`, and fail at the first that is wrong
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Write the session to this file: as JSON lines for `trace` if its name ends in .jsonl, otherwise as a transcript
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How the session is printed: human, a transcript, or json, an event on each line
    #[arg(long, default_value = "human", value_name = "STYLE")]
    format: Style,
    #[command(flatten)]
    sources: Sources,
}

impl TalkArguments {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let named = Named::parse(&self.file);
        let (checked, sources) = named.compile(self.sources, terminal)?;
        let view = named.view(&checked)?;
        let own = self.connect.as_ref().map(|_| self.own);
        if let (Some(own), Some(robots)) = (own, self.robot)
            && robots.plays(own.dual())
        {
            bail_usage!(
                "the {} is at the other end: a robot can play the {}",
                own.dual().word(),
                own.word()
            );
        }
        let talk = Talk::new(view);
        let input = match (&self.script, self.robot) {
            (Some(path), _) => Input::Script(Script::open(path)?),
            (None, Some(Robots::Both)) => Input::Nothing,
            (None, Some(_)) if own.is_some() => Input::Nothing,
            (None, _) if io::stdin().is_terminal() => Input::editor()?,
            (None, _) => Input::Script(Script::standard()),
        };
        if let Some(record) = &self.record {
            let mut read = self
                .script
                .iter()
                .map(PathBuf::as_path)
                .chain([named.file.as_path()]);
            if read.any(|read| is_same(read, record)) {
                bail_usage!("`{}` is read, and cannot be the record", record.display());
            }
        }
        let output = Output::new(
            view.name().text(),
            self.format,
            self.record.as_deref(),
            terminal,
        )?;
        let peer = match (&self.connect, own) {
            (Some(address), Some(own)) => {
                let patience = Duration::from_secs(self.timeout);
                needs_native("`talk --connect`", "sockets")?;
                let address = Address::parse(address, &self.credentials)?;
                let token = self.credentials.token()?;
                Some(Peer::connect(
                    (&address, token),
                    own.dual(),
                    patience,
                    view,
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
            is_stuck: false,
            heard: VecDeque::new(),
            sources: &sources,
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

/// Whether two paths lead to one file that exists.
fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
