//! Sessions over TLS: what is wrong with certificates and peers, and connections that break.

#![cfg(target_os = "linux")]

use super::processes::Case;
use crate::support::c::{Watch, tls_objects};
use crate::support::repository;

/// Runs a program of `tests/remote` with certificates, and under checkers.
fn run(test: &str, proto: &str, program: &str) {
    run_watched(
        test,
        proto,
        program,
        &[Watch::Plain, Watch::Address, Watch::Thread],
    );
}

/// The same, under these checkers only. A checker takes time, so with one a connection breaks in fewer places.
fn run_watched(test: &str, proto: &str, program: &str, watches: &[Watch]) {
    let mut case = Case::new(test, proto, &format!("../remote/{program}"));
    case.includes.push(repository().join("tests/remote"));
    let certificates = case.generated.join("certificates");
    crate::rust::write_certificates(&certificates);
    let certificates = format!("-DCERTIFICATES=\"{}\"", certificates.display());
    let folder = format!("-DFOLDER=\"{}\"", case.generated.display());
    for &watch in watches {
        let step = match watch {
            Watch::Plain => "-DSTEP=1",
            Watch::Address | Watch::Thread | Watch::Valgrind => "-DSTEP=7",
        };
        case.objects = tls_objects(watch, &case.generated);
        case.run_watched_as(watch, &[&certificates, &folder, step], &[]);
    }
}

#[test]
#[ignore = "slow: TLS in C"]
fn what_is_wrong_is_reported_by_both_sides() {
    run("tls", "protocols/bank.proto", "tls.c");
}

#[test]
#[ignore = "slow: TLS in C"]
fn both_sides_find_why_a_session_ended() {
    let watches = [Watch::Plain, Watch::Address];
    run_watched(
        "tls-reasons",
        "tests/remote/reasons.proto",
        "reasons.c",
        &watches,
    );
}

#[test]
#[ignore = "slow: TLS in C"]
fn connections_that_break_are_lost() {
    run("tls-cuts", "tests/processes/talk.proto", "tls_cuts.c");
}

#[test]
#[ignore = "slow: TLS in C"]
fn peers_do_not_hold_up_others() {
    run("tls-peers", "protocols/bank.proto", "tls_peers.c");
}

/// Checkers have a `free` of their own.
#[test]
#[ignore = "slow: TLS in C"]
fn keys_are_cleared_before_they_are_freed() {
    run_watched(
        "tls-key",
        "protocols/bank.proto",
        "tls_key.c",
        &[Watch::Plain],
    );
}
