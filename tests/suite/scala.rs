//! The Scala target: the runtime, the generated code, and the programs that use it.

mod adapters;
mod misuse;
pub mod net;
mod recorded;
mod robots;
mod sbt;
mod snapshots;
mod stress;
mod three;

use crate::support::scala::{Scala, folder, generate_with, protocols_in, sources_in, tool};
use crate::support::{repository, succeed};
use duologue::check::CheckedProgram;
use duologue::name::Name;
use duologue::protocol::{Definition, TypeDeclaration};
use duologue::target::Options;
use robots::generate;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The suites of the runtime. Each must exist: JUnit fails on a name that it does not find.
const SUITES: [&str; 18] = [
    "duologue.JavaSuite",
    "duologue.SessionSuite",
    "duologue.ClosedSuite",
    "duologue.U64Suite",
    "duologue.TimeLimitSuite",
    "duologue.SelectSuite",
    "duologue.PortSetSuite",
    "duologue.SendSuite",
    "duologue.ForeignSuite",
    "duologue.LaneSuite",
    "duologue.OwnerSuite",
    "duologue.YieldPolicySuite",
    "duologue.SharedSuite",
    "duologue.TravelSuite",
    "duologue.WakeSuite",
    "duologue.LateSuite",
    "duologue.WalkSuite",
    "duologue.AllocationSuite",
];

/// The program that has both sides of every conversation that can leave its process.
pub fn remote_program() -> Command {
    net::remote_program(Scala::Three)
}

/// The server of many sessions at once. It runs in the Java whose path is `DUOLOGUE_JAVA`, or the one in `PATH`.
pub fn load_program() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let out = folder("net").join("load");
        net::build(&[repository().join("tests/remote/Load.scala")], &out);
        out
    };
    let java = std::env::var_os("DUOLOGUE_JAVA").unwrap_or_else(|| "java".into());
    let mut java = Command::new(java);
    // Its size of the heap is exact after a collection.
    java.arg("-XX:+UseSerialGC");
    net::run_in(java, BUILT.get_or_init(build), "cases.Load")
}

/// A server that is asked about its services, and a client that asks.
pub fn ask_program() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let out = folder("net").join("ask");
        net::build(&[repository().join("tests/remote/Ask.scala")], &out);
        out
    };
    net::run(BUILT.get_or_init(build), "cases.Ask")
}

/// Both sides of sessions in which the server has limits and the client has none.
pub fn limits_program() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let out = folder("net").join("between");
        net::build(&[repository().join("tests/remote/Limits.scala")], &out);
        out
    };
    net::run(BUILT.get_or_init(build), "cases.Limits")
}

/// So a native image needs no metadata, as docs/targets/scala.md says. A `lazy val` of Scala 3.3 finds its field by reflection.
#[test]
fn no_scala_code_uses_reflection() {
    let root = repository();
    let modules = [".", "net", "zio", "cats"];
    let main = |module| root.join("runtime/scala").join(module).join("src/main");
    let mut sources: Vec<PathBuf> = modules
        .iter()
        .flat_map(|module| sources_in(&main(module)))
        .collect();
    let templates = crate::support::c::files_in(&root.join("templates/scala"), "jinja");
    assert!(!templates.is_empty());
    sources.extend(templates);
    let generated = folder("reflection");
    let mut options = Options::default();
    options.remote = true;
    generate_with(&protocols_in(&root.join("protocols")), &options, &generated);
    sources.extend(sources_in(&generated));
    let mut found = Vec::new();
    for source in sources {
        for line in read(&source).lines() {
            let words = [
                "forName",
                "getConstructor",
                "getDeclared",
                "getField",
                "getMethod",
                "newInstance",
                "newProxyInstance",
                "ServiceLoader",
                "getResource",
                "java.lang.reflect",
                "loadClass",
                "lazy val",
            ];
            if words.iter().any(|word| line.contains(word)) {
                found.push(line.trim().to_owned());
            }
        }
    }
    // A constant name.
    let known = r#"return Class.forName("java.lang.BaseVirtualThread", false, null);"#;
    assert_eq!(found, [known]);
}

fn runtime_keeps_its_contract(scala: Scala) {
    let runtime = scala.runtime();
    let printed = scala.run(&[runtime], "org.junit.runner.JUnitCore", &SUITES);
    printed.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn the_runtime_keeps_its_contract_in_scala_3() {
    runtime_keeps_its_contract(Scala::Three);
}

#[test]
fn the_runtime_keeps_its_contract_in_scala_2() {
    runtime_keeps_its_contract(Scala::Two);
}

/// Runs in the Java whose path is `DUOLOGUE_JAVA`, or the one in `PATH`. There
/// is one carrier thread, so a wait that kept it would block all others. 100,000 sessions have to fit into 2 GB.
#[test]
#[ignore = "nightly: virtual-threads"]
fn no_wait_keeps_the_carrier_of_a_virtual_thread() {
    let java = std::env::var_os("DUOLOGUE_JAVA").unwrap_or_else(|| "java".into());
    for scala in [Scala::Three, Scala::Two] {
        let mut java = Command::new(&java);
        java.args([
            "-Djdk.virtualThreadScheduler.parallelism=1",
            "-Djdk.virtualThreadScheduler.maxPoolSize=1",
            "-Xmx2g",
        ]);
        let runtime = [scala.runtime()];
        let suite = ["duologue.VirtualSuite"];
        let printed = scala.run_with(java, &runtime, "org.junit.runner.JUnitCore", &suite);
        printed.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// All of `protocols/`, difficult names and the corpus in Scala, the programs that use them, and a main program that runs them;
/// written once.
fn sources() -> &'static [PathBuf] {
    static WRITTEN: OnceLock<Vec<PathBuf>> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let support = repository().join("tests/suite/support/scala");
        let generated = folder("protocols");
        let inputs = protocols_in(&repository().join("protocols"));
        let checked = generate(&inputs, None, &generated);
        let main = folder("main").join("Main.scala");
        fs::create_dir_all(folder("main")).expect("the target folder can be written");
        fs::write(&main, main_program(&checked)).expect("the target folder can be written");
        let names = folder("names");
        generate(&protocols_in(&support.join("names")), Some("names"), &names);
        let shared = folder("shared-names");
        generate(
            &protocols_in(&repository().join("tests/names")),
            Some("shared"),
            &shared,
        );
        let corpus = folder("corpus");
        let count = write_corpus(&corpus);
        assert!(count > 40, "only {count} protocols of the corpus pass");
        let programs = repository().join("tests/run");
        let written = [generated, names, shared, corpus, programs];
        let mut sources: Vec<PathBuf> = written
            .iter()
            .flat_map(|folder| sources_in(folder))
            .collect();
        sources.extend(
            ["Driver.scala", "Transcript.scala", "names/Hosts.scala"]
                .map(|file| support.join(file)),
        );
        for misuse in misuse::all("scala") {
            sources.push(misuse.write_right(&folder("right")));
            sources.extend((misuse.how == "throws").then_some(misuse.path));
        }
        for (name, text) in documented(Needs::Nothing) {
            let path = folder("documented").join(format!("{name}.scala"));
            fs::create_dir_all(folder("documented")).expect("the target folder can be written");
            fs::write(&path, text).expect("the target folder can be written");
            sources.push(path);
        }
        sources.extend(robots::sources(&checked));
        sources.extend(sources_in(&repository().join("tests/record")));
        sources.push(main);
        sources
    })
}

/// Each file of the corpus that passes, in a package of its own, with the types that it does not declare.
fn write_corpus(out: &Path) -> usize {
    let mut count = 0;
    for set in ["2012", "literature"] {
        for file in protocols_in(&repository().join("tests/corpus").join(set)) {
            let stem = file
                .file_stem()
                .expect("it ends in .proto")
                .to_string_lossy();
            let package = format!("of_{set}.{stem}");
            let out = out.join(set).join(&*stem);
            let checked = generate(std::slice::from_ref(&file), Some(&package), &out);
            let is_undeclared =
                |ty: &&TypeDeclaration| matches!(ty.definition, Definition::Undeclared);
            let undeclared = checked.program().types.iter().filter(is_undeclared);
            let hosts: Vec<String> = undeclared
                .map(|ty| format!("final class {}\n", in_camel_case(ty.name.text())))
                .collect();
            let hosts = format!("package {package}\n\n{}", hosts.concat());
            fs::write(out.join("Hosts.scala"), hosts).expect("the target folder can be written");
            count += checked.program().protocols.len();
        }
    }
    count
}

fn in_camel_case(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect()
}

/// What a program of the target's page needs besides the runtime.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// Sockets, or a library that the tests of sockets use.
    Net,
    /// ox and jox, and with them a newer Java.
    Ox,
    /// Sockets and virtual threads.
    VirtualThreads,
}

impl Needs {
    fn of(program: &str) -> Needs {
        let imports = |library: &str| program.contains(&format!("\nimport {library}"));
        if imports("ox.") {
            Needs::Ox
        } else if program.contains("startVirtualThread") {
            Needs::VirtualThreads
        } else if imports("duologue.net") || imports("org.apache.pekko") {
            Needs::Net
        } else {
            Needs::Nothing
        }
    }
}

/// The programs of the target's page that need this, by the names of their objects.
fn documented(needs: Needs) -> Vec<(String, String)> {
    let page = read(&repository().join("docs/targets/scala.md"));
    let blocks = page.split("```scala\n").skip(1);
    let blocks = blocks.filter(|block| {
        let program = block.split("```").next();
        program.is_some_and(|text| Needs::of(text) == needs)
    });
    let programs = blocks.map(|block| {
        let text = block.split("```").next().expect("a split has a first part");
        let object = text
            .split_once("\nobject ")
            .expect("a program has an object")
            .1;
        let name = object.split(' ').next().expect("a split has a first part");
        (name.to_owned(), text.to_owned())
    });
    programs.collect()
}

fn main_program(checked: &CheckedProgram) -> String {
    let mut text = String::from(
        "package cases\n\nobject Main {\n  def main(arguments: Array[String]): Unit = {\n",
    );
    let cases = repository().join("tests/run");
    for case in folders_in(&cases) {
        let page = read(&cases.join(&case).join("README.md"));
        let protocol = protocol_of(&page);
        let session = format!("{}.{protocol}", package_of(checked, protocol));
        let expected = read(&cases.join(&case).join("expected.txt"));
        writeln!(
            text,
            "    locally {{\n      val (server, client) = {session}.init()\n      \
             Driver.run(\"{case}\", {expected:?})({case}.Client.run(client, _))({case}.Server.run(server, _))\n    }}"
        )
        .expect("writing into memory does not fail");
    }
    for misuse in misuse::all("scala")
        .iter()
        .filter(|misuse| misuse.how == "throws")
    {
        let (name, what) = (&misuse.name, &misuse.what);
        writeln!(text, "    Driver.throws({name:?}, {what:?})(misuse.{name}.Program.run())\n    right.{name}.Program.run()")
            .expect("writing into memory does not fail");
    }
    for (name, _) in documented(Needs::Nothing) {
        writeln!(text, "    example.{name}.main(Array())")
            .expect("writing into memory does not fail");
    }
    text + "    println(\"all went well\" + arguments.mkString)\n  }\n}\n"
}

/// The protocol or the instance that a case's page is about.
fn protocol_of(page: &str) -> &str {
    if let Some((_, behind)) = page.split_once("instance `") {
        return behind.split('`').next().expect("a split has a first part");
    }
    let before = page.split("::client::").next();
    let name = before.and_then(|before| before.rsplit('`').next());
    name.expect("a split has a first part")
}

/// The package of a protocol or an instance.
fn package_of(checked: &CheckedProgram, name: &str) -> String {
    let program = checked.program();
    let protocols = program
        .protocols
        .iter()
        .map(|protocol| (&protocol.name, protocol.file));
    let instances = program
        .instances
        .iter()
        .map(|instance| (&instance.name, instance.file));
    let mut all = protocols.chain(instances);
    let (_, file) = all
        .find(|(known, _)| known.text() == name)
        .unwrap_or_else(|| panic!("no protocol {name}"));
    let package: Vec<&str> = program.file(file).package.iter().map(Name::text).collect();
    if package.is_empty() {
        "protocols".to_owned()
    } else {
        package.join(".")
    }
}

fn folders_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder exists");
    let entries = entries.map(|entry| entry.expect("the folder can be read"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All programs, compiled once for each version.
pub fn programs(scala: Scala) -> PathBuf {
    static BUILT: [OnceLock<Result<(), String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let programs = folder("programs").join(scala.name());
    let build = || {
        let driver = repository()
            .join("tests/suite/support/scala/misuse")
            .join(scala.name());
        let mut sources = sources().to_vec();
        sources.extend(sources_in(&driver));
        scala.compile(&sources, &[scala.runtime()], &programs)
    };
    let built = BUILT[scala as usize].get_or_init(build);
    built.clone().unwrap_or_else(|failure| panic!("{failure}"));
    programs
}

/// The Java programs of the target's page, by the names of their classes: those that need sockets, or all others.
fn documented_in_java(needs_sockets: bool) -> Vec<(String, String)> {
    let page = read(&repository().join("docs/targets/scala.md"));
    let texts = page.split("```java\n").skip(1);
    let texts = texts.filter_map(|block| block.split("```").next());
    let texts = texts.filter(|text| text.contains("import duologue.net.") == needs_sockets);
    let programs = texts.map(|text| {
        let class = text.split_once("\npublic final class ");
        let class = class.and_then(|(_, rest)| rest.split(' ').next());
        let class = class.expect("a program has a class");
        (class.to_owned(), text.to_owned())
    });
    let programs: Vec<(String, String)> = programs.collect();
    assert!(!programs.is_empty());
    programs
}

/// Compiles a Java program of the target's page against what the Scala compiler has made, as in a program of both languages.
fn compile_java(class: &str, text: &str, out: &Path, path: &str) {
    fs::create_dir_all(out).expect("the target folder can be written");
    let source = out.join(format!("{class}.java"));
    fs::write(&source, text).expect("the target folder can be written");
    let mut javac = tool("javac");
    javac.args(["--release", "17", "-Werror", "-proc:none"]);
    javac
        .args(["-Xlint:all,-path,-try", "-cp", path, "-d"])
        .arg(out);
    succeed(javac.arg(source)).unwrap_or_else(|failure| panic!("{failure}"));
}

fn java_programs_run(scala: Scala) {
    for (class, text) in documented_in_java(false) {
        let out = folder("java").join(scala.name());
        let on = [out.clone(), programs(scala), scala.runtime()];
        compile_java(&class, &text, &out, &scala.path_with(&on));
        let printed = scala.run(&on, &format!("example.{class}"), &[]);
        assert_eq!(printed.unwrap_or_else(|failure| panic!("{failure}")), "");
    }
}

fn programs_run(scala: Scala) {
    let printed = scala.run(&[programs(scala), scala.runtime()], "cases.Main", &[]);
    assert_eq!(
        printed.unwrap_or_else(|failure| panic!("{failure}")),
        "all went well\n"
    );
    java_programs_run(scala);
}

#[test]
fn the_programs_run_in_scala_3() {
    programs_run(Scala::Three);
}

#[test]
fn the_programs_run_in_scala_2() {
    programs_run(Scala::Two);
}

fn compiler_reports_misuse(scala: Scala) {
    let driver = [programs(scala)];
    let path = scala.path_with(&[programs(scala), scala.runtime()]);
    misuse::is_reported_by_the_compiler(scala, &misuse::all("scala"), &driver, &path);
}

#[test]
fn the_scala_3_compiler_reports_misuse() {
    compiler_reports_misuse(Scala::Three);
}

#[test]
fn the_scala_2_compiler_reports_misuse() {
    compiler_reports_misuse(Scala::Two);
}
