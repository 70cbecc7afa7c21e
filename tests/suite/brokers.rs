//! Sessions over NATS, in the package `tests/brokers`. Nothing else compiles the client of NATS.

use crate::support::{is_named, repository, succeed};
use std::process::Command;

/// Runs tests of the package.
fn test(arguments: &[&str]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository());
    cargo.args(["test", "--quiet", "--locked", "--package", "brokers"]);
    cargo.args(arguments);
    if std::env::var_os("DUOLOGUE_SOAK_SECONDS").is_none() && is_named("soak") {
        cargo.env("DUOLOGUE_SOAK_SECONDS", "60");
    }
    let printed = succeed(&mut cargo).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{printed}");
}

#[test]
fn sessions_over_nats() {
    if !is_named("nats") {
        return;
    }
    let found = Command::new("nats-server").arg("--version").output();
    assert!(
        found.is_ok(),
        "nats-server is missing: apt-get install nats-server"
    );
    test(&["--features", "nats", "--test", "nats"]);
}

/// Faults at random, for as many seconds as `DUOLOGUE_SOAK_SECONDS` says, or 60.
#[test]
fn sessions_over_a_broker_with_faults_for_a_long_time() {
    if is_named("soak") {
        test(&["--test", "memory", "--", "--nocapture", "soak"]);
    }
}
