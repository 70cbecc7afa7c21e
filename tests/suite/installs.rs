//! The packages that `tools/packaging/all` wrote, each installed in an environment that has nothing else. The same bytes are released.

use crate::support::scala::tool;
use crate::support::{copy, repository, succeed, tool_of};
use crate::web::server::Server;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A package that must have been built.
pub fn package(name: &str) -> PathBuf {
    let path = repository().join("target/packaging/out").join(name);
    assert!(
        path.exists(),
        "{} is missing: run tools/packaging/all",
        path.display()
    );
    path
}

/// An empty folder of a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("installs")
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// A command in whose environment there is only a `PATH`, of one folder.
fn alone(program: &Path, path: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", path);
    command
}

/// All files below a folder, with their bytes.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(root).expect("it is below");
                let bytes = fs::read(&path).expect("it can be read");
                found.insert(name.display().to_string(), bytes);
            }
        }
    }
    found
}

fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a compiler that is installed, with the command that the function returns, and that of the tests, and compares what they print, write and return.
fn same_as_native(name: &str, compiler: &dyn Fn() -> Command) {
    let native = || Command::new(env!("CARGO_BIN_EXE_duologue"));
    let (theirs, ours) = (
        folder(&format!("{name}-is")),
        folder(&format!("{name}-should")),
    );
    let wrong = fs::read_to_string(repository().join("protocols/bank.proto"))
        .expect("it is there")
        .replace("ok -> connected", "ok -> conected");
    let calls: [&[&str]; 7] = [
        &["--version"],
        &["check", "protocols"],
        &["check", "wrong.proto", "--format", "json"],
        &[
            "gen",
            "-q",
            "protocols",
            "--rust",
            "gen/rust",
            "--c",
            "gen/c",
        ],
        &["gen", "-q", "protocols", "--scala", "gen/scala", "--remote"],
        &["fmt", "../elsewhere.proto"],
        &["check", "--nonsense"],
    ];
    for home in [&theirs, &ours] {
        let work = home.join("work");
        fs::create_dir(&work).expect("the folder is empty");
        copy(&repository().join("protocols"), &work.join("protocols"));
        fs::write(work.join("wrong.proto"), &wrong).expect("it can be written");
        fs::write(home.join("elsewhere.proto"), "proto! p{a:send{m->!}}")
            .expect("it can be written");
    }
    let run = |mut command: Command, home: &Path, call: &[&str]| {
        // Reports name files from the root of a repository, which the folders of this test are not in.
        command.env("GIT_CEILING_DIRECTORIES", home);
        let output = output(command.current_dir(home.join("work")).args(call));
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    for call in calls {
        let is = run(compiler(), &theirs, call);
        let should = run(native(), &ours, call);
        assert_eq!(is, should, "{name}: duologue {}", call.join(" "));
    }
    let (is, should) = (tree(&theirs), tree(&ours));
    let names = |tree: &BTreeMap<String, Vec<u8>>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&is), names(&should), "{name}");
    assert!(should.len() > 100, "little is generated");
    for (file, bytes) in should {
        assert!(is[&file] == bytes, "{name}: {file} differs");
    }
}

/// The program of an archive, unpacked.
fn unpacked(processor: &str) -> PathBuf {
    let name = format!("duologue-{VERSION}-{processor}-linux");
    let folder = folder(&format!("archive-{processor}"));
    let archive = package(&format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).arg("-C").arg(&folder);
    succeed(&mut tar).unwrap_or_else(|failure| panic!("{failure}"));
    folder.join(name)
}

/// Runs a program for another processor, where it is one.
fn on(processor: &str, program: &Path, nothing: &Path) -> Command {
    if std::env::consts::ARCH == processor {
        return alone(program, nothing);
    }
    let qemu = PathBuf::from(format!("/usr/bin/qemu-{processor}-static"));
    assert!(
        qemu.is_file(),
        "{} is missing: apt-get install --yes --no-install-recommends qemu-user-static",
        qemu.display()
    );
    let mut command = alone(&qemu, nothing);
    command.arg(program);
    command
}

fn is_static(program: &Path) {
    let bytes = fs::read(program).expect("it can be read");
    assert!(bytes.starts_with(b"\x7fELF"), "{}", program.display());
    let interpreter = b"/lib/ld-";
    let is_dynamic = bytes
        .windows(interpreter.len())
        .any(|part| part == interpreter);
    assert!(!is_dynamic, "{} needs a C library", program.display());
}

fn archive_runs(processor: &str) {
    let root = unpacked(processor);
    let program = root.join("bin/duologue");
    is_static(&program);
    for file in [
        "share/man/man1/duologue.1",
        "share/man/man1/duologue-gen.1",
        "share/bash-completion/completions/duologue",
        "share/zsh/site-functions/_duologue",
        "share/fish/vendor_completions.d/duologue.fish",
        "share/doc/duologue/LICENSE-MIT",
    ] {
        let text = fs::read_to_string(root.join(file)).expect(file);
        assert!(text.len() > 500, "{file} is short");
    }
    let nothing = folder(&format!("nothing-{processor}"));
    has_the_playground(processor, &|| on(processor, &program, &nothing));
    same_as_native(processor, &|| on(processor, &program, &nothing));
}

/// `duologue play` serves the page, and writes it with the module that is in the program.
fn has_the_playground(name: &str, compiler: &dyn Fn() -> Command) {
    let mut program = compiler();
    program.arg("play");
    let server = Server::of(program);
    assert!(server.get("/", &server.host()).starts_with("HTTP/1.1 200 "));
    let answer = server.answer("/run", &serde_json::json!({ "command": "version" }));
    assert_eq!(answer["version"], VERSION);
    writes_the_playground(name, compiler);
}

fn writes_the_playground(name: &str, compiler: &dyn Fn() -> Command) {
    let home = folder(&format!("page-{name}"));
    fs::write(home.join("a.proto"), "proto! p { a:send { m -> ! } }\n").expect("it is empty");
    let mut native = Command::new(env!("CARGO_BIN_EXE_duologue"));
    let module = repository().join("target/packaging/module.wasm");
    let gzip = output(Command::new("gzip").arg("-9nc").arg(module));
    fs::write(home.join("module.gz"), gzip.stdout).expect("it can be written");
    native.args(["play", "--module", "module.gz"]);
    let mut theirs = compiler();
    theirs.arg("play");
    for (mut command, page) in [(theirs, "is.html"), (native, "should.html")] {
        command.current_dir(&home).args(["a.proto", "-o", page]);
        succeed(&mut command).unwrap_or_else(|failure| panic!("{failure}"));
    }
    let [is, should] = ["is.html", "should.html"].map(|page| fs::read(home.join(page)));
    assert!(
        is.expect("it is written") == should.expect("it is written"),
        "{name}"
    );
}

#[test]
#[ignore = "nightly: installs"]
fn the_archive_for_x86_64() {
    archive_runs("x86_64");
}

/// Under QEMU, on other processors.
#[test]
#[ignore = "nightly: installs"]
fn the_archive_for_aarch64() {
    archive_runs("aarch64");
}

/// The wheel for a processor.
fn wheel(processor: &str) -> PathBuf {
    let tags = ["manylinux2014", "manylinux_2_17", "musllinux_1_1"];
    let tags = tags.map(|system| format!("{system}_{processor}")).join(".");
    package(&format!("duologue-{VERSION}-py3-none-{tags}.whl"))
}

/// An environment of Python with pip, below a folder.
fn environment(folder: &Path) -> PathBuf {
    let home = folder.join("venv");
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(&home);
    succeed(&mut make).unwrap_or_else(|failure| {
        panic!("{failure}\napt-get install --yes --no-install-recommends python3-venv")
    });
    home
}

/// pip has no index to fetch from, and the program finds nothing else in its `PATH`.
#[test]
#[ignore = "nightly: installs"]
fn the_wheel() {
    let wheel = wheel(std::env::consts::ARCH);
    let home = environment(&folder("wheel"));
    let mut install = Command::new(home.join("bin/pip"));
    install
        .args(["install", "--quiet", "--no-index"])
        .arg(&wheel);
    succeed(&mut install).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(home.join("share/man/man1/duologue.1").is_file());
    let nothing = folder("nothing-wheel");
    has_the_playground("wheel", &|| alone(&home.join("bin/duologue"), &nothing));
    same_as_native("wheel", &|| alone(&home.join("bin/duologue"), &nothing));
}

/// This machine's pip installs it for the other processor, and QEMU runs it.
#[test]
#[ignore = "nightly: installs"]
fn the_wheel_for_the_other_processor() {
    let other = ["aarch64", "x86_64"]
        .into_iter()
        .find(|processor| *processor != std::env::consts::ARCH)
        .expect("one of two");
    let home = folder("wheel-other");
    let (pip, root) = (environment(&home).join("bin/pip"), home.join("installed"));
    let mut install = Command::new(pip);
    install.args(["install", "--quiet", "--no-index", "--no-deps"]);
    install.args(["--only-binary=:all:", "--platform"]);
    install.arg(format!("manylinux2014_{other}"));
    install.arg("--target").arg(&root).arg(wheel(other));
    succeed(&mut install).unwrap_or_else(|failure| panic!("{failure}"));
    let program = root.join("bin/duologue");
    is_static(&program);
    assert!(root.join("share/man/man1/duologue.1").is_file());
    let nothing = folder("nothing-wheel-other");
    has_the_playground("wheel-other", &|| on(other, &program, &nothing));
    same_as_native("wheel-other", &|| on(other, &program, &nothing));
}

/// The only program in its `PATH` is Node.
#[test]
#[ignore = "nightly: installs"]
fn the_npm_package_runs_without_an_install_script() {
    let package = package(&format!("duologue-cli-{VERSION}.tgz"));
    let home = folder("npm");
    fs::write(home.join("package.json"), "{}").expect("the folder is empty");
    let mut install = tool_of("npm", "nodejs npm");
    install
        .current_dir(&home)
        .args(["install", "--ignore-scripts"]);
    install.args(["--offline", "--no-audit", "--no-fund"]);
    succeed(install.arg(&package)).unwrap_or_else(|failure| panic!("{failure}"));
    let installed = home.join("node_modules/@duologue/cli");
    let manifest = fs::read_to_string(installed.join("package.json")).expect("it is there");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("it is JSON");
    for key in ["scripts", "dependencies", "optionalDependencies"] {
        assert!(manifest.get(key).is_none(), "package.json has {key}");
    }
    let path = folder("npm-path");
    let node = tool_of("node", "nodejs").get_program().to_owned();
    std::os::unix::fs::symlink(node, path.join("node")).expect("the folder is empty");
    same_as_native("npm", &|| {
        alone(&home.join("node_modules/.bin/duologue"), &path)
    });
    writes_the_playground("npm", &|| {
        alone(&home.join("node_modules/.bin/duologue"), &path)
    });
    refuses_what_needs_a_system(&|| alone(&home.join("node_modules/.bin/duologue"), &path));
}

/// What WebAssembly cannot do is reported as such, with what to install instead.
fn refuses_what_needs_a_system(compiler: &dyn Fn() -> Command) {
    let home = folder("npm-refused");
    fs::write(home.join("a.proto"), "proto! p { a:send { m -> ! } }\n").expect("it is empty");
    for call in [
        "lsp",
        "play a.proto",
        "attack a.proto --connect unix:socket",
        "talk a.proto --connect tcp://127.0.0.1:1",
        "gen a.proto --plugin ./program",
        "breaking a.proto --against v1",
    ] {
        let refused = output(
            compiler()
                .current_dir(&home)
                .args(call.split_whitespace())
                .stdin(std::process::Stdio::null()),
        );
        let words = String::from_utf8_lossy(&refused.stderr);
        assert!(
            words.contains("needs the native program, because WebAssembly has no "),
            "{call}: {words}"
        );
        assert_eq!(refused.status.code(), Some(3), "{call}: {words}");
    }
}

/// Maven with the repository of the packages, in whose environment there is no Rust.
fn maven_in(project: &Path) -> Command {
    let mut maven = tool("mvn");
    maven.current_dir(project).args(["-B", "-q"]);
    // The scripts of Maven need the usual programs, and Java.
    let java = tool("java").get_program().to_owned();
    let java = fs::canonicalize(java).expect("it is there");
    let home = java.ancestors().nth(2).expect("it is in a folder `bin`");
    maven.env("JAVA_HOME", home).env("PATH", "/usr/bin:/bin");
    maven
}

/// The XML of the repository that the packages are in.
fn repositories(kind: &str) -> String {
    let list = match kind {
        "repository" => "repositories",
        _ => "pluginRepositories",
    };
    let url = package("maven");
    format!(
        "<{list}><{kind}><id>packages</id><url>file://{}</url></{kind}></{list}>",
        url.display()
    )
}

const PROJECT: &str = "<modelVersion>4.0.0</modelVersion>\
    <groupId>example</groupId><artifactId>thermostat</artifactId><version>1</version>";

/// One artifact without classifiers, compiled to bytecode.
#[test]
#[ignore = "nightly: installs"]
fn the_compiler_for_the_java_virtual_machine() {
    let project = folder("jvm");
    let dependency = format!(
        "<dependencies><dependency><groupId>io.github.duologue</groupId>\
         <artifactId>duologue-compiler</artifactId><version>{VERSION}</version></dependency></dependencies>"
    );
    let repositories = repositories("repository");
    let pom = format!("<project>{PROJECT}{dependency}{repositories}</project>");
    fs::write(project.join("pom.xml"), pom).expect("the folder is empty");
    let list = project.join("class-path");
    let mut maven = maven_in(&project);
    maven.arg("org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath");
    maven.arg(format!("-Dmdep.outputFile={}", list.display()));
    succeed(&mut maven).unwrap_or_else(|failure| panic!("{failure}"));
    let class_path = fs::read_to_string(list).expect("Maven has written it");
    let java = PathBuf::from(tool("java").get_program());
    let nothing = folder("nothing-jvm");
    same_as_native("jvm", &|| {
        let mut command = alone(&java, &nothing);
        command.args(["-cp", &class_path, "duologue.compiler.Compiler"]);
        command
    });
}

/// The configuration in `docs/installing.md`.
#[test]
#[ignore = "nightly: installs"]
fn the_maven_plugin() {
    let project = folder("maven-plugin");
    let page = repository().join("docs/installing.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let (_, after) = page.split_once("```xml\n").expect("a block in XML");
    let (plugin, _) = after.split_once("```").expect("it is closed");
    let repositories = repositories("pluginRepository");
    let pom = format!(
        "<project>{PROJECT}<packaging>pom</packaging>{repositories}\
         <build><plugins>{plugin}</plugins></build></project>"
    );
    fs::write(project.join("pom.xml"), pom).expect("the folder is empty");
    let protocols = project.join("src/main/protocols");
    crate::recipes::write_protocols(&project.join("src/main"));
    let mut generate = maven_in(&project);
    succeed(generate.arg("generate-sources")).unwrap_or_else(|failure| panic!("{failure}"));
    let generated = project.join("target/generated-sources/duologue");
    let native = folder("maven-plugin-native");
    let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
    command
        .arg("gen")
        .arg(&protocols)
        .arg("--scala")
        .arg(&native);
    succeed(&mut command).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(!tree(&native).is_empty());
    assert!(tree(&generated) == tree(&native), "the files differ");

    crate::support::edit(
        &protocols.join("thermostat.proto"),
        "-> reading",
        "-> redding",
    );
    let mut generate = maven_in(&project);
    let refused = succeed(generate.arg("generate-sources")).expect_err("a protocol is wrong");
    assert!(
        refused.contains("there is no state `redding` in `thermostat`")
            && refused.contains("thermostat.proto:6:17"),
        "{refused}"
    );
}
