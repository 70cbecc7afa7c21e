//! A process that is killed in the middle of a session: each side of the bank, in each state, in each language. The other side gets
//! what arrived before, once, and then `lost`; nothing hangs.
//!
//! One side is held after a line of its transcript, so that it is its turn, and the other one waits or is about to. Then one of the
//! two is killed with `SIGKILL`, and the other one goes on.

use super::programs::{Language, Player};
use super::{Sockets, expected, unix};
use crate::support::repository;
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

/// The programs of a pair of languages. The one that is killed is started again when it is needed: the Java virtual machine takes
/// long to start.
struct Programs {
    languages: (Language, Language),
    client: Option<Player>,
    server: Option<Player>,
}

impl Programs {
    fn take(&mut self) -> (Player, Player) {
        let (client, server) = self.languages;
        let start = |language| Player::start(language, None);
        (
            self.client.take().unwrap_or_else(|| start(client)),
            self.server.take().unwrap_or_else(|| start(server)),
        )
    }
}

/// Kills `victim` after this point and time. Returns how many messages the other side has received; it has checked everything else.
fn kill(programs: &mut Programs, point: Point, victim: &str, after: Duration) -> usize {
    let (client, server) = programs.languages;
    let run = format!("{client:?} client, {server:?} server, {point:?}, the {victim} is killed");
    let sockets = Sockets::new();
    // Both kinds of connections.
    let address = match point.holder {
        "client" => unix(&sockets.path("s")),
        _ => "tcp://127.0.0.1:0".to_owned(),
    };
    let (mut client, mut server) = programs.take();
    let held = format!("hold={}", point.lines);
    let of = |role| {
        if role == point.holder {
            held.as_str()
        } else {
            ""
        }
    };
    server.begin("server", "bank", &address, of("server"));
    let heard = server.address();
    client.begin("client", "bank", &heard, of("client"));
    // Some languages write their lines at once, others at the end.
    let mut received = match point.holder {
        "client" => client.held(),
        _ => server.held(),
    };
    thread::sleep(after);
    if victim == point.holder {
        received.clear();
    }
    let (survivor, mut player) = match victim {
        "client" => {
            client.kill();
            ("server", server)
        }
        _ => {
            server.kill();
            ("client", client)
        }
    };
    if survivor == point.holder {
        player.release();
    }
    let outcome = player.outcome();
    match survivor {
        "client" => programs.client = Some(player),
        _ => programs.server = Some(player),
    }
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

/// Checks every `step`th point, beginning with the one of this number.
fn check(client: Language, server: Language, first: usize, step: usize) {
    let mut programs = Programs {
        languages: (client, server),
        client: None,
        server: None,
    };
    let points = Point::all();
    assert!(points.len() > 10, "{points:?}");
    for point in points.into_iter().skip(first).step_by(step) {
        kill(&mut programs, point, point.holder, Duration::ZERO);
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
        let mut kill = |tries| kill(&mut programs, point, victim, after(tries));
        let is_complete = (0..TRIES).any(|tries| kill(tries) == point.most_lines());
        assert!(
            is_complete,
            "{client:?} client, {server:?} server, {point:?}"
        );
    }
}

#[test]
fn a_killed_peer_of_rust_and_c_is_lost() {
    check(Language::Rust, Language::C, 0, 1);
    check(Language::C, Language::Rust, 0, 1);
    check(Language::Rust, Language::Rust, 0, 1);
    check(Language::C, Language::C, 0, 1);
}

/// A virtual machine is started for each side in Scala that is killed, so each pair has a third of the points. Together they have all,
/// with Scala on either side.
#[test]
fn a_killed_peer_of_a_client_or_server_in_scala_is_lost() {
    for (first, other) in [Language::Rust, Language::C].into_iter().enumerate() {
        check(Language::Scala, other, first, 3);
        check(other, Language::Scala, first, 3);
    }
    check(Language::Scala, Language::Scala, 2, 3);
}
