//! The `duologue` program in a scratch folder, and what it did as a transcript.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// A folder of its own for one test, empty at first. No other test has it until it is dropped: tests that use the same name wait for
/// each other.
pub struct Scratch(PathBuf);

/// The folders in use, each with the thread that made it.
static USED: Mutex<BTreeMap<PathBuf, ThreadId>> = Mutex::new(BTreeMap::new());
static DROPPED: Condvar = Condvar::new();

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        used.remove(&self.0);
        DROPPED.notify_all();
    }
}

impl Scratch {
    /// The folder for the test of this name.
    pub fn new(name: &str) -> Scratch {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let this = thread::current().id();
        let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(owner) = used.get(&path) {
            assert!(*owner != this, "the folder `{name}` is in use in this test");
            used = DROPPED.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        used.insert(path.clone(), this);
        drop(used);
        if path.exists() {
            fs::remove_dir_all(&path).expect("an old scratch folder can be removed");
        }
        fs::create_dir_all(&path).expect("a scratch folder can be created");
        Scratch(path)
    }

    /// A folder with the files given.
    pub fn with(name: &str, files: &[(&str, &str)]) -> Scratch {
        let scratch = Scratch::new(name);
        for (path, text) in files {
            scratch.write(path, text);
        }
        scratch
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        let parent = path.parent().expect("a file is in a folder");
        fs::create_dir_all(parent).expect("a folder can be created");
        fs::write(path, bytes).expect("a scratch file can be written");
    }

    pub fn read(&self, path: &str) -> String {
        let bytes = fs::read(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        String::from_utf8(bytes).expect("generated files are UTF-8")
    }

    /// All files below a folder, sorted, with `/`; hidden ones too.
    pub fn files(&self, below: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut pending = vec![self.path(below)];
        while let Some(folder) = pending.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries {
                let path = entry.expect("a scratch folder can be read").path();
                if path.is_dir() && !path.is_symlink() {
                    pending.push(path);
                } else {
                    let path = path.strip_prefix(&self.0).expect("it is in the folder");
                    found.push(path.to_str().expect("a UTF-8 name").replace('\\', "/"));
                }
            }
        }
        found.sort();
        found
    }

    /// `duologue` in this folder, with the words of `arguments`, and without environment variables that change its output: git
    /// finds a repository only in the folder, not the one that the tests themselves are in.
    pub fn duologue(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
        command
            .current_dir(&self.0)
            .args(arguments.split_whitespace())
            .env("GIT_CEILING_DIRECTORIES", env!("CARGO_TARGET_TMPDIR"));
        let names = "NO_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS TERM GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITHUB_WORKSPACE \
             LC_ALL LC_CTYPE LANG GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE";
        for name in names.split(' ') {
            command.env_remove(name);
        }
        command
    }

    /// Runs git in this folder, which must succeed.
    pub fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(&self.0);
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        let output = command.args(arguments).output();
        let output = output.expect("git runs; install it with `apt-get install git`");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
    }

    /// Runs `duologue` and writes down what it did.
    pub fn transcript(&self, arguments: &str) -> String {
        transcript(arguments, &run(self.duologue(arguments), b""))
    }

    /// The same of a run that ends with this code and says these words.
    #[track_caller]
    pub fn said(&self, arguments: impl AsRef<str>, code: i32, words: &[&str]) -> String {
        let printed = self.transcript(arguments.as_ref());
        let is_end = printed.ends_with(&format!("--- exit {code} ---\n"));
        let says = words.iter().all(|words| printed.contains(words));
        assert!(is_end && says, "not {code} and {words:?}:\n{printed}");
        printed
    }
}

/// Runs a command with this standard input.
pub fn run(mut command: Command, input: &[u8]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A command that does not read its input is not a failure of the test.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer ends");
    output
}

/// What a command printed on which stream, and its exit code; times are left out.
pub fn transcript(arguments: &str, output: &Output) -> String {
    let mut text = format!("$ duologue {arguments}\n");
    text += &without_times(&String::from_utf8_lossy(&output.stdout));
    if !output.stderr.is_empty() {
        text += "--- stderr ---\n";
        text += &without_times(&String::from_utf8_lossy(&output.stderr));
    }
    let code = output.status.code();
    let _ = writeln!(
        text,
        "--- exit {} ---",
        code.map_or("by a signal".to_owned(), |code| code.to_string())
    );
    text
}

fn without_times(text: &str) -> String {
    let is_number = |word: &str| {
        word.trim_matches(|c: char| c.is_ascii_digit() || c == '.')
            .is_empty()
    };
    let mut lines = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let time = words.windows(3).position(|words| {
            words[0] == "in" && is_number(words[1]) && matches!(words[2], "ms" | "s")
        });
        match time {
            Some(at) => {
                lines += &words[..=at].join(" ");
                lines += " [time]\n";
            }
            None => lines += &format!("{line}\n"),
        }
    }
    lines
}

/// `PATH` with the protocol compiler in it.
pub fn path_with_compiler() -> OsString {
    let compiler = Path::new(env!("CARGO_BIN_EXE_duologue"));
    let own = compiler.parent().expect("it is in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = [own].into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(all).expect("no folder has a colon in its name")
}
