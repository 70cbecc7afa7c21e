//! `duologue attack`: everything that a hostile peer can send, against a server.

use super::args::{Shape, Sources};
use super::attack_report::{Finding, Report};
use super::attack_session::{Judgment, Obstacle, Session, Target, Values};
use super::attack_way::Goal;
use super::named::Named;
use super::talk::{Own, find};
use super::talk_input::Script;
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE};
use clap::{Args, ValueEnum};
use duologue::attack::{Case, Expected, Kind, Model, after_the_end, half_a_hello, hellos};
use duologue::protocol::Side;
use duologue::relation::View;
use duologue::robots::{Absent, MOST_NODES, Makeable, Plan};
use duologue::sizes::Sizes;
use duologue::talk::{Event, Stream, Talk};
use duologue::wire;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue attack bank.proto --connect unix:/run/bank.sock
                                      send everything that is wrong, in each state that can be reached
  duologue attack bank.proto --connect tcp://localhost:7000 --script session.txt
                                      the same, with the values of a transcript in the messages before each state
  duologue attack bank.proto --connect tcp://localhost:7000 --only hello,payload --format json
                                      only what is wrong in hellos and payloads; report it as JSON
";

/// How often the way to a state is tried.
const TRIES: u64 = 3;

/// Attack a server with everything that a hostile peer can send
///
/// In each state that can be reached, the command sends everything that breaks the format between processes, each time in a session of
/// its own. A server holds if it closes the session in time, with the reason that the format prescribes, and serves others.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Attack {
    /// A protocol file; FILE#NAME names a protocol or an instance in it
    file: PathBuf,
    /// The address of the server: unix:PATH or tcp://HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    connect: String,
    /// The side of the protocol to play: client or server
    #[arg(
        long = "as",
        value_enum,
        default_value = "client",
        hide_possible_values = true,
        value_name = "SIDE"
    )]
    own: Own,
    /// A transcript; the messages that lead to a state get its values
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Only these kinds: hello, frame, control, payload, turn, cut, end, silence, legal
    #[arg(
        long,
        value_delimiter = ',',
        value_enum,
        hide_possible_values = true,
        value_name = "KINDS"
    )]
    only: Vec<Chosen>,
    /// How many seconds the server may take to react
    #[arg(
        long,
        default_value_t = 10,
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=3_600)
    )]
    timeout: u64,
    /// Stop after this many findings
    #[arg(long, default_value_t = 10, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    findings: u32,
    /// Attack at most this often
    #[arg(long, default_value_t = 20_000, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    cases: u32,
    /// Begin no further attack after this many seconds
    #[arg(
        long,
        default_value_t = 600,
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    total: u64,
    /// What random changes, and the values of valid messages, follow from
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    /// How the result is printed: human or json
    #[arg(
        long,
        value_enum,
        default_value = "human",
        hide_possible_values = true,
        value_name = "STYLE"
    )]
    format: Shape,
    #[command(flatten)]
    sources: Sources,
}

/// A kind of attack, on the command line.
#[derive(Clone, Copy, Debug)]
struct Chosen(Kind);

impl ValueEnum for Chosen {
    fn value_variants<'a>() -> &'a [Chosen] {
        const ALL: [Chosen; 9] = {
            let mut all = [Chosen(Kind::Hello); 9];
            let mut at = 0;
            while at < 9 {
                all[at] = Chosen(Kind::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.word()))
    }
}

impl Attack {
    pub fn run(mut self, terminal: &Terminal) -> Outcome {
        let named = Named::parse(&self.file);
        let compiled = named.compile(std::mem::take(&mut self.sources), terminal)?;
        let checked = compiled.checked.as_ref().ok_or(Failure::Findings)?;
        let (protocol, instance) = find(&named, checked)?;
        let program = checked.program();
        let view = match instance {
            Some(instance) => View::instance(program, instance),
            None => View::of(program, protocol),
        };
        let own = self.own.side();
        let hello = hello(view, own, &Talk::new(program, protocol, instance))?;
        let makeable = Makeable::of(program);
        let plan = Plan::of(view, &makeable).map_err(|absent| {
            let name = view.name();
            Failure::Usage(match absent {
                Absent::Nothing => format!("`{name}` has no messages"),
                Absent::TooLarge => format!("`{name}` has more than {MOST_NODES} states"),
            })
        })?;
        let values = match &self.script {
            Some(path) => read_values(path, Talk::new(program, protocol, instance), own)?,
            None => Values::new(),
        };
        let target = Target {
            address: self.connect.clone(),
            own,
            patience: Duration::from_secs(self.timeout),
            program,
            protocol,
            instance,
            plan: &plan,
            hello,
            values,
        };
        let mut campaign = Campaign {
            arguments: &self,
            target: &target,
            report: Report::new(&plan, own),
            last: None,
            end: Instant::now() + Duration::from_secs(self.total),
        };
        campaign.run(terminal)?;
        campaign.report.print(self.format, terminal)
    }

    fn is_chosen(&self, kind: Kind) -> bool {
        self.only.is_empty() || self.only.iter().any(|chosen| chosen.0 == kind)
    }
}

/// The hello of a session in which this side plays `own`.
fn hello(view: View<'_>, own: Side, talk: &Talk<'_>) -> Result<Vec<u8>, Failure> {
    let name = view.name();
    let plan = wire::Plan::of(view)
        .map_err(|obstacle| Failure::Usage(format!("`{name}` stays in one process: {obstacle}")))?;
    let fingerprint = plan.fingerprint.ok_or_else(|| {
        Failure::Usage(format!(
            "`{name}` has type parameters: name an instance, as in FILE#INSTANCE"
        ))
    })?;
    Ok(Stream::new(talk).hello(talk, fingerprint, own))
}

/// The values of the messages that one side sends in a transcript.
fn read_values(path: &Path, mut talk: Talk<'_>, own: Side) -> Result<Values, Failure> {
    let mut script = Script::open(path)?;
    while let Some(line) = script.take()? {
        let text = match line.text.split_once("<-") {
            Some((receiver, message)) if ["client", "server"].contains(&receiver.trim()) => {
                message.trim()
            }
            _ => line.text.as_str(),
        };
        if text == "closed" {
            break;
        }
        if let Err(fault) = talk.send(text) {
            return Err(Failure::Environment(format!(
                "{}: {}",
                line.place, fault.message
            )));
        }
    }
    let mut all = Values::new();
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
            all.entry((*state, *position))
                .or_default()
                .push(values.clone());
        }
    }
    Ok(all)
}

/// An attack on a server.
struct Campaign<'a, 'c> {
    arguments: &'a Attack,
    target: &'a Target<'c>,
    report: Report<'a>,
    /// The last case, its state and the way there: if the next session does not begin, it is the reason.
    last: Option<(Case, String, Vec<String>)>,
    /// When no further attack begins.
    end: Instant,
}

impl<'c> Campaign<'_, 'c> {
    fn run(&mut self, terminal: &Terminal) -> Outcome {
        let target = self.target;
        let largest = match Session::begin(target)? {
            Ok(session) => session.largest(),
            Err(words) => {
                let words = format!("there is no session with {}: {words}", target.address);
                return Err(Failure::Environment(words));
            }
        };
        let model = Model {
            program: target.program,
            sizes: Sizes::of(target.program),
            plan: target.plan,
            own: target.own,
            largest,
            seed: self.arguments.seed,
        };
        for case in hellos(&target.hello) {
            if self.is_over() {
                return Ok(());
            }
            if self.arguments.is_chosen(case.kind) {
                self.at_connecting(case)?;
            }
        }
        for (index, node) in target.plan.nodes.iter().enumerate() {
            let mut cases = model.cases(node);
            let state = target.plan.state(node);
            if let Some(within) = state.within
                && node.sender == target.own
            {
                cases.push(late(within.most));
            }
            self.in_state(Goal::Node(index), &node.name, cases)?;
            if terminal.verbose {
                terminal.tell(format!(
                    "{}: {} attacks so far\n",
                    node.name,
                    self.report.total()
                ))?;
            }
        }
        if target.plan.nodes[0].way_out.is_some() {
            self.in_state(Goal::End, "!", after_the_end(&target.hello))?;
        }
        self.be_silent()?;
        if let Err(Obstacle::Down(words)) = self.reach(Goal::Node(0), 0)? {
            self.blame(&words);
        }
        Ok(())
    }

    /// Whether no further attack begins.
    fn is_over(&mut self) -> bool {
        self.report.is_late |= Instant::now() >= self.end;
        self.report.is_cut |= self.report.total() >= u64::from(self.arguments.cases);
        self.report.is_late
            || self.report.is_cut
            || self.report.is_stopped
            || self.report.findings.len() >= self.arguments.findings as usize
    }

    /// Attacks with something that is sent instead of a hello.
    fn at_connecting(&mut self, case: Case) -> Result<(), Failure> {
        let deadline = Instant::now() + self.target.patience;
        loop {
            let mut session = match Session::open(self.target)? {
                Ok(session) => session,
                Err(words) => {
                    self.blame(&words);
                    return self.wait_for_server();
                }
            };
            session.send(self.target, &case);
            let judgment = session.judge(self.target, &case, self.target.patience);
            let is_wrong = matches!(judgment, Judgment::Wrong(_));
            if !is_wrong || !session.pauses_if_full(deadline) {
                self.note(case, "connecting", Vec::new(), judgment);
                return Ok(());
            }
        }
    }

    /// Attacks in a state, or after the end, if a session can get there.
    fn in_state(&mut self, goal: Goal, name: &str, cases: Vec<Case>) -> Result<(), Failure> {
        let mut seed = self.arguments.seed;
        let mut was_reached = false;
        let mut unknown = 0;
        let is_theirs = match goal {
            Goal::Node(index) => self.target.plan.nodes[index].sender != self.target.own,
            Goal::End => false,
        };
        for case in cases {
            if self.is_over() {
                return Ok(());
            }
            if !self.arguments.is_chosen(case.kind) {
                continue;
            }
            let mut wait = self.target.patience;
            if case.expected == Expected::Late {
                let within = self.within(goal);
                if within > wait {
                    self.report
                        .skip(name, "its time limit is longer than `--timeout`");
                    continue;
                }
                wait += within;
            }
            // A server that has the turn and does not use it takes all the time that it gets.
            if unknown > 0 && (is_theirs || case.expected == Expected::Taken) {
                continue;
            }
            let mut session = match self.reach(goal, seed)? {
                Ok((session, with)) => {
                    seed = with;
                    was_reached = true;
                    session
                }
                Err(Obstacle::Down(words)) => {
                    self.blame(&words);
                    self.wait_for_server()?;
                    continue;
                }
                Err(Obstacle::Stuck(words)) if was_reached => {
                    self.blame(&format!("`{name}` is not reached any more: {words}"));
                    return Ok(());
                }
                // A server may remember earlier sessions, and take another course in later ones.
                Err(Obstacle::Elsewhere(words)) if was_reached => {
                    let words = format!("only some sessions get there, and in a later one {words}");
                    self.report.unreached(name, &words);
                    break;
                }
                Err(Obstacle::Stuck(words) | Obstacle::Elsewhere(words)) => {
                    self.report.unreached(name, &words);
                    return Ok(());
                }
            };
            session.send(self.target, &case);
            // Without the messages that follow the attack.
            let way = std::mem::take(&mut session.way);
            let judgment = session.judge(self.target, &case, wait);
            unknown += u32::from(judgment == Judgment::Unknown);
            self.note(case, name, way, judgment);
        }
        if was_reached {
            self.report.reached += 1;
        }
        Ok(())
    }

    /// The time limit of a state.
    fn within(&self, goal: Goal) -> Duration {
        let Goal::Node(index) = goal else {
            return Duration::ZERO;
        };
        let state = self.target.plan.state(&self.target.plan.nodes[index]);
        Duration::from_millis(state.within.map_or(0, |within| within.most))
    }

    /// A session in a state, and the seed with which it got there.
    fn reach(
        &self,
        goal: Goal,
        seed: u64,
    ) -> Result<Result<(Session<'c>, u64), Obstacle>, Failure> {
        let mut why = Obstacle::Elsewhere(String::new());
        for seed in (0..TRIES).map(|number| seed.wrapping_add(number)) {
            let mut session = match Session::begin(self.target)? {
                Ok(session) => session,
                Err(words) => return Ok(Err(Obstacle::Down(words))),
            };
            match session.walk(self.target, goal, seed) {
                Ok(()) => return Ok(Ok((session, seed))),
                Err(obstacle) => why = obstacle,
            }
        }
        Ok(Err(why))
    }

    /// Connections on which nothing comes. They wait at the same time.
    fn be_silent(&mut self) -> Result<(), Failure> {
        if self.is_over() || !self.arguments.is_chosen(Kind::Silence) {
            return Ok(());
        }
        let end = Instant::now() + self.target.patience;
        let mut waiting = Vec::new();
        for case in half_a_hello(&self.target.hello) {
            match Session::open(self.target)? {
                Ok(mut session) => {
                    session.send(self.target, &case);
                    waiting.push((session, case));
                }
                Err(words) => {
                    self.blame(&words);
                    return Ok(());
                }
            }
        }
        for (mut session, case) in waiting {
            // What the server has done meanwhile is read even if another connection took all the time.
            let wait = end.saturating_duration_since(Instant::now());
            let judgment = session.judge(self.target, &case, wait.max(Duration::from_secs(1)));
            self.note(case, "connecting", Vec::new(), judgment);
        }
        Ok(())
    }

    fn note(&mut self, case: Case, state: &str, way: Vec<String>, judgment: Judgment) {
        self.report.count(case.kind, judgment == Judgment::Unknown);
        if let Judgment::Wrong(observed) = judgment {
            self.report
                .findings
                .push(Finding::new(&case, state, &way, observed));
        }
        self.last = Some((case, state.to_owned(), way));
    }

    /// The server does not serve others any more: the last case is the reason.
    fn blame(&mut self, words: &str) {
        let observed = format!("then no other session works: {words}");
        match self.last.take() {
            Some((case, state, way)) => {
                self.report
                    .findings
                    .push(Finding::new(&case, &state, &way, observed));
            }
            None => self.report.is_stopped = true,
        }
    }

    /// Goes on if the server begins sessions again.
    fn wait_for_server(&mut self) -> Result<(), Failure> {
        if Session::begin(self.target)?.is_err() {
            self.report.is_stopped = true;
        }
        Ok(())
    }
}

/// Nothing, where a message must come in time.
fn late(milliseconds: u64) -> Case {
    Case {
        kind: Kind::Silence,
        name: format!("no message within {milliseconds} ms"),
        bytes: Vec::new(),
        is_slow: false,
        is_cut: false,
        message: None,
        expected: Expected::Late,
    }
}
