//! `duologue attack`: everything that a hostile peer can send, against a server or against clients.

use crate::args::named::{Named, sides};
use crate::args::{Shape, Sources, TEMPLATE, seconds};
use crate::terminal::Terminal;
use clap::Args;
use duologue::protocol::Side;
use duologue::robots::{Absent, MOST_NODES, Makeable, Plan};
use duologue_peers::address::{Address, Lobby};
use duologue_peers::attack::Kind;
use duologue_peers::campaign::{Campaign, Course, Door, Known, Report, Target, Wanted};
use duologue_peers::game::{Script, say};
use duologue_peers::socket::{Credentials, fingerprint};
use duologue_peers::talk::{Event, Stream, Talk};
use duologue_project::{Failure, Outcome, needs_native};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "  duologue attack bank.proto --connect unix:/run/bank.sock
                                      send everything that is wrong, in each state that can be reached
  duologue attack bank.proto --connect tcp://localhost:7000 --script session.txt
                                      the same, with the messages of a transcript before each state
  duologue attack bank.proto --connect tcp://localhost:7000 --only hello,payload --format json
                                      only what is wrong in hellos and payloads; report it as JSON
  duologue attack bank.proto --listen unix:bank.sock -- ./client unix:bank.sock
                                      start this client for each attack, and be a hostile server
";

/// Attack a server, or clients, with everything that a hostile peer can send
///
/// In each state that can be reached, the command sends everything that breaks the format between processes, each time in a session of
/// its own. A server holds if it closes the session in time, with the reason that the format prescribes, and serves others. A client holds if
/// it does the same, and its program ends without a crash.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Attack {
    /// A protocol file; FILE#NAME names a protocol or an instance in it
    file: PathBuf,
    /// The address of the server: unix:PATH, tcp://HOST:PORT or tls://HOST:PORT
    #[arg(long, value_name = "ADDRESS", required_unless_present = "listen")]
    connect: Option<String>,
    /// Attack the clients that connect to this address
    #[arg(long, value_name = "ADDRESS", conflicts_with = "connect")]
    listen: Option<String>,
    /// The side of the protocol to play: client or server; without it, server with --listen and client otherwise
    #[arg(long = "as", value_name = "SIDE", value_parser = sides())]
    own: Option<Side>,
    /// A transcript; the way to a state has its messages and values
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Only these kinds: hello, frame, control, payload, turn, cut, end, silence, legal
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    only: Vec<Kind>,
    /// How many seconds the server may take to react
    #[arg(long, default_value_t = 10, value_name = "SECONDS", value_parser = seconds(3_600))]
    timeout: u64,
    /// Stop after this many findings
    #[arg(long, default_value_t = 10, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    findings: u32,
    /// Attack at most this often
    #[arg(long, default_value_t = 20_000, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    cases: u32,
    /// Begin no further attack after this many seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS", value_parser = seconds(86_400))]
    total: u64,
    /// What random changes, and the values of valid messages, follow from
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    /// How the result is printed: human or json
    #[arg(long, default_value = "human", value_name = "STYLE")]
    format: Shape,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    sources: Sources,
    /// A client to start for each attack, with its arguments
    #[arg(last = true, value_name = "COMMAND", requires = "listen")]
    command: Vec<String>,
}

impl Attack {
    pub fn run(mut self, terminal: &Terminal) -> Outcome {
        needs_native("`attack`", "sockets")?;
        let named = Named::parse(&self.file);
        let (checked, _) = named.compile(std::mem::take(&mut self.sources), terminal)?;
        let view = named.view(&checked)?;
        let own = self.own.unwrap_or(match self.listen {
            Some(_) => Side::Server,
            None => Side::Client,
        });
        let fingerprint = fingerprint(view)?;
        let makeable = Makeable::of(view.program);
        let plan = Plan::of(view, &makeable).map_err(|absent| {
            let name = view.name();
            Failure::Usage(match absent {
                Absent::Nothing => format!("`{name}` has no messages"),
                Absent::TooLarge => format!("`{name}` has more than {MOST_NODES} states"),
            })
        })?;
        let known = match &self.script {
            Some(path) => read(path, Talk::new(view), &plan, own)?,
            None => Known::default(),
        };
        let parse = |text: &str| Address::parse(text, &self.credentials);
        let talk = Talk::new(view);
        let (door, greeting) = match (&self.connect, &self.listen) {
            (Some(address), _) => {
                let token = self.credentials.token()?;
                let hello = Stream::new(&talk).hello(&talk, fingerprint, own, token);
                (Door::Connect(parse(address)?), hello)
            }
            (None, listen) => {
                let address = parse(listen.as_deref().unwrap_or_default())?;
                let lobby = Lobby::open(address)?;
                let command = std::mem::take(&mut self.command);
                if command.is_empty() {
                    terminal.tell(format!("listening {}\n", lobby.text))?;
                }
                (Door::Listen(lobby, command), Stream::begun(fingerprint))
            }
        };
        let target = Target {
            door,
            own,
            patience: Duration::from_secs(self.timeout),
            is_verbose: terminal.verbose,
            view,
            plan: &plan,
            fingerprint,
            greeting,
            known,
        };
        let mut campaign = Campaign {
            wanted: Wanted {
                kinds: std::mem::take(&mut self.only),
                findings: self.findings,
                cases: self.cases,
                seed: self.seed,
            },
            target: &target,
            report: Report::new(&plan, own),
            last: None,
            end: Instant::now() + Duration::from_secs(self.total),
        };
        campaign.run(terminal)?;
        let report = &campaign.report;
        match self.format {
            Shape::Human => terminal.print(report.text())?,
            Shape::Json => terminal.print_exactly(&format!("{}\n", report.json()))?,
        }
        report.outcome()
    }
}

/// The session of a transcript, with the values of the messages that one side sends.
fn read(path: &Path, mut talk: Talk<'_>, plan: &Plan<'_>, own: Side) -> Result<Known, Failure> {
    let mut script = Script::open(path)?;
    while let Some(line) = script.take()?.filter(|_| talk.active().is_some()) {
        say(&mut talk, &line.text).map_err(|(_, why)| environment!("{}: {why}", line.place))?;
    }
    let mut known = Known {
        course: Course::of(plan, talk.events()),
        ..Known::default()
    };
    for event in talk.events() {
        if let Event::Message {
            from,
            state,
            position,
            values,
            ..
        } = event
            && *from == own
        {
            let payloads = known.values.entry((*state, *position)).or_default();
            payloads.push(values.clone());
        }
    }
    Ok(known)
}
