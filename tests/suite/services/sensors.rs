//! The sensor gateway, with simulated sensors and a job queue that is written for these tests.

#![cfg(target_os = "linux")]

use super::play::play;
use crate::c::{generate_with, quiet};
use crate::support::c::{Compiler, Program, Watch, scratch, sources_in};
use crate::support::repository;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

#[derive(Clone)]
pub struct Programs {
    pub gateway: PathBuf,
    pub sensor: PathBuf,
    queue: PathBuf,
}

/// Each program with its files.
const GATEWAY: [&str; 5] = [
    "gateway.c",
    "sessions.c",
    "devices.c",
    "backlog.c",
    "worker.c",
];
const SENSOR: [&str; 1] = ["sensor.c"];
const QUEUE: [&str; 1] = ["queue.c"];

fn build(compiler: Compiler, watch: Watch) -> Programs {
    let name = format!("services-sensors-{compiler:?}-{watch:?}");
    let folder = repository().join("tests/services");
    let protos = ["sensors.proto", "jobs.proto"].map(|file| folder.join("protocols").join(file));
    let generated = generate_with(&name, &protos, &["--c-events", "--remote"]);
    let includes = [generated.clone()];
    let sources = sources_in(&generated);
    let shared = Program {
        compiler,
        ..quiet(watch, &sources, &includes, &generated)
    };
    let objects = shared
        .objects()
        .unwrap_or_else(|complaint| panic!("{compiler:?}, {watch:?}:\n{complaint}"));
    let link = |program: &str, files: &[&str]| {
        let sources: Vec<PathBuf> = files
            .iter()
            .map(|file| folder.join("sensors").join(file))
            .collect();
        let own = scratch(&format!("{name}-{program}"));
        let program = Program {
            compiler,
            objects: &objects,
            ..quiet(watch, &sources, &includes, &own)
        };
        program
            .link()
            .unwrap_or_else(|complaint| panic!("{compiler:?}, {watch:?}:\n{complaint}"))
    };
    Programs {
        gateway: link("gateway", &GATEWAY),
        sensor: link("sensor", &SENSOR),
        queue: link("queue", &QUEUE),
    }
}

/// The programs for one compiler and checker, built once in a run of the tests.
pub fn programs(compiler: Compiler, watch: Watch) -> Programs {
    static BUILT: Mutex<BTreeMap<(Compiler, Watch), Programs>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    built
        .entry((compiler, watch))
        .or_insert_with(|| build(compiler, watch))
        .clone()
}

/// Plays a transcript under every checker: with clang under the address sanitizer, with gcc under the others, and under valgrind only
/// the gateway. Programs that are neither the gateway nor the queue are sensors of their names, or of those that are given.
fn plays(transcript: &str) {
    let has_clang = Compiler::all().contains(&Compiler::Clang);
    for watch in Watch::all() {
        let compiler = match watch {
            Watch::Address if has_clang => Compiler::Clang,
            Watch::Plain | Watch::Address | Watch::Thread | Watch::Valgrind => Compiler::Gcc,
        };
        let built = match watch {
            Watch::Valgrind => Watch::Plain,
            Watch::Plain | Watch::Address | Watch::Thread => watch,
        };
        let programs = programs(compiler, built);
        let commands = |name: &str, words: &[&str], address: &dyn Fn(&str) -> String| {
            let (mut command, own) = match name {
                "queue" => (
                    Command::new(&programs.queue),
                    vec![address(name), words.concat()],
                ),
                // The threads of the runtime that write to sockets live as long as the process. What valgrind calls possibly lost is theirs.
                "gateway" => (
                    watch.command(&programs.gateway, &["--errors-for-leak-kinds=definite"]),
                    vec![address(name), address("queue")],
                ),
                _ => {
                    let name = if words.is_empty() {
                        name.to_owned()
                    } else {
                        words.join(" ")
                    };
                    let own = vec![address("gateway"), name, "°C".to_owned()];
                    (Command::new(&programs.sensor), own)
                }
            };
            command.args(own);
            command
        };
        play(&format!("sensors/test/{transcript}.txt"), &commands, None);
    }
}

#[test]
fn sensors_are_told_what_to_do() {
    plays("told");
}

#[test]
fn many_sensors_measure_at_once() {
    plays("many");
}

#[test]
fn a_sensor_breaks_off() {
    plays("breaks_off");
}

#[test]
fn alarms_wait_for_a_queue_that_is_full() {
    plays("queue_full");
}

#[test]
fn alarms_wait_for_a_queue_that_is_down() {
    plays("queue_down");
}
