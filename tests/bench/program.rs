//! Builds a benchmark of the C pipes with the C runtime (`cc`, or what `CC` names, with `CFLAGS`) and runs it. `-- 41` runs 41
//! rounds, and `-- --quick` sends three values through each case.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// How the program and the runtime are compiled.
fn flags() -> String {
    let flags = "-std=c11 -O3 -Wall -Wextra -Werror -pthread -D_POSIX_C_SOURCE=200809L";
    let others = std::env::var("CFLAGS").unwrap_or_default();
    format!("{flags} {others}").trim_end().to_owned()
}

/// A program in C, with the protocols that it uses.
pub struct Benchmark {
    /// Where its own files are, below `tests/bench`.
    pub folder: &'static str,
    /// Its protocols, relative to that folder.
    pub protocols: &'static str,
    /// Additional options for `duologue gen`.
    pub options: &'static [&'static str],
    /// Additional sources, below `tests/bench`.
    pub shared: &'static [&'static str],
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut found: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "c"))
        .collect();
    found.sort();
    found
}

/// Builds the program; `quickly`: it need not run fast.
pub fn built(benchmark: &Benchmark, quickly: bool) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.expect("a package in the repository");
    let all = root.join("tests/bench");
    let own = all.join(benchmark.folder);
    let name = format!("bench-{}", benchmark.folder);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let generated = folder.join("generated");
    fs::create_dir_all(&generated).expect("the target folder can be written");
    let mut generate = Command::new(env!("CARGO_BIN_EXE_duologue"));
    generate.arg("gen").arg(own.join(benchmark.protocols));
    generate.arg("--c").arg(&generated).arg("--quiet");
    generate.args(benchmark.options);
    assert!(generate.status().expect("it runs").success());
    let program = folder.join("bench");
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile.args(flags().split_whitespace());
    if quickly {
        compile.arg("-O1");
    }
    let includes = [
        &root.join("runtime/c/include"),
        &generated,
        &own,
        &all.join("c"),
    ];
    for include in includes {
        compile.arg("-I").arg(include);
    }
    for folder in [&own, &generated, &root.join("runtime/c/src")] {
        compile.args(sources(folder));
    }
    compile.args(benchmark.shared.iter().map(|source| all.join(source)));
    compile.arg("-o").arg(&program);
    let compiled = compile.status();
    let compiled = compiled.expect("a C compiler is installed (Debian: gcc)");
    assert!(compiled.success(), "the benchmark does not compile");
    program
}

/// The machine and the compiler in one line.
fn machine() -> String {
    let line = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let found = text.lines().find(|line| line.starts_with(key));
        let value = found.and_then(|line| line.split_once(':'));
        value.map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .arg("--version")
        .output()
        .expect("it ran before");
    let compiler = String::from_utf8_lossy(&compiler.stdout);
    let compiler = compiler.lines().next().unwrap_or_default().to_owned();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{}, Linux {}, {compiler}, `{}`.",
        line("/proc/cpuinfo", "model name"),
        kernel.trim(),
        flags()
    )
}

/// Builds the benchmark and does what the command line says.
pub fn run(benchmark: &Benchmark) -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    words.retain(|word| word != "--bench");
    let quickly = words.iter().any(|word| word == "--quick");
    println!("{}\n", machine());
    let mut run = Command::new(built(benchmark, quickly));
    run.args(&words);
    let status = run.status().expect("it was just built");
    if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
