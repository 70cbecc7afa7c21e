//! Tests in C that are linked into one program for each build, whose cases run in processes of their own.

use super::{generate_with, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, scratch, sources_in};
use crate::support::{repository, succeed_within};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// How tests, and the runtime with them, are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Build {
    pub compiler: Compiler,
    pub watch: Watch,
    pub flags: &'static [&'static str],
}

pub const ADDRESS: Build = Build::new(Watch::Address, &[]);
pub const THREAD: Build = Build::new(Watch::Thread, &[]);

impl Build {
    pub const fn new(watch: Watch, flags: &'static [&'static str]) -> Build {
        Build {
            compiler: Compiler::Gcc,
            watch,
            flags,
        }
    }

    /// For the name of a folder.
    fn label(&self) -> String {
        format!(
            "{:?}-{:?}{}",
            self.compiler,
            self.watch,
            self.flags.concat()
        )
    }

    /// The flags of the runtime, which is not compiled again for the sake of the linker.
    fn of_runtime(&self) -> Vec<&'static str> {
        let flags = self.flags.iter().copied();
        flags.filter(|flag| !flag.starts_with("-Wl")).collect()
    }
}

/// Builds in which a nightly run repeats all cases of [`ADDRESS`]: with clang, or as users build the runtime, under valgrind.
fn repeated() -> Vec<Build> {
    let compiler = |compiler| Build {
        compiler,
        ..ADDRESS
    };
    let compilers = Compiler::all().into_iter().map(compiler);
    let watches = Watch::all().into_iter();
    let watched = watches.map(|watch| Build::new(watch, &[]));
    let all = compilers.chain(watched.filter(|build| build.watch == Watch::Valgrind));
    all.filter(|build| *build != ADDRESS).collect()
}

/// A folder of tests in C that share their protocols.
pub struct Driver {
    pub name: &'static str,
    /// Of the tests and their headers, below the repository.
    pub folder: &'static str,
    /// Of other headers.
    pub includes: &'static [&'static str],
    /// Protocols, below the repository.
    pub protos: &'static [&'static str],
    /// What else a folder of generated code needs, and objects and libraries to link.
    pub prepare: fn(Build, &PathBuf) -> Vec<PathBuf>,
    /// Each case that is a test, and the builds in which it runs.
    pub cases: &'static [(&'static str, &'static [Build])],
}

/// Defines tests for the cases of a driver. One runs a case in the first of its builds, and one of the same name in `elsewhere` runs it in the
/// others, which takes as long again for each. What follows `; whole:` is one test for all builds.
macro_rules! cases {
    ($driver:ident:
        $($(#[$attribute:meta])* $case:ident in $builds:expr;)*
        ; whole:
        $($(#[$other:meta])* $whole:ident in $all:expr;)*
    ) => {
        const CASES: &[(&str, &[$crate::c::driver::Build])] =
            &[$((stringify!($case), $builds),)* $((stringify!($whole), $all)),*];
        $(
            $(#[$attribute])*
            #[test]
            fn $case() {
                $driver.check_first(stringify!($case));
            }
        )*
        $(
            $(#[$other])*
            #[test]
            fn $whole() {
                $driver.check_first(stringify!($whole));
                $driver.check_others(stringify!($whole));
            }
        )*
        mod elsewhere {
            $(
                $(#[$attribute])*
                #[test]
                #[ignore = "slow: C in further builds"]
                fn $case() {
                    super::$driver.check_others(stringify!($case));
                }
            )*
        }
    };
}
pub(super) use cases;

impl Driver {
    /// The builds of a case.
    fn builds(&self, case: &str) -> &'static [Build] {
        let found = self.cases.iter().find(|(name, _)| *name == case);
        found.unwrap_or_else(|| panic!("{case} is not a case")).1
    }

    /// Runs a case in each of its builds but the first.
    pub fn check_others(&self, case: &str) {
        for &build in &self.builds(case)[1..] {
            self.run(build, &[case]);
        }
    }

    /// Runs a case in the first of its builds, and in those with which tests are repeated.
    pub fn check_first(&self, case: &str) {
        let builds = self.builds(case);
        self.run(builds[0], &[case]);
        let is_plain = builds.contains(&ADDRESS);
        for build in repeated().into_iter().filter(|_| is_plain) {
            self.run(build, &[case]);
        }
    }

    /// Runs cases, one after the other, in a process and a folder of their own.
    pub fn run(&self, build: Build, steps: &[&str]) {
        // For cases that hang. The slowest take ten seconds on a busy machine.
        const LIMIT: Duration = Duration::from_secs(300);
        let program = self.program(build);
        let folder = scratch(&format!(
            "{}-{}-{}",
            self.name,
            build.label(),
            steps.join("-")
        ));
        let mut command = build.watch.command(&program, &[]);
        command.current_dir(folder).args(steps);
        let ended = succeed_within(&mut command, LIMIT);
        ended.unwrap_or_else(|complaint| panic!("{build:?}:\n{complaint}"));
    }

    /// The program for a build, which is made once in a run of the tests.
    fn program(&self, build: Build) -> PathBuf {
        type Programs = BTreeMap<(&'static str, Build), Arc<OnceLock<Result<PathBuf, String>>>>;
        static BUILT: Mutex<Programs> = Mutex::new(BTreeMap::new());
        let cell = {
            let mut built = BUILT
                .lock()
                .expect("no test panics while it holds the lock");
            built.entry((self.name, build)).or_default().clone()
        };
        let program = cell.get_or_init(|| self.link(build)).clone();
        program.unwrap_or_else(|complaint| panic!("{build:?}:\n{complaint}"))
    }

    fn link(&self, build: Build) -> Result<PathBuf, String> {
        let below = |path: &&str| repository().join(path);
        let tests = runtime().join("tests");
        let name = format!("{}-{}", self.name, build.label());
        let mut sources = vec![tests.join("driver.c")];
        let own = below(&self.folder);
        // A build that no case names has what the first of them all has.
        let is_named = self.cases.iter().any(|(_, builds)| builds.contains(&build));
        let wanted = if is_named { build } else { ADDRESS };
        for source in sources_in(&own) {
            let text = std::fs::read_to_string(&source).expect("it is text");
            let mut titles = text.split("\nTEST(").skip(1);
            let is_run = titles.any(|rest| {
                let title = rest.split(')').next().unwrap_or_default();
                let case = self.cases.iter().find(|(name, _)| *name == title);
                case.is_some_and(|(_, builds)| builds.contains(&wanted))
            });
            if is_run {
                sources.push(source);
            }
        }
        let mut includes: Vec<PathBuf> = self.includes.iter().map(below).collect();
        includes.extend([own, tests, runtime().join("src")]);
        let protos: Vec<PathBuf> = self.protos.iter().map(below).collect();
        let folder = match protos.is_empty() {
            true => scratch(&name),
            false => generate_with(&name, &protos, &["--c-shm", "--remote"]),
        };
        sources.extend(sources_in(&folder));
        includes.push(folder.clone());
        let objects = (self.prepare)(build, &folder);
        let data = format!("-DTESTS=\"{}\"", repository().join("tests").display());
        let flags = [build.flags, &[data.as_str()]].concat();
        Program {
            compiler: build.compiler,
            objects: &objects,
            flags: &flags,
            runtime: &build.of_runtime(),
            ..quiet(build.watch, &sources, &includes, &folder)
        }
        .link()
    }
}
