//! Sessions over NATS: the module `runtime/scala/nats`, and its sessions with programs in Rust.

use super::net;
use crate::support::scala::{Scala, folder, maven, sources_in, tool};
use crate::support::{repository, succeed};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

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

/// The module, its tests and everything that they need, compiled once for each version.
fn class_path(scala: Scala) -> String {
    static BUILT: [OnceLock<Result<String, String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let build = || {
        let module = repository().join("runtime/scala/nats/src");
        let mut path = net::class_path(scala);
        write!(path, ":{}", maven::class_path(POM, scala)).expect("memory can be written");
        let out = folder("nats").join(scala.name());
        let mut sources = sources_in(&module);
        sources.push(repository().join("tests/brokers/Desk.scala"));
        scala.compile_with(&path, &sources, &out)?;
        // The file that names the module's connector is in the resources.
        let resources = module.join("main/resources");
        Ok(format!("{}:{}:{path}", out.display(), resources.display()))
    };
    let built = BUILT[scala as usize].get_or_init(build);
    built.clone().unwrap_or_else(|failure| panic!("{failure}"))
}

/// The program `desk` of `tests/brokers`.
pub fn desk() -> Vec<String> {
    let path = class_path(Scala::Three);
    let java = tool("java").get_program().to_string_lossy().into_owned();
    let options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"];
    let arguments = options.map(str::to_owned).into_iter();
    std::iter::once(java)
        .chain(arguments)
        .chain([path, "brokers.Desk".to_owned()])
        .collect()
}

fn keeps_its_contract(scala: Scala) {
    let found = Command::new("nats-server").arg("--version").output();
    assert!(
        found.is_ok(),
        "nats-server is missing: apt-get install nats-server"
    );
    let path = class_path(scala);
    let mut java = tool("java");
    java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
    java.arg(format!("-Dduologue.programs={}", programs().display()));
    java.args(["-cp", &path]);
    java.args(["org.junit.runner.JUnitCore", "duologue.nats.NatsSuite"]);
    succeed(&mut java).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
#[ignore = "with nats-server"]
fn sessions_over_nats_in_scala_3() {
    keeps_its_contract(Scala::Three);
}

#[test]
#[ignore = "with nats-server"]
fn sessions_over_nats_in_scala_2() {
    keeps_its_contract(Scala::Two);
}

/// The module has no other way to know its version.
#[test]
fn the_version_that_is_discovered_is_that_of_the_runtime() {
    let file = "runtime/scala/net/src/main/scala/duologue/net/Discovery.scala";
    let text = std::fs::read_to_string(repository().join(file)).expect("it is there");
    let version = format!("val Version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "{file} has another version");
}
