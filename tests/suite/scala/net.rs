//! Sessions over sockets: the suites of `runtime/scala/net`, and the conversations of `tests/run` between two processes.

use super::{
    Needs, compile_java, documented, documented_in_java, folders_in, package_of, protocol_of, read,
};
use crate::support::running::converse;
use crate::support::scala::{Scala, folder, generate_with, maven, protocols_in, sources_in, tool};
use crate::support::{repository, succeed};
use duologue::check::CheckedProgram;
use duologue::protocol::{InstanceId, Program, ProtocolId};
use duologue::relation::View;
use duologue::target::Options;
use duologue::wire::Plan;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const POM: &str = "runtime/scala/net/pom.xml";

/// The suites of the module. Each must exist: JUnit fails on a name that it does not find.
const SUITES: [&str; 15] = [
    "duologue.net.WireSuite",
    "duologue.net.StreamsSuite",
    "duologue.net.NetworkSuite",
    "duologue.net.LimitsSuite",
    "duologue.net.WithinSuite",
    "duologue.net.ObserverSuite",
    "duologue.net.TlsSuite",
    "duologue.net.HostileSuite",
    "duologue.net.AdmitSuite",
    "duologue.net.HealthSuite",
    "duologue.net.DrainSuite",
    "duologue.net.SendingSuite",
    "duologue.net.AllocationSuite",
    "duologue.net.ByteStreamSuite",
    "duologue.net.FuzzSuite",
];

/// The cases whose protocol can leave the process, and the sources of all of it.
struct Sources {
    cases: Vec<String>,
    files: Vec<PathBuf>,
}

fn sources() -> &'static Sources {
    static WRITTEN: OnceLock<Sources> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let root = repository();
        let mut options = Options::default();
        options.remote = true;
        let generated = folder("net").join("protocols");
        let checked = generate_with(&protocols_in(&root.join("protocols")), &options, &generated);
        let payloads = folder("net").join("payloads");
        generate_with(
            &["payloads", "versions"].map(|name| root.join(format!("tests/wire/{name}.proto"))),
            &options,
            &payloads,
        );
        let limits = folder("net").join("limits");
        let pair = protocols_in(&root.join("tests/conversations/limits"));
        generate_with(&pair, &options, &limits);
        let support = root.join("tests/suite/support/scala");
        let mut files = sources_in(&root.join("runtime/scala/net/src"));
        files.extend(sources_in(&generated));
        files.extend(sources_in(&payloads));
        files.extend(sources_in(&limits));
        files.extend(sources_in(&root.join("tests/run")));
        files.extend(["Transcript.scala", "Remote.scala"].map(|file| support.join(file)));
        let cases: Vec<String> = folders_in(&root.join("tests/run"))
            .into_iter()
            .filter(|case| leaves(&checked, case))
            .collect();
        let main = folder("net").join("RemoteMain.scala");
        fs::write(&main, main_program(&checked, &cases)).expect("the target folder can be written");
        files.push(main);
        for (name, text) in documented(Needs::Net) {
            let path = folder("net").join(format!("{name}.scala"));
            fs::write(&path, text).expect("the target folder can be written");
            files.push(path);
        }
        Sources { cases, files }
    })
}

/// Whether the protocol of a case can leave the process.
fn leaves(checked: &CheckedProgram, case: &str) -> bool {
    let page = read(&repository().join("tests/run").join(case).join("README.md"));
    let plan = Plan::of(view(checked.program(), protocol_of(&page)));
    plan.is_ok_and(|plan| plan.fingerprint.is_some() && plan.first.is_some())
}

fn view<'a>(program: &'a Program, name: &str) -> View<'a> {
    let protocols = (0..program.protocols.len()).map(ProtocolId::new);
    let mut protocols = protocols.filter(|id| program.protocol(*id).name.text() == name);
    if let Some(id) = protocols.next() {
        return View::of(program, id);
    }
    let instances = (0..program.instances.len()).map(InstanceId::new);
    let mut instances = instances.filter(|id| program.instance(*id).name.text() == name);
    let id = instances
        .next()
        .unwrap_or_else(|| panic!("no protocol {name}"));
    View::instance(program, program.instance(id))
}

fn main_program(checked: &CheckedProgram, cases: &[String]) -> String {
    let mut text = String::from(
        "package cases\n\nobject RemoteMain {\n  def main(arguments: Array[String]): Unit = Remote.main(arguments)(run)\n\n  \
         private def run(name: String, arguments: Remote.Arguments): Int =\n    name match {\n",
    );
    for case in cases {
        let page = read(&repository().join("tests/run").join(case).join("README.md"));
        let name = protocol_of(&page);
        let protocol = format!("_root_.{}.{name}", package_of(checked, name));
        writeln!(
            text,
            "      case \"{case}\" =>\n        Remote.play(arguments)({protocol}.client)({case}.Client.run(_, _))({protocol}.server)(\n          \
             {case}.Server.run(_, _)\n        )"
        )
        .expect("writing into memory does not fail");
    }
    text + "      case other => Remote.unknown(other)\n    }\n}\n"
}

/// The module, its tests and the programs, compiled once for each version.
fn built(scala: Scala) -> PathBuf {
    static BUILT: [OnceLock<Result<(), String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let out = folder("net").join(scala.name());
    let build = || scala.compile_with(&libraries(scala), &sources().files, &out);
    let built = BUILT[scala as usize].get_or_init(build);
    built.clone().unwrap_or_else(|failure| panic!("{failure}"));
    out
}

fn libraries(scala: Scala) -> String {
    let libraries = maven::class_path(POM, scala);
    format!("{}:{libraries}", scala.runtime().display())
}

fn java(scala: Scala) -> Command {
    let path = class_path(scala);
    let mut java = tool("java");
    java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", &path]);
    java
}

/// The module, its tests and everything that they need.
pub fn class_path(scala: Scala) -> String {
    format!("{}:{}", built(scala).display(), libraries(scala))
}

/// Compiles a program that uses the module, and returns the command that runs its main class.
pub fn program(sources: &[PathBuf], out: &Path, main: &str) -> Command {
    build(sources, out);
    run(out, main)
}

/// Compiles a program that uses the module.
pub fn build(sources: &[PathBuf], out: &Path) {
    let scala = Scala::Three;
    let path = class_path(scala);
    fs::create_dir_all(out).expect("the target folder can be written");
    scala
        .compile_with(&path, sources, out)
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// The command that runs a main class of such a program.
pub fn run(out: &Path, main: &str) -> Command {
    run_in(tool("java"), out, main)
}

/// The same in a Java of the caller's choice.
pub fn run_in(mut java: Command, out: &Path, main: &str) -> Command {
    let scala = Scala::Three;
    let path = class_path(scala);
    java.args(["-cp", &format!("{}:{path}", out.display()), main]);
    java
}

/// The programs of the conversations.
pub fn remote_program(scala: Scala) -> Command {
    let mut java = java(scala);
    java.arg("cases.RemoteMain");
    java
}

/// `suites` with these properties.
fn keeps_its_contract(scala: Scala, properties: &[&str], suites: &[&str]) {
    let path = class_path(scala);
    let mut java = tool("java");
    java.args(["-XX:+UseSerialGC", "-cp", &path]);
    java.arg(format!("-Dduologue.repository={}", repository().display()));
    java.args(properties);
    java.arg("org.junit.runner.JUnitCore").args(suites);
    succeed(&mut java).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn sessions_over_sockets_in_scala_3() {
    keeps_its_contract(Scala::Three, &[], &SUITES);
}

#[test]
fn sessions_over_sockets_in_scala_2() {
    keeps_its_contract(Scala::Two, &[], &SUITES);
}

/// This many mebibytes go into a reader that sleeps.
#[test]
#[ignore = "nightly: load"]
fn much_memory_goes_into_a_reader_that_sleeps() {
    let suites = ["duologue.net.HostileSuite"];
    keeps_its_contract(Scala::Three, &["-Dduologue.sent=1024"], &suites);
}

/// A folder with certificates and keys of a server and a client, in PEM format.
fn certificates(scala: Scala) -> PathBuf {
    static WRITTEN: OnceLock<PathBuf> = OnceLock::new();
    let write = || {
        let out = folder("net").join("certificates");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir_all(&out).expect("the target folder can be written");
        let mut program = java(scala);
        program.arg("duologue.net.Certificates").arg(&out);
        succeed(&mut program).unwrap_or_else(|failure| panic!("{failure}"));
        out
    };
    WRITTEN.get_or_init(write).clone()
}

/// The lines of one side.
pub fn lines_of(case: &str, side: &str) -> Vec<String> {
    let expected = read(
        &repository()
            .join("tests/run")
            .join(case)
            .join("expected.txt"),
    );
    let own = expected
        .lines()
        .filter(|line| line.starts_with(&format!("{side} ")));
    own.map(str::to_owned).collect()
}

/// Runs a case with the server in one version of Scala and the client in the other, over this address.
fn talks(case: &str, address: &str, server: Scala, client: Scala) {
    let folder = certificates(server);
    let program = |scala| {
        let mut program = remote_program(scala);
        program.env("DUOLOGUE_TLS", &folder);
        program
    };
    let (client, server) = (program(client), program(server));
    for (outcome, side) in converse(client, server, case, address, None)
        .iter()
        .zip(["client", "server"])
    {
        assert_eq!(outcome.code, Some(0), "{case}, the {side}: {outcome:?}");
        assert_eq!(outcome.lines, lines_of(case, side), "{case}, the {side}");
    }
}

#[test]
fn the_documented_programs_run_over_sockets() {
    let programs = documented(Needs::Net);
    assert!(!programs.is_empty());
    for (name, _) in programs {
        for scala in [Scala::Three, Scala::Two] {
            let mut program = java(scala);
            program
                .arg(format!("example.{name}"))
                .arg(certificates(scala));
            let printed = succeed(&mut program);
            assert_eq!(printed.unwrap_or_else(|failure| panic!("{failure}")), "");
        }
    }
    for (class, text) in documented_in_java(true) {
        for scala in [Scala::Three, Scala::Two] {
            let out = folder("net").join("java").join(scala.name());
            let path = format!("{}:{}", out.display(), class_path(scala));
            compile_java(&class, &text, &out, &path);
            let mut program = tool("java");
            program.args(["-cp", &path, &format!("example.{class}")]);
            let printed = succeed(&mut program);
            assert_eq!(printed.unwrap_or_else(|failure| panic!("{failure}")), "");
        }
    }
}

/// The page's server on virtual threads, compiled and run by the Java whose path is `DUOLOGUE_JAVA`, or the one in `PATH`.
#[test]
#[ignore = "nightly: virtual-threads"]
fn a_server_on_virtual_threads() {
    let java = std::env::var_os("DUOLOGUE_JAVA").unwrap_or_else(|| "java".into());
    let programs = documented(Needs::VirtualThreads);
    assert!(!programs.is_empty());
    for (name, text) in programs {
        let source = folder("net").join(format!("{name}.scala"));
        fs::write(&source, text).expect("the target folder can be written");
        let (scala, out) = (Scala::Three, folder("net").join(&name));
        let path = class_path(scala);
        scala
            .compile_in(Command::new(&java), &[], &path, &[source], &out)
            .unwrap_or_else(|failure| panic!("{failure}"));
        let mut program = run_in(Command::new(&java), &out, &format!("example.{name}"));
        let printed = succeed(&mut program).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(printed, "", "{name}");
    }
}

#[test]
fn conversations_between_two_versions_of_scala() {
    let cases = &sources().cases;
    assert!(cases.len() > 10, "{cases:?}");
    for (index, case) in cases.iter().enumerate() {
        let unix = folder("net").join(format!("{case}.sock"));
        let _ = fs::remove_file(&unix);
        let (address, server, client) = match index % 3 {
            0 => (format!("unix:{}", unix.display()), Scala::Three, Scala::Two),
            1 => ("tcp://127.0.0.1:0".to_owned(), Scala::Two, Scala::Three),
            _ => ("tls://127.0.0.1:0".to_owned(), Scala::Three, Scala::Two),
        };
        talks(case, &address, server, client);
    }
}
