//! Transcripts of programs that talk to each other. Their lines are
//!
//! - `# ...`: a comment;
//! - `NAME> LINE`: what is said to a program, which is started if it does not run; the lines below that have no mark are its answers;
//! - `NAME: LINE`: what a program prints next;
//! - `NAME.. LINE`: the same, after other lines; a `*` at the end of a line stands for the rest of it;
//! - `log: LINE`: waits for a line of the log of the program `gateway`;
//! - `$ NAME WORDS...`: starts a program;
//! - `$ end NAME`, `$ kill NAME`, `$ tell NAME LINE`: ends its input, kills it, or tells it something;
//! - `$ exits NAME CODE`: waits for its end, after which there are no further lines;
//! - `$ gone NAME`: waits until nothing listens at its address.

use crate::remote::{Sockets, unix};
use crate::support::repository;
use crate::support::running::Running;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// The commands of programs by their names and words. The address of each program is known.
pub type Commands<'a> = &'a dyn Fn(&str, &[&str], &dyn Fn(&str) -> String) -> Command;

struct Play<'a> {
    commands: Commands<'a>,
    /// The first line of the log of the gateway, if that is checked.
    first_log: Option<&'static str>,
    sockets: Sockets,
    programs: BTreeMap<String, Running>,
}

/// Plays a transcript of `tests/services`. At its end, each program that still runs ends normally, without further lines.
pub fn play(transcript: &str, commands: Commands, first_log: Option<&'static str>) {
    let path = repository().join("tests/services").join(transcript);
    let text = fs::read_to_string(path).expect("it is in the repository");
    let mut play = Play {
        commands,
        first_log,
        sockets: Sockets::new(),
        programs: BTreeMap::new(),
    };
    let mut speaker = String::new();
    for line in text.lines() {
        let is_name = |name: &str| !name.is_empty() && !name.contains(' ');
        let marked = |mark| line.split_once(mark).filter(|(name, _)| is_name(name));
        if line.is_empty() || line.starts_with('#') {
        } else if let Some(action) = line.strip_prefix("$ ") {
            play.act(action);
        } else if let Some(line) = line.strip_prefix("log: ") {
            play.await_log(line);
        } else if let Some((name, words)) = marked("> ") {
            name.clone_into(&mut speaker);
            if !play.programs.contains_key(name) {
                play.start(name, &[]);
            }
            play.program(name).say(words);
        } else if let Some((name, line)) = marked(".. ") {
            while !play.says(name, line).1 {}
        } else if let Some((name, line)) = marked(": ").filter(|(name, _)| play.has(name)) {
            play.expect(name, line);
        } else {
            play.expect(&speaker, line);
        }
    }
    let names: Vec<String> = play.programs.keys().cloned().collect();
    for name in names {
        play.program(&name).end_input();
        play.exits(&name, 0);
    }
}

impl Play<'_> {
    fn has(&self, name: &str) -> bool {
        self.programs.contains_key(name)
    }

    fn program(&mut self, name: &str) -> &mut Running {
        let program = self.programs.get_mut(name);
        program.unwrap_or_else(|| panic!("{name} does not run"))
    }

    fn start(&mut self, name: &str, words: &[&str]) {
        let sockets = &self.sockets;
        let address = |name: &str| unix(&sockets.path(name));
        let mut command = (self.commands)(name, words, &address);
        let program = Running::start_talking(&mut command);
        self.programs.insert(name.to_owned(), program);
        if let Some(line) = self.first_log.filter(|_| name == "gateway") {
            self.await_log(line);
        }
    }

    fn await_log(&mut self, wanted: &str) {
        while self.program("gateway").error_line() != wanted {}
    }

    fn act(&mut self, action: &str) {
        let words: Vec<&str> = action.split(' ').collect();
        match words[..] {
            ["kill", name] => drop(self.programs.remove(name)),
            ["end", name] => self.program(name).end_input(),
            ["tell", name, line] => self.program(name).say(line),
            ["exits", name, code] => self.exits(name, code.parse().expect("a number")),
            ["gone", name] => {
                while self.sockets.path(name).exists() {
                    std::thread::yield_now();
                }
            }
            [name, ref words @ ..] => self.start(name, words),
            [] => panic!("`$` without an action"),
        }
    }

    fn exits(&mut self, name: &str, code: i32) {
        let program = self.programs.remove(name).expect("it runs");
        let outcome = program.end();
        assert_eq!(outcome.code, Some(code), "{name}: {outcome:?}");
        assert!(outcome.lines.is_empty(), "{name}: {outcome:?}");
    }

    /// The next line of a program, and whether it is this one. The address at which it listens is not part of the transcript.
    fn says(&mut self, name: &str, wanted: &str) -> (String, bool) {
        let address = unix(&self.sockets.path(name));
        let line = self.program(name).line();
        assert!(!line.is_empty(), "{name} has ended, without `{wanted}`");
        let line = line.replace(&format!(" {address}"), "");
        let is_wanted = match wanted.strip_suffix('*') {
            Some(start) => line.starts_with(start),
            None => line == wanted,
        };
        (line, is_wanted)
    }

    fn expect(&mut self, name: &str, wanted: &str) {
        let (line, is_wanted) = self.says(name, wanted);
        assert!(is_wanted, "{name}: not `{wanted}`, but `{line}`");
    }
}
