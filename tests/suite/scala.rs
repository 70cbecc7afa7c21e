//! The Scala target: the runtime, the generated code, and the programs that use it.

mod adapters;
mod limits;
mod misuse;
pub mod net;
mod recorded;
mod robots;
mod sbt;
mod snapshots;
mod stress;
mod three;

use crate::support::scala::warm::Warm;
use crate::support::scala::{Scala, folder, generate, generate_with, maven, sources_in, tool};
use crate::support::{conversations, files_in, repository, shown_of_nats, target_pages};
use duologue::check::CheckedProgram;
use duologue::languages::Options;
use duologue::name::Name;
use duologue::protocol::TypeDeclaration;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The suites in a folder of the runtime, except for those that need a certain Java or property, which other tests run.
fn suites_in(folder: &str, package: &str) -> Vec<String> {
    let sources = sources_in(&repository().join("runtime/scala").join(folder));
    let stems = sources
        .iter()
        .filter_map(|source| source.file_stem()?.to_str());
    let suites = stems.filter(|stem| {
        stem.ends_with("Suite") && !["VirtualSuite", "RecordingSuite"].contains(stem)
    });
    suites.map(|stem| format!("{package}.{stem}")).collect()
}

pub fn suites_of_processes() -> Vec<String> {
    suites_in("src/test", "duologue")
}

pub fn suites_of_sockets() -> Vec<String> {
    suites_in("net/src/test", "duologue.net")
}

/// The program that has both sides of every conversation that can leave its process.
pub fn remote_program() -> Command {
    net::remote_program()
}

/// The server of many sessions at once. It runs in the Java whose path is `DUOLOGUE_JAVA`, or the one in `PATH`.
pub fn load_program() -> Command {
    let java = std::env::var_os("DUOLOGUE_JAVA").unwrap_or_else(|| "java".into());
    let mut java = Command::new(java);
    // Its size of the heap is exact after a collection.
    java.args([
        "-XX:+UseSerialGC",
        "-cp",
        &net::class_path(Scala::Three),
        "cases.Load",
    ]);
    java
}

/// A service whose servers are found with NATS, and its clients.
pub fn desk_program() -> Command {
    static BUILT: OnceLock<String> = OnceLock::new();
    let build = || {
        let scala = Scala::Three;
        let out = folder("nats");
        let pom = "runtime/scala/nats/pom.xml";
        let path = format!(
            "{}:{}",
            net::class_path(scala),
            maven::class_path(pom, scala)
        );
        let mut sources = sources_in(&repository().join("runtime/scala/nats/src/main"));
        sources.push(repository().join("tests/remote/Desk.scala"));
        let shown = folder("nats-shown");
        fs::create_dir_all(&shown).expect("the target folder can be written");
        let text = format!("package shown\n\n{}", shown_of_nats("scala"));
        fs::write(shown.join("Shown.scala"), text).expect("the target folder can be written");
        sources.push(shown.join("Shown.scala"));
        let compiled = scala.compile_with(&path, &sources, &out);
        compiled.unwrap_or_else(|failure| panic!("{failure}"));
        format!("{}:{path}", out.display())
    };
    let mut java = tool("java");
    java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
    java.arg(BUILT.get_or_init(build)).arg("cases.Desk");
    java
}

/// So a native image needs no metadata, as docs/targets/scala-reference.md says. A `lazy val` of Scala 3.3 finds its field by reflection.
#[test]
fn no_scala_code_uses_reflection() {
    let root = repository();
    let modules = [".", "net", "nats", "zio", "cats"];
    let main = |module| root.join("runtime/scala").join(module).join("src/main");
    let mut sources: Vec<PathBuf> = modules
        .iter()
        .flat_map(|module| sources_in(&main(module)))
        .collect();
    let templates = files_in(&root.join("templates/scala"), "jinja");
    assert!(!templates.is_empty());
    sources.extend(templates);
    let generated = folder("reflection");
    let mut options = Options::default();
    options.remote = true;
    generate_with(
        &files_in(&root.join("protocols"), "proto"),
        &options,
        &generated,
    );
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

/// The suites of the runtime and of its module for sockets, compiled once for each version.
fn suites(scala: Scala) -> PathBuf {
    static BUILT: [OnceLock<Result<(), String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let out = folder("suites").join(scala.name());
    let build = || {
        let runtime = repository().join("runtime/scala");
        let tests = ["src/test", "net/src/test"].map(|tests| sources_in(&runtime.join(tests)));
        let mut sources = tests.concat();
        // One of the programs.
        sources.retain(|source| !source.ends_with("Certificates.scala"));
        scala.compile(&sources, &[programs(scala), scala.runtime()], &out)
    };
    let built = BUILT[scala as usize].get_or_init(build);
    built.clone().unwrap_or_else(|failure| panic!("{failure}"));
    out
}

/// This one warns that there is too little memory, and lists its options.
#[test]
fn warnings_of_a_virtual_machine_are_not_among_its_answers() {
    let mut java = tool("java");
    java.args(["-Xmn3g", "-XX:+PrintFlagsFinal"]);
    let answer = Warm::start(java, Scala::Three).ask("javac", &["-version"]);
    assert_eq!(answer.as_deref(), Ok(""));
}

/// Runs suites in a virtual machine with these properties.
pub fn suites_pass(scala: Scala, mut java: Command, names: &[impl AsRef<str>]) {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    // JUnit would pass.
    assert!(!names.is_empty(), "there are no suites");
    let on = [suites(scala), programs(scala), scala.runtime()];
    java.arg(format!("-Dduologue.repository={}", repository().display()));
    let certificates = net::certificates();
    java.arg(format!(
        "-Dduologue.certificates={}",
        certificates.display()
    ));
    scala
        .run_with(java, &on, "org.junit.runner.JUnitCore", &names)
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// Most of the runtime is in Java, and the programs run in both versions.
#[test]
#[ignore = "nightly: scala"]
fn the_suites_of_the_runtime_pass_in_scala_2() {
    let all = [suites_of_processes(), suites_of_sockets()].concat();
    suites_pass(Scala::Two, tool("java"), &all);
}

/// This many mebibytes go into a reader that sleeps.
#[test]
#[ignore = "nightly: load"]
fn much_memory_goes_into_a_reader_that_sleeps() {
    let mut java = tool("java");
    java.arg("-Dduologue.sent=1024");
    suites_pass(Scala::Three, java, &["duologue.net.HostileSuite"]);
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
        suites_pass(scala, java, &["duologue.VirtualSuite"]);
    }
}

/// All of `protocols/`, difficult names, payloads and the corpus in Scala, the programs that use them, and main programs that run these.
fn written() -> &'static [PathBuf] {
    static WRITTEN: OnceLock<Vec<PathBuf>> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let (root, out) = (repository(), folder("written"));
        let _ = fs::remove_dir_all(&out);
        let support = root.join("tests/suite/support/scala");
        let with_robots = |inputs: &[PathBuf], package: Option<&str>, name: &str| {
            let mut options = Options::default();
            options.remote = true;
            options.robots = true;
            options.scala.package = package.map(str::to_owned);
            generate_with(inputs, &options, &out.join(name))
        };
        let checked = with_robots(
            &files_in(&root.join("protocols"), "proto"),
            None,
            "protocols",
        );
        with_robots(
            &files_in(&support.join("names"), "proto"),
            Some("names"),
            "names",
        );
        with_robots(
            &files_in(&root.join("tests/names"), "proto"),
            Some("shared"),
            "shared",
        );
        let wire = ["payloads", "versions", "sessions"]
            .map(|name| root.join(format!("tests/wire/{name}.proto")));
        with_robots(&wire, None, "wire");
        let limits = files_in(&root.join("tests/conversations/limits"), "proto");
        with_robots(&limits, None, "limits");
        let large = out.join("large.proto");
        let texts = limits::enum_of(5, 100) + &limits::state_of(5);
        fs::write(&large, texts).expect("the target folder can be written");
        with_robots(&[large], Some("large"), "large");
        let count = write_corpus(&out.join("corpus"));
        assert!(count > 40, "only {count} protocols of the corpus pass");
        let cases = conversations().into_iter();
        let leaving: Vec<String> = cases.filter(|case| net::leaves(&checked, case)).collect();
        let write = |name: &str, text: String| {
            fs::write(out.join(format!("{name}.scala")), text)
                .expect("the target folder can be written");
        };
        write("Main", main_program(&checked));
        write("RemoteMain", net::main_program(&checked, &leaving));
        write("RobotCases", robots::cases(&checked));
        for (name, text) in documented(Needs::Nothing)
            .into_iter()
            .chain(documented(Needs::Net))
        {
            write(&name, text);
        }
        let mut sources = Vec::new();
        for misuse in misuse::all("scala") {
            misuse.write_right(&out.join("right"));
            sources.extend((misuse.how == "throws").then_some(misuse.path));
        }
        let remote = [root.join("tests/remote/Load.scala")];
        let drivers = ["Driver", "Transcript", "Remote", "names/Hosts"];
        sources.extend(remote);
        sources.extend(drivers.map(|name| support.join(format!("{name}.scala"))));
        for folder in ["tests/run", "tests/robots", "tests/record"].map(|name| root.join(name)) {
            sources.extend(sources_in(&folder));
        }
        sources.extend(sources_in(&out));
        sources
    })
}

/// Each file of the corpus that passes, in a package of its own, with the types that it does not declare.
fn write_corpus(out: &Path) -> usize {
    let mut count = 0;
    for set in ["2012", "literature"] {
        for file in files_in(&repository().join("tests/corpus").join(set), "proto") {
            let stem = file
                .file_stem()
                .expect("it ends in .proto")
                .to_string_lossy();
            let package = format!("of_{set}.{stem}");
            let out = out.join(set).join(&*stem);
            // Without robots and what sessions with other processes need.
            let checked = generate(std::slice::from_ref(&file), Some(&package), &out);
            let is_undeclared = |ty: &&TypeDeclaration| !ty.is_declared;
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
    /// Sockets and certificates.
    Net,
    /// ox and jox, and with them a newer Java.
    Ox,
    /// Sockets and virtual threads.
    VirtualThreads,
}

impl Needs {
    fn of(program: &str) -> Needs {
        let imports = |library: &str| program.contains(&format!("import {library}"));
        if imports("ox.") {
            Needs::Ox
        } else if program.contains("startVirtualThread") {
            Needs::VirtualThreads
        } else if imports("duologue.net") {
            Needs::Net
        } else {
            Needs::Nothing
        }
    }
}

/// The programs of the target's page that need this, by the names of their objects.
fn documented(needs: Needs) -> Vec<(String, String)> {
    let page = target_pages("scala");
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
        (name.to_owned(), format!("package example\n\n{text}"))
    });
    programs.collect()
}

fn main_program(checked: &CheckedProgram) -> String {
    let mut text = String::from(
        "package cases\n\nobject Main {\n  def main(arguments: Array[String]): Unit = {\n",
    );
    let cases = repository().join("tests/run");
    for case in conversations() {
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
    // The first and the last part of a large enum.
    for variant in [0, 4] {
        let values: Vec<String> = (0..100).map(|at| format!("{at}L")).collect();
        let (types, values) = ("large.largeTypes", values.join(", "));
        writeln!(
            text,
            "    locally {{\n      val value: {types}.Wide = {types}.Wide.V{variant}({values})\n      \
             val out = new duologue.PayloadWriter\n      {types}.$Wide.put(out, value)\n      \
             assert({types}.$Wide.get(new duologue.PayloadReader(out.toByteArray)).equals(value))\n    }}"
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
    let documented = documented(Needs::Nothing);
    for (name, _) in (documented.iter()).filter(|(_, text)| text.contains("def main(")) {
        writeln!(text, "    example.{name}.main(Array())")
            .expect("writing into memory does not fail");
    }
    text += "    cases.Shrinking.main(Array())\n";
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

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The module for sockets and all programs, compiled once for each version.
pub fn programs(scala: Scala) -> PathBuf {
    static BUILT: [OnceLock<Result<(), String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let programs = folder("programs").join(scala.name());
    let build = || {
        let root = repository();
        let driver = root
            .join("tests/suite/support/scala/misuse")
            .join(scala.name());
        let module = root.join("runtime/scala/net/src");
        let mut sources = written().to_vec();
        sources.extend(sources_in(&driver));
        sources.extend(sources_in(&module.join("main")));
        sources.push(module.join("test/scala/duologue/net/Certificates.scala"));
        scala.compile(&sources, &[scala.runtime()], &programs)
    };
    let built = BUILT[scala as usize].get_or_init(build);
    built.clone().unwrap_or_else(|failure| panic!("{failure}"));
    programs
}

/// The Java programs of the target's page, by the names of their classes.
fn documented_in_java() -> Vec<(String, String)> {
    let page = target_pages("scala");
    let texts = page.split("```java\n").skip(1);
    let texts = texts.filter_map(|block| block.split("```").next());
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

/// The Java programs of the target's page are compiled against what the Scala compiler has made, as in a program of both languages.
fn java_programs_run(scala: Scala) {
    let out = folder("java").join(scala.name());
    fs::create_dir_all(&out).expect("the target folder can be written");
    let on = [out.clone(), programs(scala), scala.runtime()];
    let (path, target) = (scala.path_with(&on), out.display().to_string());
    let options = [
        "--release",
        "17",
        "-Werror",
        "-proc:none",
        "-Xlint:all,-path,-try",
    ];
    let mut arguments: Vec<String> = options.map(str::to_owned).to_vec();
    arguments.extend(["-cp".to_owned(), path, "-d".to_owned(), target]);
    let documented = documented_in_java();
    for (class, text) in &documented {
        let source = out.join(format!("{class}.java"));
        fs::write(&source, text).expect("the target folder can be written");
        arguments.push(source.display().to_string());
    }
    let compiled = scala.compile_java(&arguments);
    compiled.unwrap_or_else(|failure| panic!("{failure}"));
    for (class, _) in documented {
        let printed = scala.run(&on, &format!("example.{class}"), &[]);
        assert_eq!(printed.unwrap_or_else(|failure| panic!("{failure}")), "");
    }
}

fn programs_run(scala: Scala) {
    let on = [programs(scala), scala.runtime()];
    let printed = scala.run(&on, "cases.Main", &[]);
    let printed = printed.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(printed, "all went well\n");
    java_programs_run(scala);
    let certificates = net::certificates().display().to_string();
    let programs = documented(Needs::Net);
    assert!(!programs.is_empty());
    for (name, _) in programs {
        let printed = scala.run(&on, &format!("example.{name}"), &[&certificates]);
        let printed = printed.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(printed, "", "{name}");
    }
}

#[test]
fn the_programs_run_in_scala_3() {
    programs_run(Scala::Three);
}

#[test]
#[ignore = "slow: Scala 2"]
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
#[ignore = "slow: Scala 2"]
fn the_scala_2_compiler_reports_misuse() {
    compiler_reports_misuse(Scala::Two);
}
