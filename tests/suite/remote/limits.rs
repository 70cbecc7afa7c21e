//! Clients without limits, whose messages servers with limits refuse: each language with each other.

use super::programs::Language;
use super::{Sockets, unix};
use crate::support::is_tested;
use crate::support::running::converse;

/// What both sides report. The first message is at its limits, the others are beyond one.
const REPORTED: [&str; 8] = [
    "fits ok",
    "field broken",
    "items broken",
    "item broken",
    "message broken",
    "entry broken",
    "inner broken",
    "protocol broken",
];

const LANGUAGES: [Language; 3] = [Language::Rust, Language::C, Language::Scala];

fn check(server: Language) {
    if !is_tested(server.name()) {
        return;
    }
    for client in LANGUAGES {
        if !is_tested(client.name()) {
            continue;
        }
        let sockets = Sockets::new();
        let address = unix(&sockets.path("s"));
        let [asks, answers] = [client.limits("client"), server.limits("server")];
        let outcomes = converse(asks, answers, "limits", &address, None);
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
