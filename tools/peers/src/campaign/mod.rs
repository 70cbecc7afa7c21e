//! All attacks, one after the other.

mod judge;
mod report;
mod session;
mod target;
mod victim;
mod way;

pub use report::{Finding, Report};
pub use target::{Door, Known, Target};
pub use way::Course;

use crate::attack::{
    Case, Expected, Kind, Model, after_the_end, answers, half_a_hello, half_an_answer, hellos,
};
use duologue::sizes::Sizes;
use duologue_project::terminal::Terminal;
use duologue_project::{Failure, Outcome};
use session::{Judgment, Obstacle, Session};
use std::time::{Duration, Instant};
use way::{Goal, step};

/// How often the way to a state is tried.
const TRIES: u64 = 3;

/// Which attacks are wanted, and how many.
pub struct Wanted {
    /// Their kinds; all if there are none.
    pub kinds: Vec<Kind>,
    /// After how many findings it stops.
    pub findings: u32,
    /// After how many attacks it stops.
    pub cases: u32,
    /// What random changes follow from.
    pub seed: u64,
}

impl Wanted {
    fn is_chosen(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

/// An attack on another side.
pub struct Campaign<'a, 'c> {
    /// What is wanted.
    pub wanted: Wanted,
    /// What is attacked.
    pub target: &'a Target<'c>,
    /// What was found.
    pub report: Report<'a>,
    /// The last case, its state and the way there: if the next session does not begin, it is the reason.
    pub last: Option<(Case, String, Vec<String>)>,
    /// When no further attack begins.
    pub end: Instant,
}

impl<'c> Campaign<'_, 'c> {
    /// Attacks wherever a session gets.
    pub fn run(&mut self, terminal: &Terminal) -> Outcome {
        let target = self.target;
        let largest = match Session::begin(target, true)? {
            Ok(session) => session.largest(),
            Err(words) => {
                bail_environment!("there is no session with {}: {words}", target.what());
            }
        };
        let model = Model {
            program: target.view.program,
            sizes: Sizes::of(target.view.program),
            plan: target.plan,
            own: target.own,
            largest,
            values: &target.known.values,
            seed: self.wanted.seed,
            accepts: target.listens(),
        };
        let greetings = match target.listens() {
            true => answers(&target.greeting),
            false => hellos(&target.greeting),
        };
        for case in greetings {
            if self.is_over() {
                return Ok(());
            }
            if self.wanted.is_chosen(case.kind) {
                self.at_connecting(case)?;
            }
        }
        for (index, node) in target.plan.nodes.iter().enumerate() {
            let mut cases = model.cases(node);
            let state = target.plan.state(node);
            if let Some(within) = state.within
                && node.sender == target.own
            {
                cases.push(silence(within.most, Expected::Late));
            } else if let Some(within) = state.within {
                // Before the attacks: a side that does not use its turn is not attacked further.
                cases.insert(0, silence(within.most, Expected::Answered));
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
        if step(target.plan, 0, Goal::End).is_some() && !target.listens() {
            self.in_state(Goal::End, "!", after_the_end(&target.greeting))?;
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
        self.report.is_cut |= self.report.total() >= u64::from(self.wanted.cases);
        self.report.is_late
            || self.report.is_cut
            || self.report.is_stopped
            || self.report.findings.len() >= self.wanted.findings as usize
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
            let judgment = self.judge(&mut session, &case, self.target.patience);
            let is_wrong = matches!(judgment, Judgment::Wrong(_));
            if !is_wrong || !session.pauses_if_full(deadline) {
                self.note(case, "connecting", Vec::new(), judgment);
                return Ok(());
            }
        }
    }

    /// Attacks in a state, or after the end, if a session can get there.
    fn in_state(&mut self, goal: Goal, name: &str, cases: Vec<Case>) -> Result<(), Failure> {
        let mut seed = self.wanted.seed;
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
            if !self.wanted.is_chosen(case.kind) {
                continue;
            }
            let mut wait = self.target.patience;
            if matches!(case.expected, Expected::Late | Expected::Answered) {
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
            let judgment = self.judge(&mut session, &case, wait);
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
            let mut session = match Session::begin(self.target, false)? {
                Ok(session) => session,
                Err(words) => return Ok(Err(Obstacle::Down(words))),
            };
            // If the messages of the transcript do not lead there, others may.
            let follows = seed == self.wanted.seed;
            match session.walk(self.target, goal, seed, follows) {
                Ok(()) => return Ok(Ok((session, seed))),
                Err(obstacle) => why = obstacle,
            }
        }
        Ok(Err(why))
    }

    /// Connections on which nothing comes. They wait at the same time.
    fn be_silent(&mut self) -> Result<(), Failure> {
        if self.is_over() || !self.wanted.is_chosen(Kind::Silence) {
            return Ok(());
        }
        if self.target.listens() {
            for case in half_an_answer(&self.target.greeting) {
                if !self.is_over() {
                    self.at_connecting(case)?;
                }
            }
            return Ok(());
        }
        let end = Instant::now() + self.target.patience;
        let mut waiting = Vec::new();
        for case in half_a_hello(&self.target.greeting) {
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
            let judgment = self.judge(&mut session, &case, wait.max(Duration::from_secs(1)));
            self.note(case, "connecting", Vec::new(), judgment);
        }
        Ok(())
    }

    /// What the other side does about an attack, and how its program ends.
    fn judge(&self, session: &mut Session<'c>, case: &Case, wait: Duration) -> Judgment {
        let judgment = session.judge(self.target, case, wait);
        // A side that waits for more finds the end.
        let _ = session.socket.end();
        match (session.complaint(self.target), judgment) {
            (None, judgment) => judgment,
            (Some(words), Judgment::Wrong(before)) => {
                Judgment::Wrong(format!("{before}, and {words}"))
            }
            (Some(words), Judgment::Held | Judgment::Unknown) => Judgment::Wrong(words),
        }
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
        // Nobody knows why no further client comes.
        if self.target.listens() {
            self.report.is_stopped = true;
            return;
        }
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
        if Session::begin(self.target, false)?.is_err() {
            self.report.is_stopped = true;
        }
        Ok(())
    }
}

/// Nothing, in a state in which one of the sides must send in time.
fn silence(milliseconds: u64, expected: Expected) -> Case {
    let name = match expected == Expected::Answered {
        true => format!("waiting for its message, which must come within {milliseconds} ms"),
        false => format!("no message within {milliseconds} ms"),
    };
    Case::new(Kind::Silence, name, b"", expected)
}
