//! Sessions over TLS, where `DUOLOGUE_TEST_WITH` names `tls`: what is wrong with certificates and peers, and connections that break.

#![cfg(target_os = "linux")]

use super::processes::Case;
use crate::support::c::{Watch, tls_objects};
use crate::support::{is_named, is_tested, repository};

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
    for &watch in watches {
        let step = match watch {
            Watch::Plain => "-DSTEP=1",
            Watch::Address | Watch::Thread | Watch::Valgrind => "-DSTEP=7",
        };
        case.objects = tls_objects(watch, &case.generated);
        case.run_watched_as(watch, &[&certificates, step], &[]);
    }
}

fn is_run() -> bool {
    is_tested("c") && is_named("tls")
}

#[test]
fn what_is_wrong_is_reported_by_both_sides() {
    if is_run() {
        run("tls", "protocols/bank.proto", "tls.c");
    }
}

#[test]
fn connections_that_break_are_lost() {
    if is_run() {
        run("tls-cuts", "tests/processes/talk.proto", "tls_cuts.c");
    }
}

#[test]
fn peers_do_not_hold_up_others() {
    if is_run() {
        run("tls-peers", "protocols/bank.proto", "tls_peers.c");
    }
}

/// Checkers have a `free` of their own.
#[test]
fn keys_are_cleared_before_they_are_freed() {
    if is_run() {
        run_watched(
            "tls-key",
            "protocols/bank.proto",
            "tls_key.c",
            &[Watch::Plain],
        );
    }
}
