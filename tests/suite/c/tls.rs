//! Sessions over TLS, where `DUOLOGUE_TEST_WITH` names `tls`: what is wrong with certificates and peers, and connections that break.

#![cfg(target_os = "linux")]

use super::processes::Case;
use crate::support::c::{Watch, tls_objects};
use crate::support::{is_named, is_tested, repository};

/// Runs a program of `tests/remote` with certificates, under each of these checkers.
fn run(test: &str, proto: &str, program: &str, watches: &[Watch]) {
    let mut case = Case::new(test, proto, &format!("../remote/{program}"));
    case.includes.push(repository().join("tests/remote"));
    let certificates = case.generated.join("certificates");
    crate::rust::write_certificates(&certificates);
    let certificates = format!("-DCERTIFICATES=\"{}\"", certificates.display());
    for &watch in watches {
        case.objects = tls_objects(watch, &case.generated);
        case.run_watched_as(watch, &[&certificates], &[]);
    }
}

fn is_run() -> bool {
    is_tested("c") && is_named("tls")
}

#[test]
fn what_is_wrong_is_reported_by_both_sides() {
    if is_run() {
        let watches = [Watch::Plain, Watch::Address];
        run("tls", "protocols/bank.proto", "tls.c", &watches);
    }
}
