//! A process that is killed in the middle of a session: each side of the bank, in each state, in each language. The other side gets
//! what arrived before, once, and then `lost`; nothing hangs.
//!
//! One side is held after a line of its transcript, so that it is its turn, and the other one waits or is about to. Then one of the
//! two is killed with `SIGKILL`, and the other one goes on.

use super::programs::Language;
use super::{Sockets, expected, unix};
use crate::support::running::Running;
use crate::support::{is_tested, repository};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// How long the victim has to send what it sends before it waits. If it was killed too early, that is repeated with twice the time.
const SOON: Duration = Duration::from_millis(50);
const TRIES: u32 = 8;

const ROLES: [&str; 2] = ["client", "server"];

/// Who receives each message of the bank, in the order of the session.
fn receivers() -> &'static [String] {
    static ALL: OnceLock<Vec<String>> = OnceLock::new();
    ALL.get_or_init(|| {
        let path = repository().join("tests/run/bank/expected.txt");
        let text = std::fs::read_to_string(path).expect("the bank has a transcript");
        let words = text.lines().filter_map(|line| line.split(' ').next());
        words.map(str::to_owned).collect()
    })
}

/// A point of the session: `holder` has received `lines` messages and done nothing since.
#[derive(Clone, Copy, Debug)]
struct Point {
    holder: &'static str,
    lines: usize,
}

impl Point {
    /// All of them. After the last message of the protocol nothing can be lost.
    fn all() -> Vec<Point> {
        let mut points = Vec::new();
        for holder in ROLES {
            let lines = expected("bank", holder).len();
            let is_last = receivers().last().is_some_and(|last| last == holder);
            let lines = 0..lines + usize::from(!is_last);
            points.extend(lines.map(|lines| Point { holder, lines }));
        }
        points
    }

    /// The messages of the session until then.
    fn before(self) -> usize {
        let own = receivers().iter().enumerate();
        let mut own = own.filter(|(_, receiver)| *receiver == self.holder);
        match self.lines.checked_sub(1) {
            None => 0,
            Some(last) => 1 + own.nth(last).expect("it receives that many").0,
        }
    }

    /// How many lines the side that is not held has by then.
    fn lines_of_other(self) -> usize {
        self.before() - self.lines
    }

    /// How many lines the held side may have when the other one has sent everything that it sends before it waits.
    fn most_lines(self) -> usize {
        let next = &receivers()[self.before()..];
        let more = next.iter().take_while(|receiver| *receiver == self.holder);
        self.lines + more.count()
    }
}

/// Kills `victim` after this point and time. Returns how many messages the other side has received; it has checked everything else.
fn kill(languages: (Language, Language), point: Point, victim: &str, after: Duration) -> usize {
    let (client, server) = languages;
    let run = format!("{client:?} client, {server:?} server, {point:?}, the {victim} is killed");
    let sockets = Sockets::new();
    // Both kinds of connections.
    let address = match point.holder {
        "client" => unix(&sockets.path("s")),
        _ => "tcp://127.0.0.1:0".to_owned(),
    };
    // Both are built before one of them runs.
    let (mut client, mut server) = (client.command(), server.command());
    let held = if point.holder == "client" {
        &mut client
    } else {
        &mut server
    };
    held.env("DUOLOGUE_HOLD", point.lines.to_string());
    let mut server = Running::start_talking(server.args(["server", "bank", &address]));
    let listening = server.line();
    let heard = listening.strip_prefix("listening ");
    let heard = heard.unwrap_or_else(|| panic!("{run}: {listening}"));
    let client = Running::start_talking(client.args(["client", "bank", heard]));
    let (mut holder, other) = match point.holder {
        "client" => (client, server),
        _ => (server, client),
    };
    // Some languages write their lines at once, others at the end.
    let mut received = Vec::new();
    loop {
        match &holder.line()[..] {
            "held" => break,
            "" => panic!("{run}: it ended with {:?}", holder.end()),
            line => received.push(line.to_owned()),
        }
    }
    thread::sleep(after);
    let (survivor, outcome) = if victim == point.holder {
        holder.kill();
        received.clear();
        let survivor = if victim == "client" {
            "server"
        } else {
            "client"
        };
        (survivor, other.end())
    } else {
        other.kill();
        holder.say("go on");
        (point.holder, holder.end())
    };
    received.extend(outcome.lines.iter().cloned());
    let run = format!("{run}: {outcome:?}");
    let all = expected("bank", survivor);
    let why = received.pop_if(|last| last.starts_with("why "));
    assert!(all.starts_with(&received), "{run}");
    // The last message may have been written before the connection was closed.
    let is_over = outcome.code == Some(0) && why.is_none() && received == all;
    let is_lost = outcome.code == Some(3) && why.as_deref() == Some("why lost");
    assert!(is_lost || is_over && survivor == point.holder, "{run}");
    let (least, most) = match survivor == point.holder {
        true => (point.lines, point.most_lines()),
        false => (point.lines_of_other(), point.lines_of_other()),
    };
    assert!((least..=most).contains(&received.len()), "{run}");
    received.len()
}

fn check(client: Language, server: Language) {
    if !is_tested(client.name()) || !is_tested(server.name()) {
        return;
    }
    let languages = (client, server);
    let points = Point::all();
    assert!(points.len() > 10, "{points:?}");
    // The Java virtual machine takes long to start, and other pairs have the other points.
    let step = match [client, server].contains(&Language::Scala) {
        true => 3,
        false => 1,
    };
    for point in points.into_iter().step_by(step) {
        kill(languages, point, point.holder, Duration::ZERO);
        let victim = ROLES.into_iter().find(|role| *role != point.holder);
        let victim = victim.expect("there are two sides");
        // What the victim had sent is received, if it was killed late enough.
        let sends = point.most_lines() > point.lines;
        let after = |tries| {
            if sends {
                SOON * (1_u32 << tries)
            } else {
                Duration::ZERO
            }
        };
        let kill = |tries| kill(languages, point, victim, after(tries));
        let is_complete = (0..TRIES).any(|tries| kill(tries) == point.most_lines());
        assert!(
            is_complete,
            "{client:?} client, {server:?} server, {point:?}"
        );
    }
}

#[test]
fn a_killed_peer_of_rust_and_c_is_lost() {
    check(Language::Rust, Language::C);
}

#[test]
fn a_killed_peer_of_c_and_scala_is_lost() {
    check(Language::C, Language::Scala);
}

#[test]
fn a_killed_peer_of_scala_and_rust_is_lost() {
    check(Language::Scala, Language::Rust);
}
