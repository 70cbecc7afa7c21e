//! Sessions over sockets: the suites of `runtime/scala/net`, and the programs of the conversations of `tests/run`.

use super::{Needs, documented, package_of, programs, protocol_of, read};
use crate::support::scala::{Scala, folder, tool};
use crate::support::{repository, succeed};
use duologue::check::CheckedProgram;
use duologue::protocol::{InstanceId, Program, ProtocolId};
use duologue::relation::View;
use duologue::wire::Plan;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Whether the protocol of a case can leave the process.
pub fn leaves(checked: &CheckedProgram, case: &str) -> bool {
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

/// The main program of [`remote_program`].
pub fn main_program(checked: &CheckedProgram, cases: &[String]) -> String {
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

/// The module, all programs and everything that they need.
pub fn class_path(scala: Scala) -> String {
    scala.path_with(&[programs(scala), scala.runtime()])
}

/// The programs of the conversations.
pub fn remote_program() -> Command {
    let mut java = tool("java");
    java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
    java.arg(class_path(Scala::Three)).arg("cases.RemoteMain");
    java
}

/// A folder with certificates and keys of a server and a client, in PEM format.
pub fn certificates() -> PathBuf {
    static WRITTEN: OnceLock<PathBuf> = OnceLock::new();
    let write = || {
        let out = folder("net").join("certificates");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir_all(&out).expect("the target folder can be written");
        let (scala, folder) = (Scala::Three, out.display().to_string());
        let on = [programs(scala), scala.runtime()];
        let made = scala.run(&on, "duologue.net.Certificates", &[&folder]);
        made.unwrap_or_else(|failure| panic!("{failure}"));
        out
    };
    WRITTEN.get_or_init(write).clone()
}

/// The page's server on virtual threads, compiled and run by the Java whose path is `DUOLOGUE_JAVA`, or the one in `PATH`.
#[test]
#[ignore = "nightly: virtual-threads"]
fn a_server_on_virtual_threads() {
    let java = std::env::var_os("DUOLOGUE_JAVA").unwrap_or_else(|| "java".into());
    let programs = documented(Needs::VirtualThreads);
    assert!(!programs.is_empty());
    fs::create_dir_all(folder("net")).expect("the target folder can be written");
    for (name, text) in programs {
        let source = folder("net").join(format!("{name}.scala"));
        fs::write(&source, text).expect("the target folder can be written");
        let (scala, out) = (Scala::Three, folder("net").join(&name));
        scala
            .compile_in(Command::new(&java), &class_path(scala), &[source], &out)
            .unwrap_or_else(|failure| panic!("{failure}"));
        let mut program = Command::new(&java);
        program.args(["-cp", &format!("{}:{}", out.display(), class_path(scala))]);
        let printed = succeed(program.arg(format!("example.{name}")));
        let printed = printed.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(printed, "", "{name}");
    }
}
