//! The order gateway: on threads and in ZIO, with the same transcript for both.

use super::play::play;
use crate::scala::net;
use crate::support::repository;
use crate::support::scala::{Scala, folder, generate_with, maven, sources_in};
use duologue::languages::Options;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// A form of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Threads,
    Zio,
}

impl Form {
    /// The name of its folder, and of the adapter of its library.
    fn name(self) -> &'static str {
        match self {
            Form::Threads => "threads",
            Form::Zio => "zio",
        }
    }

    /// What it needs besides the module for sockets: the libraries, and the sources of the adapter.
    fn adapter(self, scala: Scala) -> (String, Vec<PathBuf>) {
        let pom = match self {
            Form::Threads => return (String::new(), Vec::new()),
            Form::Zio => "runtime/scala/zio/pom.xml",
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
        static BUILT: [[OnceLock<String>; 2]; 2] = [const { [const { OnceLock::new() }; 2] }; 2];
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

/// Plays the transcripts with a form of the gateway: as the gateway, and as each trader.
fn keeps_to_the_transcripts(form: Form, versions: &[Scala], first_log: Option<&'static str>) {
    for scala in versions {
        let commands = |name: &str, words: &[&str], address: &dyn Fn(&str) -> String| {
            let [gateway, queue] = ["gateway", "queue"].map(address);
            let (mut command, own) = match name {
                "queue" => (
                    java(&form.class_path(*scala), "gateway.test.Settling"),
                    vec![queue],
                ),
                "gateway" => (
                    form.gateway(*scala),
                    vec!["serve".to_owned(), gateway, queue],
                ),
                _ => (form.gateway(*scala), vec!["trade".to_owned(), gateway]),
            };
            command.args(own).args(words);
            command
        };
        for transcript in ["orders/test/trading.txt", "orders/test/limits.txt"] {
            play(transcript, &commands, first_log);
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
