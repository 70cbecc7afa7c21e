//! Sessions over NATS, in the package `tests/brokers`. Nothing else compiles the client of NATS.

#[cfg(target_os = "linux")]
use crate::support::c::Watch;
#[cfg(target_os = "linux")]
use crate::support::is_tested;
use crate::support::{is_named, repository, succeed};
use std::path::Path;
use std::process::Command;

/// Runs tests of the package.
fn test(arguments: &[&str]) {
    test_with(arguments, None);
}

/// Runs tests of the package with a bank of another language.
fn test_with(arguments: &[&str], bank: Option<&Path>) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository());
    cargo.args(["test", "--quiet", "--locked", "--package", "brokers"]);
    cargo.args(arguments);
    if let Some(bank) = bank {
        cargo.env("DUOLOGUE_BANK", bank);
    }
    if std::env::var_os("DUOLOGUE_SOAK_SECONDS").is_none() && is_named("soak") {
        cargo.env("DUOLOGUE_SOAK_SECONDS", "60");
    }
    let printed = succeed(&mut cargo).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{printed}");
}

fn require_nats() {
    let found = Command::new("nats-server").arg("--version").output();
    assert!(
        found.is_ok(),
        "nats-server is missing: apt-get install nats-server"
    );
}

#[test]
fn sessions_over_nats() {
    if !is_named("nats") {
        return;
    }
    require_nats();
    test(&["--features", "nats", "--test", "nats", "--test", "soak"]);
}

/// The same bank in C: its customers are in Rust and in C, and those in C also use the bank in Rust.
#[test]
#[cfg(target_os = "linux")]
fn sessions_over_nats_in_c() {
    if !is_named("nats") || !is_tested("c") {
        return;
    }
    for watch in [Watch::Address, Watch::Thread] {
        let program = crate::c::nats_program(watch);
        let tests = ["--features", "nats", "--test", "nats", "--test", "soak"];
        test_with(&tests, Some(&program));
    }
}

/// Faults at random, for as many seconds as `DUOLOGUE_SOAK_SECONDS` says, or 60: those that a broker in memory can have, and those of
/// a NATS server and the connections to it.
#[test]
fn sessions_over_brokers_with_faults_for_a_long_time() {
    if is_named("soak") {
        require_nats();
        test(&["--test", "memory", "--", "--nocapture", "soak"]);
        let tests = ["--features", "nats", "--test", "soak", "--", "--nocapture"];
        let program = cfg!(target_os = "linux").then(|| crate::c::nats_program(Watch::Address));
        test_with(&tests, program.as_deref());
    }
}
