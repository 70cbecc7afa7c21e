//! Sessions over NATS, in the package `tests/brokers`. Nothing else compiles the client of NATS.

#[cfg(target_os = "linux")]
use crate::support::c::Watch;
#[cfg(target_os = "linux")]
use crate::support::is_tested;
use crate::support::program::Scratch;
use crate::support::{is_named, repository, succeed};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Runs tests of the package.
fn test(arguments: &[&str]) {
    test_with(arguments, None);
}

/// Runs tests of the package with a bank of another language.
fn test_with(arguments: &[&str], bank: Option<&Path>) {
    let bank = bank.map(|program| ("DUOLOGUE_BANK", program.as_os_str().to_owned()));
    test_in(arguments, bank.as_slice());
}

/// Runs tests of the package with these variables of the environment.
fn test_in(arguments: &[&str], variables: &[(&str, OsString)]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository());
    cargo.args(["test", "--quiet", "--locked", "--package", "brokers"]);
    cargo.args(arguments);
    cargo.envs(variables.iter().map(|(name, value)| (name, value)));
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

/// A rolling upgrade at three NATS servers, with servers and clients in the three languages.
#[test]
#[cfg(target_os = "linux")]
fn a_rolling_upgrade_at_a_cluster_of_nats_servers() {
    if !is_named("nats") {
        return;
    }
    let mut desks = Vec::new();
    if is_tested("c") {
        let program = crate::c::desk_program();
        desks.push(("DUOLOGUE_DESK_C", program.into_os_string()));
    }
    if is_tested("scala") {
        let command = crate::scala::desk_command().join("\n");
        desks.push(("DUOLOGUE_DESK_SCALA", command.into()));
    }
    let arguments = [
        "--features",
        "nats",
        "--test",
        "cluster",
        "--",
        "--nocapture",
    ];
    test_in(&arguments, &desks);
}

/// What the command prints is what a server and a client need.
#[test]
fn the_permissions_that_are_printed_are_those_that_are_needed() {
    if !is_named("nats") {
        return;
    }
    let scratch = Scratch::with("permissions", &[]);
    let bank = repository().join("protocols/bank.proto");
    let mut print = scratch.duologue("nats-permissions");
    let printed = succeed(print.arg(bank)).unwrap_or_else(|failure| panic!("{failure}"));
    scratch.write("permissions.conf", printed);
    let file = scratch.path("permissions.conf").into_os_string();
    let arguments = ["--features", "nats", "--test", "permissions"];
    test_in(&arguments, &[("DUOLOGUE_PERMISSIONS", file)]);
}

/// `talk` and `attack` use and attack a bank in Rust, and one in C.
#[test]
fn the_commands_use_and_attack_servers_over_nats() {
    if !is_named("nats") {
        return;
    }
    require_nats();
    let tests = ["--features", "nats", "--test", "commands"];
    let command = ("DUOLOGUE_COMMAND", env!("CARGO_BIN_EXE_duologue").into());
    test_in(&tests, std::slice::from_ref(&command));
    #[cfg(target_os = "linux")]
    if is_tested("c") {
        let program = crate::c::nats_program(Watch::Address).into_os_string();
        test_in(&tests, &[command, ("DUOLOGUE_BANK", program)]);
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
