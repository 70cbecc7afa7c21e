//! Clients without limits, whose messages servers with limits refuse, and which are late for a server with a time limit: each language
//! with each other.

use super::programs::Language;
use super::{Sockets, unix};
use crate::support::running::Running;

/// What both sides report. The first message is at its limits, the others are beyond one, and the last one is late.
const REPORTED: [&str; 9] = [
    "fits ok",
    "field broken",
    "items broken",
    "item broken",
    "message broken",
    "entry broken",
    "inner broken",
    "protocol broken",
    "late late",
];

const LANGUAGES: [Language; 3] = [Language::Rust, Language::C, Language::Scala];

fn check(server: Language) {
    for client in LANGUAGES {
        let sockets = Sockets::new();
        let address = unix(&sockets.path("s"));
        let [mut asks, mut answers] = [client.limits("client"), server.limits("server")];
        let mut answers = Running::start_talking(answers.args(["server", "limits", &address]));
        assert_eq!(answers.line(), format!("listening {address}"));
        let mut asks = Running::start_talking(asks.args(["client", "limits", &address]));
        // When the server has reported that the client is late, the client sends.
        let answers = answers.end();
        asks.say("go on");
        let outcomes = [asks.end(), answers];
        for (role, outcome) in ["client", "server"].into_iter().zip(outcomes) {
            let run = format!("{client:?} client, {server:?} server: the {role} {outcome:?}");
            assert_eq!(outcome.code, Some(0), "{run}");
            assert_eq!(outcome.lines, REPORTED, "{run}");
        }
    }
}

#[test]
fn rust_refuses_what_is_beyond_its_limits() {
    check(Language::Rust);
}

#[test]
fn c_refuses_what_is_beyond_its_limits() {
    check(Language::C);
}

#[test]
fn scala_refuses_what_is_beyond_its_limits() {
    check(Language::Scala);
}
