//! The order gateway: on threads, in ZIO and in cats-effect, with the same transcript for all.

use crate::scala::net;
use crate::support::repository;
use crate::support::running::Running;
use crate::support::scala::{Scala, folder, generate_with, maven, sources_in};
use duologue::languages::Options;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// A form of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Threads,
    Zio,
    Cats,
}

impl Form {
    /// The name of its folder, and of the adapter of its library.
    fn name(self) -> &'static str {
        match self {
            Form::Threads => "threads",
            Form::Zio => "zio",
            Form::Cats => "cats",
        }
    }

    /// What it needs besides the module for sockets: the libraries, and the sources of the adapter.
    fn adapter(self, scala: Scala) -> (String, Vec<PathBuf>) {
        let pom = match self {
            Form::Threads => return (String::new(), Vec::new()),
            Form::Zio => "runtime/scala/zio/pom.xml",
            Form::Cats => "runtime/scala/cats/pom.xml",
        };
        let adapter = repository().join("runtime/scala").join(self.name());
        (
            maven::class_path(pom, scala),
            sources_in(&adapter.join("src/main")),
        )
    }

    /// The gateway, which is also a trader. It runs in the Java whose path is `DUOLOGUE_JAVA`, or the one in `PATH`.
    pub fn gateway(self, scala: Scala) -> Command {
        let main = format!("gateway.on{}.Main", self.name());
        java(&self.class_path(scala), &main)
    }

    /// Compiles the form, its tests and, for threads, the queue.
    fn class_path(self, scala: Scala) -> String {
        static BUILT: [[OnceLock<String>; 2]; 3] = [const { [const { OnceLock::new() }; 2] }; 3];
        let build = || {
            let out = folder("orders").join(self.name()).join(scala.name());
            let (libraries, mut sources) = self.adapter(scala);
            let path = format!("{}:{libraries}", net::class_path(scala));
            let service = repository().join("tests/services/orders");
            for part in ["common", self.name(), "test"] {
                sources.extend(sources_in(&service.join(part)));
            }
            sources.extend(protocols());
            scala
                .compile_with(&path, &sources, &out)
                .unwrap_or_else(|failure| panic!("{failure}"));
            format!("{}:{path}", out.display())
        };
        BUILT[self as usize][scala as usize]
            .get_or_init(build)
            .clone()
    }
}

/// What is generated for the gateway.
fn protocols() -> Vec<PathBuf> {
    static GENERATED: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let generate = || {
        let services = repository().join("tests/services");
        let inputs = [
            "protocols/orders.proto",
            "protocols/jobs.proto",
            "orders/exchange.proto",
        ];
        let mut options = Options::default();
        options.remote = true;
        let out = folder("orders").join("protocols");
        generate_with(&inputs.map(|input| services.join(input)), &options, &out);
        sources_in(&out)
    };
    GENERATED.get_or_init(generate).clone()
}

fn java(class_path: &str, main: &str) -> Command {
    let java = std::env::var_os("DUOLOGUE_JAVA").unwrap_or_else(|| "java".into());
    let mut java = Command::new(java);
    java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
    java.args([class_path, main]);
    java
}

/// The programs of one transcript, and where the gateway and the queue listen.
struct Play {
    form: Form,
    scala: Scala,
    /// What the gateway logs when it starts, if that is checked.
    first_log: Option<&'static str>,
    sockets: PathBuf,
    programs: BTreeMap<String, Running>,
}

impl Play {
    fn address(&self, name: &str) -> String {
        format!("unix:{}", self.sockets.join(name).display())
    }

    /// Starts a program of this name with these arguments.
    fn start(&mut self, name: &str, arguments: &[&str]) {
        let (gateway, queue) = (self.address("gateway"), self.address("queue"));
        let mut command = match name {
            "queue" => {
                let path = self.form.class_path(self.scala);
                let mut command = java(&path, "gateway.test.Settling");
                command.arg(&queue);
                command
            }
            "gateway" => {
                let mut command = self.form.gateway(self.scala);
                command.args(["serve", &gateway, &queue]);
                command
            }
            _ => {
                let mut command = self.form.gateway(self.scala);
                command.args(["trade", &gateway]);
                command
            }
        };
        let running = Running::start_talking(command.args(arguments));
        self.programs.insert(name.to_owned(), running);
        if name == "gateway"
            && let Some(line) = self.first_log
        {
            self.await_log(line);
        }
    }

    fn program(&mut self, name: &str) -> &mut Running {
        let program = self.programs.get_mut(name);
        program.unwrap_or_else(|| panic!("{name} does not run"))
    }

    fn act(&mut self, action: &str) {
        let words: Vec<&str> = action.split(' ').collect();
        match words[..] {
            ["kill", name] => drop(self.programs.remove(name)),
            ["end", name] => self.program(name).end_input(),
            ["tell", name, line] => self.program(name).say(line),
            [name, ref arguments @ ..] => self.start(name, arguments),
            [] => panic!("`$` without an action"),
        }
    }

    fn expect(&mut self, name: &str, wanted: &str) {
        let line = self.program(name).line();
        // The address at which a program listens is not part of the transcript.
        let line = line.replace(&format!(" {}", self.address(name)), "");
        assert_eq!(line, wanted, "{name}, {:?}, {:?}", self.form, self.scala);
    }

    /// Waits for a line of the gateway's log.
    fn await_log(&mut self, wanted: &str) {
        while self.program("gateway").error_line() != wanted {}
    }
}

/// Plays a transcript: what programs print must be what is written there, and each ends normally.
fn plays(form: Form, scala: Scala, transcript: &str, first_log: Option<&'static str>) {
    let name = format!(
        "duologue-orders-{}-{form:?}-{scala:?}-{transcript}",
        std::process::id()
    );
    let sockets = std::env::temp_dir().join(name);
    fs::create_dir(&sockets).expect("the folder for temporary files can be written");
    let mut play = Play {
        form,
        scala,
        first_log,
        sockets: sockets.clone(),
        programs: BTreeMap::new(),
    };
    let file = repository().join("tests/services/orders/test");
    let text = fs::read_to_string(file.join(transcript)).expect("it is in the repository");
    let mut trader = String::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
        } else if let Some(action) = line.strip_prefix("$ ") {
            play.act(action);
        } else if let Some(line) = line.strip_prefix("log: ") {
            play.await_log(line);
        } else if let Some(line) = line.strip_prefix("queue: ") {
            play.expect("queue", line);
        } else if let Some(line) = line.strip_prefix("gateway: ") {
            play.expect("gateway", line);
        } else if let Some((name, words)) = line.split_once("> ") {
            name.clone_into(&mut trader);
            if !play.programs.contains_key(name) {
                play.start(name, &[]);
            }
            play.program(name).say(words);
        } else {
            play.expect(&trader, line);
        }
    }
    for (name, mut program) in play.programs {
        program.end_input();
        let outcome = program.end();
        assert_eq!(outcome.code, Some(0), "{name}, {form:?}: {outcome:?}");
        assert!(outcome.lines.is_empty(), "{name}, {form:?}: {outcome:?}");
    }
    fs::remove_dir_all(&sockets).expect("it can be removed");
}

fn keeps_to_the_transcripts(form: Form, versions: &[Scala], first_log: Option<&'static str>) {
    for scala in versions {
        for transcript in ["trading.txt", "limits.txt"] {
            plays(form, *scala, transcript, first_log);
        }
    }
}

const BOTH: [Scala; 2] = [Scala::Three, Scala::Two];

#[test]
fn the_order_gateway_on_threads() {
    keeps_to_the_transcripts(Form::Threads, &[Scala::Three], None);
}

/// Before Java 21 it would use other threads.
#[test]
#[ignore = "nightly: virtual-threads"]
fn the_order_gateway_on_virtual_threads() {
    keeps_to_the_transcripts(Form::Threads, &BOTH, Some("accepting in a virtual thread"));
}

#[test]
#[ignore = "nightly: effects"]
fn the_order_gateway_in_zio() {
    keeps_to_the_transcripts(Form::Zio, &BOTH, None);
}

#[test]
#[ignore = "nightly: effects"]
fn the_order_gateway_in_cats_effect() {
    keeps_to_the_transcripts(Form::Cats, &BOTH, None);
}

#[test]
fn the_usage_of_the_order_gateway() {
    let mut gateway = Form::Threads.gateway(Scala::Three);
    let outcome = Running::start(gateway.args(["serve", "unix:only"])).end();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.errors.starts_with("usage: "), "{outcome:?}");
}
