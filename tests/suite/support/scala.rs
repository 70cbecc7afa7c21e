//! The Scala toolchain as the tests call it: Maven finds the class path, `java` does everything else.

pub mod maven;
pub mod warm;

use super::{repository, succeed, tool_of};
use duologue::check::CheckedProgram;
use duologue::compile::{Input, Request, compile};
use duologue::files::Disk;
use duologue::languages::{self, Options, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use warm::Warm;

/// Runs a tool with arguments, and returns what it prints.
type Ask<'a> = dyn FnMut(&str, &[String]) -> Result<String, String> + 'a;

/// A version of Scala that generated code and the runtime are compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scala {
    /// The long-term line of Scala 3.
    Three,
    /// Scala 2.13.
    Two,
}

/// The warnings that generated code, the runtime and the programs must not cause, in either version.
const WARNINGS: &str =
    "-Werror -deprecation -feature -unchecked -Wvalue-discard -Wnonunit-statement";

impl Scala {
    /// For names of folders.
    pub fn name(self) -> &'static str {
        match self {
            Scala::Three => "scala-3",
            Scala::Two => "scala-2.13",
        }
    }

    /// The compiler's main class.
    fn compiler(self) -> &'static str {
        match self {
            Scala::Three => "dotty.tools.dotc.Main",
            Scala::Two => "scala.tools.nsc.Main",
        }
    }

    /// The strictest common settings.
    pub fn warnings(self) -> impl Iterator<Item = &'static str> {
        let own = match self {
            Scala::Three => "-Wunused:all -color:never -language:strictEquality",
            Scala::Two => "-Xlint -Wunused",
        };
        WARNINGS.split(' ').chain(own.split(' '))
    }

    /// The compiler, the standard library, munit and the libraries of the target's page.
    pub fn class_path(self) -> String {
        maven::class_path("runtime/scala/pom.xml", self)
    }

    /// Compiles Scala and Java sources together into an empty folder; the error is what the compiler prints.
    pub fn compile(self, sources: &[PathBuf], on: &[PathBuf], out: &Path) -> Result<(), String> {
        self.compile_with(&self.path_with(on), sources, out)
    }

    /// Like `compile`, with a class path that contains the compiler and whatever else the sources need.
    pub fn compile_with(self, path: &str, sources: &[PathBuf], out: &Path) -> Result<(), String> {
        self.compile_strictly(&[], path, sources, out)
    }

    /// Like `compile_with`, with more settings than the common ones.
    pub fn compile_strictly(
        self,
        settings: &[&str],
        path: &str,
        sources: &[PathBuf],
        out: &Path,
    ) -> Result<(), String> {
        let mut ask = |kind: &str, arguments: &[String]| warm::ask(self, kind, arguments);
        let mut all: Vec<&str> = self.warnings().collect();
        all.extend(settings);
        self.compile_by(&mut ask, &all, path, sources, out)
    }

    /// Like `compile`, but does not search for what is unused: in Scala 3 that takes time that grows with the square of the size.
    pub fn compile_large(
        self,
        sources: &[PathBuf],
        on: &[PathBuf],
        out: &Path,
    ) -> Result<(), String> {
        let mut ask = |kind: &str, arguments: &[String]| warm::ask(self, kind, arguments);
        let warnings = self
            .warnings()
            .filter(|setting| !setting.starts_with("-Wunused"));
        let settings: Vec<&str> = warnings.collect();
        self.compile_by(&mut ask, &settings, &self.path_with(on), sources, out)
    }

    /// Like `compile_with`, against the classes of the Java that the command is.
    pub fn compile_in(
        self,
        java: Command,
        path: &str,
        sources: &[PathBuf],
        out: &Path,
    ) -> Result<(), String> {
        let mut warm = Warm::start(java, self);
        let mut ask = |kind: &str, arguments: &[String]| warm.ask(kind, arguments);
        let settings: Vec<&str> = self.warnings().collect();
        self.compile_by(&mut ask, &settings, path, sources, out)
    }

    fn compile_by(
        self,
        ask: &mut Ask<'_>,
        settings: &[&str],
        path: &str,
        sources: &[PathBuf],
        out: &Path,
    ) -> Result<(), String> {
        let _ = std::fs::remove_dir_all(out);
        std::fs::create_dir_all(out).expect("the target folder can be written");
        let shown = |path: &PathBuf| path.display().to_string();
        let target = ["-d".to_owned(), out.display().to_string()];
        let class_path = ["-classpath", path];
        let more = settings.iter().chain(&class_path);
        let scalac: Vec<String> = more
            .map(|word| (*word).to_owned())
            .chain(target.clone())
            .chain(sources.iter().map(shown))
            .collect();
        ask("scalac", &scalac)?;
        let java = sources
            .iter()
            .filter(|source| source.extension().is_some_and(|ending| ending == "java"));
        let java: Vec<String> = java.map(shown).collect();
        if java.is_empty() {
            return Ok(());
        }
        let on = format!("{}:{path}", out.display());
        let own = ["--release", "17", "-Werror", "-processorpath", path];
        let own = own
            .into_iter()
            .chain(["-Xlint:all,-path,-processing", "-cp", &on]);
        let javac: Vec<String> = own.map(str::to_owned).chain(target).chain(java).collect();
        ask("javac", &javac).map(|_| ())
    }

    /// Compiles Java sources only.
    pub fn compile_java(self, arguments: &[String]) -> Result<(), String> {
        warm::ask(self, "javac", arguments).map(|_| ())
    }

    /// Runs a main class in the virtual machine of the compiler, with classes of these folders of its own; returns what it prints.
    pub fn run(self, on: &[PathBuf], main: &str, arguments: &[&str]) -> Result<String, String> {
        let on = joined(on);
        let request: Vec<&str> = [&*on, main]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        warm::ask(self, "main", &request)
    }

    /// Runs suites in the virtual machine of the compiler, as `run` does.
    pub fn test(self, on: &[PathBuf], suites: &[&str]) -> Result<(), String> {
        let on = joined(on);
        let request: Vec<&str> = std::iter::once(&*on)
            .chain(suites.iter().copied())
            .collect();
        warm::ask(self, "junit", &request).map(|_| ())
    }

    /// Runs a main class in a Java of the caller's choice; returns what it prints.
    pub fn run_with(
        self,
        mut java: Command,
        on: &[PathBuf],
        main: &str,
        arguments: &[&str],
    ) -> Result<String, String> {
        java.args([
            "-XX:+UseSerialGC",
            "-Xss512k",
            "-cp",
            &self.path_with(on),
            main,
        ]);
        succeed(java.args(arguments))
    }

    /// The class path with some folders before it.
    pub fn path_with(self, on: &[PathBuf]) -> String {
        format!("{}:{}", joined(on), self.class_path())
    }

    /// The compiled runtime; built once in a run of the tests.
    pub fn runtime(self) -> PathBuf {
        type Built = Arc<OnceLock<Result<PathBuf, String>>>;
        static BUILT: Mutex<BTreeMap<Scala, Built>> = Mutex::new(BTreeMap::new());
        let cell = BUILT
            .lock()
            .expect("no test panics while it holds the lock")
            .entry(self)
            .or_default()
            .clone();
        let build = || {
            let out = folder("runtime").join(self.name());
            let sources = sources_in(&repository().join("runtime/scala/src/main"));
            self.compile(&sources, &[], &out).map(|()| out)
        };
        cell.get_or_init(build)
            .clone()
            .unwrap_or_else(|failure| panic!("{failure}"))
    }
}

fn joined(folders: &[PathBuf]) -> String {
    let folders = folders.iter().map(|folder| folder.display().to_string());
    folders.collect::<Vec<_>>().join(":")
}

/// Generates Scala code for protocols below an empty folder; returns what was compiled.
pub fn generate(inputs: &[PathBuf], package: Option<&str>, out: &Path) -> CheckedProgram {
    let mut options = Options::default();
    options.scala.package = package.map(str::to_owned);
    generate_with(inputs, &options, out)
}

/// Like `generate`, with these options.
pub fn generate_with(inputs: &[PathBuf], options: &Options, out: &Path) -> CheckedProgram {
    let mut request = Request::default();
    request.inputs = inputs.iter().cloned().map(Input::Path).collect();
    request.options = options.clone();
    let compilation = compile(&request, &Disk).unwrap_or_else(|failure| panic!("{failure:?}"));
    let checked = compilation
        .checked
        .unwrap_or_else(|| panic!("{:#?}", compilation.diagnostics));
    let _ = std::fs::remove_dir_all(out);
    for file in languages::generate(&checked, Target::Scala, &request.options).files {
        let path = out.join(&file.path);
        std::fs::create_dir_all(path.parent().expect("files are in folders"))
            .expect("the target folder can be written");
        std::fs::write(path, file.text).expect("the target folder can be written");
    }
    checked
}

/// A folder for what the Scala tests write.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("scala")
        .join(name)
}

/// All Scala and Java sources below a folder, in order.
pub fn sources_in(folder: &Path) -> Vec<PathBuf> {
    let mut sources = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder exists") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|ending| ending == "scala" || ending == "java")
            {
                sources.push(path);
            }
        }
    }
    sources.sort();
    sources
}

/// A program of the JDK, or Maven; fails with the command that installs it.
pub fn tool(name: &str) -> Command {
    tool_of(name, "openjdk-17-jdk-headless maven")
}
