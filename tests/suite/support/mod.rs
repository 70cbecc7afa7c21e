//! What the tests share: the repository, scratch folders, and the tools they call.

pub mod c;
pub mod choices;
pub mod program;
pub mod running;
pub mod rust;
pub mod sarif;
pub mod scala;
pub mod schema;
pub mod script;
pub mod spin;
pub mod steps;
pub mod texts;
pub mod tmux;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The root of the repository.
pub fn repository() -> &'static Path {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent().expect("a package in the repository")
}

/// Cargo, without what it tells this program about its package. A build script that watches one of these variables would run again, now
/// and in the next build outside, and all that depends on it be compiled again.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text == "OUT_DIR"
            || text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_MANIFEST_")
        {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// The name of a file without its ending.
pub fn stem(path: &Path) -> &str {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.expect("a UTF-8 name")
}

/// The pages about a target language, one after the other: `rust`, `c` or `scala`.
pub fn target_pages(language: &str) -> String {
    let parts = ["", "-reference", "-sockets"].map(|part| {
        let path = repository().join(format!("docs/targets/{language}{part}.md"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    });
    parts.join("\n")
}

/// What a target's page shows of servers that are found with NATS: the test of these servers compiles it.
pub fn shown_of_nats(language: &str) -> String {
    let page = target_pages(language);
    let (_, block) =
        (page.split_once(&format!("\n```{language} nats\n"))).expect("the page shows it");
    let (text, _) = block.split_once("```").expect("a block ends");
    text.to_owned()
}

/// How long a test waits for what never comes. It is no limit for what is slow: on a busy machine, models and cold builds take minutes.
pub const FOREVER: Duration = Duration::from_secs(1800);

/// Runs a command to its end and returns what it printed, or, if it fails, the command and its errors.
pub fn succeed(command: &mut Command) -> Result<String, String> {
    succeed_within(command, FOREVER)
}

/// The same with another limit for commands that hang.
pub fn succeed_within(command: &mut Command, limit: Duration) -> Result<String, String> {
    // With the process id, since two processes may run the suite at the same time.
    let name = format!("output-{}-{}", std::process::id(), unique());
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let create = |ending| {
        File::create(output.with_extension(ending)).expect("the target folder can be written")
    };
    let read = |ending| {
        let bytes = std::fs::read(output.with_extension(ending)).expect("it was written above");
        std::fs::remove_file(output.with_extension(ending)).expect("it was written above");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(create("out"))
        .stderr(create("err"));
    let mut child = command
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let start = Instant::now();
    let status = loop {
        match child.try_wait().expect("the child exists") {
            Some(status) => break Ok(status),
            None if start.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                break Err(format!("hangs: still running after {limit:?}"));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let (out, err) = (read("out"), read("err"));
    match status {
        Ok(status) if status.success() => Ok(out),
        Ok(status) => Err(format!("{command:?}\n{status}\n{out}{err}")),
        Err(hang) => Err(format!("{command:?}\n{hang}\n{out}{err}")),
    }
}

/// Copies files and folders, but not build output or installed packages.
pub fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        std::fs::copy(from, to).expect("it can be copied");
        return;
    }
    std::fs::create_dir_all(to).expect("the target folder can be written");
    for entry in std::fs::read_dir(from).expect("the folder exists") {
        let path = entry.expect("the folder can be read").path();
        let name = path.file_name().expect("entries have names");
        if name != "target" && name != "node_modules" {
            copy(&path, &to.join(name));
        }
    }
}

/// What is in a folder, in order.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder exists");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    paths.sort();
    paths
}

/// The files of a folder with an ending, in order.
pub fn files_in(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut files = entries(folder);
    files.retain(|path| path.extension().is_some_and(|found| found == ending));
    files
}

/// The conversations of `tests/run`, in order.
pub fn conversations() -> Vec<String> {
    let mut all = entries(&repository().join("tests/run"));
    all.retain(|path| path.is_dir());
    all.iter().map(|path| stem(path).to_owned()).collect()
}

/// A program that is installed; fails with the command that installs it.
pub fn tool_of(name: &str, packages: &str) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    match found.into_iter().find(|file| file.is_file()) {
        Some(file) => Command::new(file),
        None => panic!(
            "{name} is not installed: apt-get install --yes --no-install-recommends {packages}"
        ),
    }
}

/// Checks that a file of the repository has this text. `UPDATE_DOCS=1 cargo test` writes it.
#[track_caller]
pub fn is_current(file: &str, text: &str) {
    let path = repository().join(file);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("it can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept, text,
        "regenerate {file} with UPDATE_DOCS=1 cargo test"
    );
}

/// Replaces a text that must be there.
pub fn edit(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).expect("it can be read");
    assert!(text.contains(from), "{} has no {from}", file.display());
    std::fs::write(file, text.replace(from, to)).expect("it can be written");
}

/// A number that no other call returns.
pub fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
