//! Sessions over TLS: what is wrong with certificates and peers, and connections that break.

#![cfg(target_os = "linux")]

use super::driver::{ADDRESS, Build, Driver, THREAD, cases};
use crate::support::c::{Watch, tls_objects};

/// Checkers have a `free` of their own.
const PLAIN: Build = Build::new(Watch::Plain, &[]);
const SANITIZED: &[Build] = &[ADDRESS, THREAD];

/// The tests of sessions over TLS.
static TLS: Driver = Driver {
    name: "tls",
    folder: "tests/remote",
    includes: &["tests/processes"],
    protos: &[
        "tests/processes/talk.proto",
        "tests/remote/reasons.proto",
        "protocols/bank.proto",
    ],
    prepare: |build, folder| {
        crate::rust::write_certificates(&folder.with_file_name("tls-certificates"));
        tls_objects(build.watch, folder)
    },
    cases: CASES,
};

cases! { TLS:
    ; whole:
    #[ignore = "with OpenSSL"]
    tls in SANITIZED;
    #[ignore = "with OpenSSL"]
    tls_cuts in &[PLAIN, ADDRESS, THREAD];
    #[ignore = "with OpenSSL"]
    tls_peers in SANITIZED;
    #[ignore = "with OpenSSL"]
    reasons in &[Build::new(Watch::Address, &["-DOVER_TLS"])];
    #[ignore = "with OpenSSL"]
    tls_key in &[PLAIN];
}
