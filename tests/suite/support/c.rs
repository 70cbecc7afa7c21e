//! The C toolchain as the tests call it.

pub use super::files_in;
use super::{entries, repository, succeed};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

/// A C compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compiler {
    Gcc,
    Clang,
}

/// What is checked while the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watch {
    /// Nothing: optimized, as users build it.
    Plain,
    /// Bad addresses, undefined behavior and leaks.
    Address,
    /// Data races.
    Thread,
    /// Bad addresses and leaks, by valgrind.
    Valgrind,
}

/// Whether the tests of C are repeated with this tool: `.ci/nightly` sets `DUOLOGUE_REPEAT_WITH` to `clang` or `valgrind`.
fn is_repeated_with(tool: &str) -> bool {
    std::env::var("DUOLOGUE_REPEAT_WITH").is_ok_and(|named| named == tool)
}

/// The warnings that generated code and the runtime must not cause, in C.
pub const C_WARNINGS: &str = "-std=c11 -Wall -Wextra -Wpedantic -Werror -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes";

/// The same in C++.
const CPP_WARNINGS: &str = "-std=c++17 -Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast \
    -Wzero-as-null-pointer-constant";

/// Headers of the C library that a program includes before generated ones, so that names would clash.
pub const LIBRARIES: &str = "#ifndef __cplusplus\n#include <complex.h>\n#include <stdatomic.h>\n#include <threads.h>\n#endif\n#include <assert.h>\n\
    #include <ctype.h>\n#include <errno.h>\n#include <fcntl.h>\n#include <inttypes.h>\n#include <limits.h>\n\
    #include <locale.h>\n#include <math.h>\n#include <poll.h>\n#include <pthread.h>\n#include <sched.h>\n\
    #include <semaphore.h>\n#include <setjmp.h>\n#include <signal.h>\n#include <spawn.h>\n#include <stdbool.h>\n\
    #include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <strings.h>\n#include <sys/socket.h>\n\
    #include <sys/stat.h>\n#include <sys/time.h>\n#include <sys/wait.h>\n#include <syslog.h>\n#include <time.h>\n\
    #include <unistd.h>\n#include <wchar.h>\n";

impl Compiler {
    /// gcc, and clang where tests are repeated with it.
    pub fn all() -> Vec<Compiler> {
        let mut all = vec![Compiler::Gcc];
        if is_repeated_with("clang") {
            all.push(Compiler::Clang);
        }
        all
    }

    /// A command for a C source, or for C++, that finds the runtime's headers.
    pub fn command(self, cpp: bool) -> Command {
        let mut command = self.strict(cpp);
        command.arg("-I").arg(runtime().join("include"));
        // Lines, but no variables, which would take a third of the time.
        command.args(["-gdwarf-4", "-g1", "-pthread", "-D_POSIX_C_SOURCE=200809L"]);
        command
    }

    /// A command with the warnings, and nothing else.
    pub fn strict(self, cpp: bool) -> Command {
        let found = match (self, cpp) {
            (Compiler::Gcc, false) => installed(&["gcc".into()], "gcc"),
            (Compiler::Gcc, true) => installed(&["g++".into()], "g++"),
            (Compiler::Clang, false) => installed(&versions("clang"), "clang"),
            (Compiler::Clang, true) => installed(&versions("clang++"), "clang"),
        };
        let mut command = Command::new(found);
        command.args(if cpp { CPP_WARNINGS } else { C_WARNINGS }.split(' '));
        if cpp && self == Compiler::Gcc {
            command.arg("-Wuseless-cast");
        }
        command
    }
}

impl Watch {
    /// Every checker, valgrind only where tests are repeated with it.
    pub fn all() -> Vec<Watch> {
        let mut all = vec![Watch::Plain, Watch::Address, Watch::Thread];
        if is_repeated_with("valgrind") {
            all.push(Watch::Valgrind);
        }
        all
    }

    /// A command that runs a program under the checker, with further arguments for valgrind.
    pub fn command(self, program: &Path, valgrind: &[&str]) -> Command {
        if self != Watch::Valgrind {
            return Command::new(program);
        }
        let mut command = Command::new(installed(&["valgrind".into()], "valgrind"));
        // valgrind runs one thread at a time. Without fair scheduling, a thread that spins could keep the others from running.
        command.args(["-q", "--fair-sched=yes", "--leak-check=full"]);
        command
            .arg("--error-exitcode=99")
            .args(valgrind)
            .arg(program);
        command
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Watch::Plain | Watch::Valgrind => &["-O2"],
            Watch::Address => &[
                "-O1",
                "-fsanitize=address,undefined",
                "-fno-sanitize-recover=all",
            ],
            Watch::Thread => &["-O1", "-fsanitize=thread"],
        }
    }
}

/// The runtime's folder.
pub fn runtime() -> PathBuf {
    repository().join("runtime/c")
}

/// Whether a program may use sockets. What it includes is in the tests' folders, and uses them only if the program does.
fn has_sockets(program: &[PathBuf]) -> bool {
    let names_them = |source: &PathBuf| {
        let text = std::fs::read(source).unwrap_or_default();
        text.windows(3).any(|word| word == b"net")
    };
    program.iter().any(names_them)
}

/// The sources of the runtime that a program needs.
pub fn sources_for(program: &[PathBuf]) -> Vec<PathBuf> {
    sources_of_runtime(has_sockets(program))
}

/// The sources of the runtime. Those of sockets are more than half of it.
fn sources_of_runtime(has_sockets: bool) -> Vec<PathBuf> {
    let is_of_sockets = |source: &PathBuf| {
        let name = source.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("net")
    };
    let mut sources = sources_in(&runtime().join("src"));
    sources.retain(|source| has_sockets || !is_of_sockets(source));
    sources
}

/// The files of which [`sources_of_runtime`] consist, in folders.
pub fn parts_of_runtime() -> Vec<PathBuf> {
    let mut folders = entries(&runtime().join("src"));
    folders.retain(|folder| folder.is_dir() && !folder.ends_with("health"));
    folders
        .iter()
        .flat_map(|folder| sources_in(folder))
        .collect()
}

/// An empty folder that only the test `name` uses.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// A program to be built.
pub struct Program<'a> {
    pub compiler: Compiler,
    pub watch: Watch,
    /// C files, and C++ files that end in `.cpp`.
    pub sources: &'a [PathBuf],
    /// Objects that are already compiled, and then the libraries that they need, as `-lname`.
    pub objects: &'a [PathBuf],
    /// Folders of headers, besides those of the runtime.
    pub includes: &'a [PathBuf],
    /// Further arguments.
    pub flags: &'a [&'a str],
    /// Further arguments for the runtime.
    pub runtime: &'a [&'a str],
    /// Where objects and the program go.
    pub folder: &'a Path,
}

impl Program<'_> {
    /// Compiles and links the program together with the runtime, by one call of the compiler unless there are C++ files.
    pub fn link(&self) -> Result<PathBuf, String> {
        let program = self.folder.join("program");
        let has_cpp = self.sources.iter().any(|source| is_cpp(source));
        let own = match has_cpp {
            true => self.objects()?,
            false => self.sources.to_vec(),
        };
        let runtime = runtime_objects(
            self.compiler,
            self.watch,
            self.runtime,
            has_sockets(self.sources),
        )?;
        let mut link = self.compile(has_cpp);
        link.args(own).args(runtime).args(self.objects);
        succeed(link.arg("-o").arg(&program))?;
        Ok(program)
    }

    /// The compiler with the arguments of the program.
    fn compile(&self, cpp: bool) -> Command {
        let mut compile = self.compiler.command(cpp);
        compile.args(self.watch.flags()).args(self.flags);
        for folder in self.includes {
            compile.arg("-I").arg(folder);
        }
        compile
    }

    /// The same, and runs it; returns the standard output on success.
    pub fn run(&self) -> Result<String, String> {
        let program = self.link()?;
        succeed(&mut self.watch.command(&program, &[]))
    }

    /// Compiles and links only the sources, which must include those of the runtime, and lets libFuzzer call them
    /// `runs` times, or for as many seconds as `DUOLOGUE_FUZZ_SECONDS` says.
    pub fn fuzz(&self, runs: u32) -> Result<String, String> {
        match std::env::var("DUOLOGUE_FUZZ_SECONDS") {
            Ok(seconds) => self.fuzz_until(&format!("-max_total_time={seconds}")),
            Err(_) => self.fuzz_until(&format!("-runs={runs}")),
        }
    }

    /// The same for this many inputs, however long they take.
    pub fn fuzz_inputs(&self, runs: u32) -> Result<String, String> {
        self.fuzz_until(&format!("-runs={runs}"))
    }

    fn fuzz_until(&self, bound: &str) -> Result<String, String> {
        let program = self.folder.join("fuzzer");
        let mut link = self.compile(false);
        succeed(link.args(self.sources).arg("-o").arg(&program))?;
        let mut run = Command::new(program);
        run.current_dir(self.folder);
        succeed(run.arg(bound).arg("-seed=1"))
    }

    /// Compiles the sources only: one call of the compiler compiles all C files, and one all C++ files, whose names differ.
    pub fn objects(&self) -> Result<Vec<PathBuf>, String> {
        let (cpp, c): (Vec<_>, Vec<_>) = self.sources.iter().partition(|source| is_cpp(source));
        let mut objects = Vec::new();
        for (sources, cpp) in [(c, false), (cpp, true)] {
            if sources.is_empty() {
                continue;
            }
            let mut compile = self.compile(cpp);
            succeed(compile.current_dir(self.folder).arg("-c").args(&sources))?;
            let names = sources.iter().filter_map(|source| source.file_stem());
            objects.extend(names.map(|name| self.folder.join(name).with_extension("o")));
        }
        Ok(objects)
    }
}

fn is_cpp(source: &Path) -> bool {
    source.extension().is_some_and(|ending| ending == "cpp")
}

/// The objects of the runtime, built once per compiler and checker, with flags of their own without sockets unless the program may use them.
fn runtime_objects(
    compiler: Compiler,
    watch: Watch,
    flags: &[&str],
    has_sockets: bool,
) -> Result<Vec<PathBuf>, String> {
    type Built = Arc<OnceLock<Result<Vec<PathBuf>, String>>>;
    type Ways = BTreeMap<(Compiler, Watch, String, bool), Built>;
    static BUILT: Mutex<Ways> = Mutex::new(BTreeMap::new());
    // Sockets need an allocator and threads: without one of them a program leaves these files out.
    let is_device = |flag: &&str| ["-DDUO_NO_MALLOC", "-DDUO_NO_THREADS"].contains(flag);
    let has_sockets = (has_sockets || flags.is_empty()) && !flags.iter().any(is_device);
    let cell = {
        let mut built = BUILT
            .lock()
            .expect("no test panics while it holds the lock");
        built
            .entry((compiler, watch, flags.concat(), has_sockets))
            .or_default()
            .clone()
    };
    let build = || {
        let parts = if has_sockets { "" } else { "-pipes" };
        let flags_of_all = flags.concat();
        let folder = scratch(&format!(
            "runtime-{compiler:?}-{watch:?}{flags_of_all}{parts}"
        ));
        let sources = sources_of_runtime(has_sockets);
        let runtime = Program {
            compiler,
            watch,
            sources: &sources,
            objects: &[],
            includes: &[],
            flags,
            runtime: &[],
            folder: &folder,
        };
        runtime.objects()
    };
    cell.get_or_init(build).clone()
}

/// The objects of the library for TLS, and the libraries that it needs. Where the headers of OpenSSL are missing, they are those of
/// `tests/remote/without_tls.c`, with which sessions without TLS work.
pub fn tls_objects(watch: Watch, folder: &Path) -> Vec<PathBuf> {
    let mut probe = Compiler::Gcc.command(false);
    probe.args(["-E", "-x", "c", "-include", "openssl/ssl.h", "/dev/null"]);
    let has_headers = succeed(&mut probe).is_ok();
    let sources = match has_headers {
        true => sources_in(&runtime().join("tls")),
        false => vec![repository().join("tests/remote/without_tls.c")],
    };
    let folder = folder.join("tls");
    std::fs::create_dir_all(&folder).expect("it can be written");
    let library = Program {
        compiler: Compiler::Gcc,
        watch,
        sources: &sources,
        objects: &[],
        includes: &[],
        flags: &[],
        runtime: &[],
        folder: &folder,
    };
    let objects = library.objects();
    let mut objects = objects.unwrap_or_else(|complaint| panic!("{complaint}"));
    if has_headers {
        objects.extend(["-lssl", "-lcrypto"].map(PathBuf::from));
    }
    objects
}

/// The C files of a folder, in order.
pub fn sources_in(folder: &Path) -> Vec<PathBuf> {
    files_in(folder, "c")
}

/// Newest first, for systems that install clang under its version only.
fn versions(tool: &str) -> Vec<String> {
    let numbered = (11..=22).rev().map(|version| format!("{tool}-{version}"));
    std::iter::once(tool.to_owned()).chain(numbered).collect()
}

fn installed(candidates: &[String], package: &str) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = candidates.iter().find_map(|name| {
        folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    });
    match found {
        Some(file) => file.into_os_string(),
        None => panic!(
            "{} is not installed: apt-get install -y --no-install-recommends {package}",
            candidates[0]
        ),
    }
}
