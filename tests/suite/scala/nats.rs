//! Sessions over NATS: the module `runtime/scala/nats`, and its sessions with programs in Rust.

use super::net;
use crate::support::scala::{Scala, folder, maven, sources_in, tool};
use crate::support::{is_named, repository, succeed};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

const POM: &str = "runtime/scala/nats/pom.xml";

/// The folder of the programs of `tests/brokers`.
fn programs() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository());
    cargo.args([
        "build",
        "--quiet",
        "--locked",
        "--package",
        "brokers",
        "--features",
        "nats",
    ]);
    cargo.args(["--bins", "--message-format", "json"]);
    let printed = succeed(&mut cargo).unwrap_or_else(|failure| panic!("{failure}"));
    let mut files = printed.lines().filter_map(|line| {
        let (_, rest) = line.split_once("\"executable\":\"")?;
        rest.split('"').next().map(PathBuf::from)
    });
    let file = files.next().expect("cargo names the programs");
    file.parent().expect("it is in a folder").to_owned()
}

fn keeps_its_contract(scala: Scala) {
    let found = Command::new("nats-server").arg("--version").output();
    assert!(
        found.is_ok(),
        "nats-server is missing: apt-get install nats-server"
    );
    let module = repository().join("runtime/scala/nats/src");
    let mut path = net::class_path(scala);
    write!(path, ":{}", maven::class_path(POM, scala)).expect("memory can be written");
    let out = folder("nats").join(scala.name());
    let compiled = scala.compile_with(&path, &sources_in(&module), &out);
    compiled.unwrap_or_else(|failure| panic!("{failure}"));
    let mut java = tool("java");
    java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
    java.arg(format!("-Dduologue.programs={}", programs().display()));
    // The file that names the module's connector is in the resources.
    let resources = module.join("main/resources");
    java.args([
        "-cp",
        &format!("{}:{}:{path}", out.display(), resources.display()),
    ]);
    java.args(["org.junit.runner.JUnitCore", "duologue.nats.NatsSuite"]);
    succeed(&mut java).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn sessions_over_nats_in_scala_3() {
    if is_named("nats") {
        keeps_its_contract(Scala::Three);
    }
}

#[test]
fn sessions_over_nats_in_scala_2() {
    if is_named("nats") {
        keeps_its_contract(Scala::Two);
    }
}
