//! The recipes in `docs/building.md` for make, Meson, Mill, Maven and no build system, taken from the page and run.

use crate::c::cmake::{installed, tool};
use crate::support::c::scratch;
use crate::support::program::path_with_compiler;
use crate::support::scala::{Scala, folder, maven, tool as jvm_tool};
use crate::support::{copy, edit, repository, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The only block of a section of the page that is in this language.
fn text(section: &str, language: &str) -> String {
    let page = repository().join("docs/building.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let mut sections = page.split("\n## ");
    let section = sections
        .find(|text| text.lines().next() == Some(section))
        .unwrap_or_else(|| panic!("docs/building.md has no section `{section}`"));
    let open = format!("\n```{language}\n");
    let blocks: Vec<&str> = section.split(&open).skip(1).collect();
    assert_eq!(blocks.len(), 1, "blocks in {language}");
    let (block, _) = blocks[0].split_once("```").expect("a block is closed");
    block.to_owned()
}

/// The program in C and its protocols, in a folder without a build.
fn thermostat(source: &Path) {
    fs::create_dir_all(source).expect("it can be made");
    for part in ["main.c", "protocols"] {
        copy(
            &repository().join("tests/cmake").join(part),
            &source.join(part),
        );
    }
}

/// `tests/suite/c/cmake.rs` builds the example.
#[test]
fn the_recipe_for_cmake_is_that_of_the_example() {
    let example = fs::read_to_string(repository().join("tests/cmake/CMakeLists.txt"));
    assert_eq!(text("CMake", "cmake"), example.expect("it is there"));
}

#[test]
#[ignore = "nightly: recipes"]
fn meson() {
    let folder = scratch("meson");
    let prefix = installed();
    let (source, build) = (folder.join("the example"), folder.join("build"));
    thermostat(&source);
    let recipe = text("pkg-config and Meson", "meson");
    fs::write(source.join("meson.build"), recipe).expect("it can be written");
    tool("pkg-config", "pkg-config");
    let mut setup = tool("meson", "meson");
    setup.arg("setup").arg(&build).arg(&source);
    setup.env("PATH", path_with_compiler());
    setup.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    succeed(&mut setup).unwrap_or_else(|failure| panic!("{failure}"));
    let ninja = || succeed(tool("ninja", "ninja-build").arg("-C").arg(&build));
    let make = || ninja().unwrap_or_else(|failure| panic!("{failure}"));
    let told = || succeed(&mut Command::new(build.join("thermostat"))).expect("it runs");

    make();
    assert_eq!(told(), "21 degrees, in 4 bytes\n");
    let again = make();
    assert!(again.contains("no work to do"), "{again}");
    edit(&source.join("protocols/units.proto"), "i32", "i64");
    make();
    assert_eq!(told(), "21 degrees, in 8 bytes\n");
    let again = make();
    assert!(again.contains("no work to do"), "{again}");
    edit(
        &source.join("protocols/thermostat.proto"),
        "-> reading",
        "-> redding",
    );
    let refused = ninja().expect_err("a protocol is wrong");
    assert!(refused.contains("thermostat.proto:6:17"), "{refused}");
}

#[test]
#[ignore = "nightly: recipes"]
fn make() {
    let folder = scratch("make");
    let prefix = installed();
    let source = folder.join("example");
    thermostat(&source);
    fs::write(
        source.join("Makefile"),
        text("make, and anything else", "make"),
    )
    .expect("it can be written");
    tool("pkg-config", "pkg-config");
    let run = || {
        let mut make = tool("make", "make");
        make.arg("-C")
            .arg(&source)
            .env("PATH", path_with_compiler());
        make.env("LC_ALL", "C");
        make.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        succeed(&mut make)
    };
    let make = || run().unwrap_or_else(|failure| panic!("{failure}"));
    let told = || succeed(&mut Command::new(source.join("thermostat"))).expect("it runs");
    let rests = |output: String| output.contains("'thermostat' is up to date");

    make();
    assert_eq!(told(), "21 degrees, in 4 bytes\n");
    assert!(rests(make()), "nothing had changed");
    let units = source.join("protocols/units.proto");
    edit(&units, "i32", "i64");
    make();
    assert_eq!(told(), "21 degrees, in 8 bytes\n");
    edit(&units, "i64", "i64 /* the same */");
    make();
    assert!(rests(make()), "nothing had changed but a comment");
    edit(
        &source.join("protocols/thermostat.proto"),
        "-> reading",
        "-> redding",
    );
    let refused = run().expect_err("a protocol is wrong");
    assert!(refused.contains("thermostat.proto:6:17"), "{refused}");
    assert!(refused.contains("nothing can be generated"), "{refused}");
}

/// The runtime as two files, made in a copy of the repository's folder and compiled by one command.
#[test]
#[ignore = "nightly: recipes"]
fn two_files() {
    let folder = scratch("two-files");
    let (clone, source) = (folder.join("clone"), folder.join("example"));
    for part in ["runtime/c", "LICENSE-MIT"] {
        let to = clone.join(part);
        fs::create_dir_all(to.parent().expect("it is in a folder")).expect("it can be made");
        copy(&repository().join(part), &to);
    }
    tool("cmake", "cmake");
    let run = |folder: &Path, commands: &str| {
        let mut shell = Command::new("sh");
        shell
            .args(["-e", "-c", commands])
            .env("PATH", path_with_compiler());
        succeed(shell.current_dir(folder)).unwrap_or_else(|failure| panic!("{failure}"))
    };
    run(&clone, &text("Two files in C", "sh"));
    thermostat(&source);
    for name in ["duologue.h", "duologue.c"] {
        copy(&clone.join("build").join(name), &source.join(name));
    }
    run(
        &source,
        &text("Two files in C", "console").replace("$ ", ""),
    );
    let told = succeed(&mut Command::new(source.join("thermostat")));
    assert_eq!(told.expect("it runs"), "21 degrees, in 4 bytes\n");
}

/// An empty project in Scala, with the runtime.
fn project(name: &str) -> PathBuf {
    let project = folder(name);
    let _ = fs::remove_dir_all(&project);
    copy(
        &repository().join("runtime/scala/src/main"),
        &project.join("runtime"),
    );
    project
}

/// Runs the program of `tests/sbt`, before and after an edit of the imported file, and then with a mistake in a protocol.
fn hold(protocols: &Path, run: impl Fn() -> Result<String, String>) {
    let told = || run().unwrap_or_else(|failure| panic!("{failure}"));
    let first = told();
    assert!(first.contains("21 degrees, as int\n"), "{first}");
    edit(&protocols.join("units.duo"), "i32", "i64");
    let edited = told();
    assert!(edited.contains("21 degrees, as long\n"), "{edited}");
    edit(
        &protocols.join("thermostat.proto"),
        "-> reading",
        "-> redding",
    );
    let refused = run().expect_err("a protocol is wrong");
    assert!(refused.contains("thermostat.proto:6:17"), "{refused}");
}

/// A project for Mill, and the program that builds it: a shell script and an archive in one.
fn mill_project(name: &str, recipe: &str) -> (PathBuf, PathBuf) {
    let project = project(name);
    let module = project.join("thermostat");
    let example = repository().join("tests/sbt/src/main");
    copy(&example.join("protocols"), &module.join("protocols"));
    copy(&example.join("scala"), &module.join("src"));
    let version = recipe
        .lines()
        .find_map(|line| line.strip_prefix("//| mill-version: "))
        .expect("the text names its version");
    let mill = maven::file("com.lihaoyi", "mill-dist", version, "exe");
    fs::write(project.join("build.mill"), recipe).expect("it can be written");
    (project, mill)
}

#[test]
#[ignore = "nightly: recipes"]
fn mill() {
    let (project, mill) = mill_project("mill", &text("Mill", "scala"));
    let run = |task: &str| {
        let mut run = Command::new("sh");
        run.arg(&mill).args(["--no-daemon", "--ticker", "false"]);
        run.arg(task).env("PATH", path_with_compiler());
        succeed(run.current_dir(&project))
    };
    // Lets Mill fetch and compile what it needs for itself before the time limit of the program applies.
    run("version").unwrap_or_else(|failure| panic!("{failure}"));
    hold(&project.join("thermostat/protocols"), || {
        run("thermostat.run")
    });
}

/// The recipe with the changes that `docs/installing.md` describes, and the artifact that `tools/packaging/maven` built.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "nightly: installs"]
fn mill_without_a_native_compiler() {
    let page = repository().join("docs/installing.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let (_, section) = page.split_once("\n## Mill").expect("a section");
    let mut blocks = section.split("```scala\n").skip(1);
    let mut block = || {
        let block = blocks.next().expect("two blocks");
        block.split("```").next().unwrap_or_default().trim_end()
    };
    let (module, command) = (block(), block());
    let packages = crate::installs::package("maven");
    let repository = format!(
        "object compiler extends JavaModule {{\n  def repositories = Seq(\"file://{}\")",
        packages.display()
    );
    let module = module.replace("object compiler extends JavaModule {", &repository);
    let recipe = text("Mill", "scala").replace("\"duologue\"", command) + "\n" + &module + "\n";
    let (project, mill) = mill_project("mill-installed", &recipe);
    let mut run = Command::new("sh");
    run.arg(&mill).args(["--no-daemon", "--ticker", "false"]);
    run.arg("thermostat.run").env("PATH", "/usr/bin:/bin");
    let printed = succeed(run.current_dir(&project)).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(printed.contains("21 degrees, as int\n"), "{printed}");
}

#[test]
#[ignore = "nightly: recipes"]
fn maven() {
    let project = project("maven");
    let main = project.join("src/main");
    copy(&repository().join("tests/sbt/src/main"), &main);
    fs::write(project.join("pom.xml"), text("Maven", "xml")).expect("it can be written");
    hold(&main.join("protocols"), || {
        let mut compile = jvm_tool("mvn");
        compile
            .args(["-B", "compile"])
            .env("PATH", path_with_compiler());
        succeed(compile.current_dir(&project))?;
        Scala::Three.run(&[project.join("target/classes")], "Main", &[])
    });
}
