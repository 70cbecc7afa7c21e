//! Peers that are silent without closing their connection, with heartbeats: a network that loses everything in one direction, and a
//! process that is stopped. The other side notices it only by the time.

use super::programs::Language;
use super::proxy::{Fault, Proxy};
use super::{ANSWER, HELLO, ROUND, Sockets, check_lost, unix};
use crate::support::running::{Running, converse};
use std::process::Command;
use std::thread;

/// The program, with a heartbeat of one second: after three seconds without a byte, the other side is lost.
fn command(language: Language) -> Command {
    let mut command = language.command();
    command.env("DUOLOGUE_HEARTBEAT", "1");
    command
}

/// Runs this for each pair of languages at the same time: most of it is waiting.
fn for_each_pair(run: impl Fn(Language, Language) + Copy + Send) {
    thread::scope(|scope| {
        for (client, server) in ROUND {
            scope.spawn(move || run(client, server));
        }
    });
}

#[test]
fn a_direction_that_stops_is_reported_as_lost_by_both_sides() {
    for_each_pair(|client, server| {
        // Within the first message of each side, or after it.
        for fault in [
            Fault::StopFromClient(HELLO + 5),
            Fault::StopFromServer(ANSWER + 1),
        ] {
            let sockets = Sockets::new();
            let (own, far) = (sockets.path("c"), sockets.path("s"));
            let proxy = Proxy::between(&own, &far, fault);
            let [asks, answers] = [command(client), command(server)];
            let outcomes = converse(asks, answers, "bank", &unix(&far), Some(&unix(&own)));
            proxy.traffic();
            for (role, outcome) in ["client", "server"].into_iter().zip(outcomes) {
                let run = format!("{client:?} client, {server:?} server, {fault:?}: the {role}");
                check_lost(role, &outcome, &run);
            }
        }
    });
}

#[test]
fn a_process_that_is_stopped_is_reported_as_lost() {
    for_each_pair(|client, server| {
        for is_client_stopped in [true, false] {
            let sockets = Sockets::new();
            let (own, far) = (sockets.path("c"), sockets.path("s"));
            // Within the first message: both sides have begun the session, and it cannot go on yet.
            let proxy = Proxy::between(&own, &far, Fault::HoldFromClient(HELLO + 5));
            let mut answers = Running::start(command(server).args(["server", "bank", &unix(&far)]));
            answers.line();
            let asks = Running::start(command(client).args(["client", "bank", &unix(&own)]));
            proxy.held();
            let (stopped, role, other) = match is_client_stopped {
                true => (asks, "server", answers),
                false => (answers, "client", asks),
            };
            stopped.pause();
            proxy.release();
            let run = format!("{client:?} client, {server:?} server: the {role}");
            check_lost(role, &other.end(), &run);
            // This kills it.
            drop(stopped);
            proxy.traffic();
        }
    });
}
