//! The sensor gateway, with simulated sensors and a job queue that is written for these tests.

#![cfg(target_os = "linux")]

use crate::c::{generate_with, quiet};
use crate::remote::{Sockets, unix};
use crate::support::c::{Compiler, Program, Watch, scratch, sources_in};
use crate::support::repository;
use crate::support::running::{Outcome, Running};
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

/// Runs a test under every checker: with clang under the address sanitizer, with gcc under the others, and under valgrind only the
/// gateway.
fn with_programs(test: impl Fn(&Place)) {
    let has_clang = Compiler::all().contains(&Compiler::Clang);
    for watch in Watch::all() {
        let compiler = if has_clang && watch == Watch::Address {
            Compiler::Clang
        } else {
            Compiler::Gcc
        };
        let built = match watch {
            Watch::Valgrind => Watch::Plain,
            Watch::Plain | Watch::Address | Watch::Thread => watch,
        };
        test(&Place {
            watch,
            programs: programs(compiler, built),
            sockets: Sockets::new(),
        });
    }
}

/// The programs, and the sockets at which they find each other.
struct Place {
    watch: Watch,
    programs: Programs,
    sockets: Sockets,
}

impl Place {
    fn start(mut command: Command, arguments: &[&str]) -> Running {
        Running::start_talking(command.args(arguments))
    }

    fn gateway_address(&self) -> String {
        unix(&self.sockets.path("sensors"))
    }

    fn queue_address(&self) -> String {
        unix(&self.sockets.path("jobs"))
    }

    fn gateway(&self) -> Running {
        let (own, queue) = (self.gateway_address(), self.queue_address());
        // The threads of the runtime that write to sockets live as long as the process. What valgrind calls possibly lost is theirs.
        let command = self.watch.command(
            &self.programs.gateway,
            &["--errors-for-leak-kinds=definite"],
        );
        let mut gateway = Place::start(command, &[&own, &queue]);
        assert_eq!(gateway.line(), format!("listening {own}"));
        gateway
    }

    /// A job queue that is full this many times.
    fn queue(&self, refusals: usize) -> Running {
        let own = self.queue_address();
        let command = Command::new(&self.programs.queue);
        let mut queue = Place::start(command, &[&own, &refusals.to_string()]);
        assert_eq!(queue.line(), format!("listening {own}"));
        queue
    }

    fn connect(&self, name: &str) -> Running {
        let command = Command::new(&self.programs.sensor);
        Place::start(command, &[&self.gateway_address(), name, "°C"])
    }

    /// A sensor that the gateway has admitted.
    fn sensor(&self, name: &str) -> Running {
        let mut sensor = self.connect(name);
        let line = sensor.line();
        if line != "welcome: every 10 ms, from 0 to 100" {
            panic!("{name}: {line:?}, {:?}", sensor.end());
        }
        sensor
    }
}

/// Reads the lines of a program until one of them begins like this.
pub fn find(program: &mut Running, start: &str) -> String {
    loop {
        let line = program.line();
        assert!(!line.is_empty(), "the program ended without `{start}`");
        if line.starts_with(start) {
            return line;
        }
    }
}

fn say_all(program: &mut Running, lines: &[&str]) {
    for line in lines {
        program.say(line);
    }
}

/// Ends a program by closing its input; returns what it wrote after the last line that was read.
pub fn finish(mut program: Running) -> Vec<String> {
    program.end_input();
    let Outcome {
        lines,
        code,
        errors,
    } = program.end();
    assert_eq!(code, Some(0), "{lines:#?}\n{errors}");
    lines
}

/// The last lines of a gateway, which are its summary.
fn summary(gateway: Running, count: usize) -> Vec<String> {
    let mut lines = finish(gateway);
    lines.split_off(lines.len().saturating_sub(count))
}

#[test]
fn sensors_are_told_what_to_do() {
    with_programs(|place| {
        let queue = place.queue(0);
        let mut gateway = place.gateway();
        let mut oven = place.sensor("oven");
        assert_eq!(gateway.line(), "registered oven");
        for (name, refusal) in [
            ("oven", "rejected: the name is taken"),
            ("o ven", "rejected: this is not a valid name"),
        ] {
            let mut other = place.connect(name);
            assert_eq!(other.line(), refusal);
            other.end_input();
            assert_eq!(other.end().code, Some(1));
        }
        say_all(&mut oven, &["reading 50", "poll"]);
        assert_eq!(oven.line(), "go_on");
        gateway.say("set oven 0 20 40");
        assert_eq!(gateway.line(), "set oven");
        oven.say("poll");
        assert_eq!(oven.line(), "change: every 0 ms, from 20 to 40");
        // Only the first reading that is out of bounds is an alarm, until one is within them again.
        say_all(&mut oven, &["reading 50", "late 60 30 nan", "poll"]);
        assert_eq!(oven.line(), "go_on");
        let alarms = [(); 2].map(|()| find(&mut gateway, "alarm"));
        assert_eq!(
            alarms,
            ["alarm oven: 50 °C at 1 ms", "alarm oven: nan °C at 4 ms"]
        );
        gateway.say("show nobody");
        find(&mut gateway, "no sensor has this name");
        gateway.say("open oven");
        find(&mut gateway, "commands: ");
        gateway.say("stop oven");
        find(&mut gateway, "stop oven");
        oven.say("poll");
        assert_eq!(oven.line(), "stop");
        assert_eq!(oven.end().code, Some(0));
        find(&mut gateway, "stopped oven");
        assert_eq!(
            summary(gateway, 5),
            [
                "oven: 4 readings, last 30, mean 47.5, from 30 to 60 °C; 2 alarms, 2 outcomes, the last one: done, 4 bytes",
                "sensors: 1 registered, 0 lost",
                "readings: 5",
                "alarms: 2 raised, 0 dropped, 0 unsent",
                "outcomes: 2 done, 0 failed, 0 unknown",
            ]
        );
        assert_eq!(finish(queue), ["refused 0, accepted 2"]);
    });
}

#[test]
fn many_sensors_measure_at_once() {
    const SENSORS: usize = 6;
    with_programs(|place| {
        let queue = place.queue(0);
        let mut gateway = place.gateway();
        let mut sensors = Vec::new();
        for number in 0..SENSORS {
            let mut sensor = place.sensor(&format!("sensor-{number}"));
            sensor.say("simulate 40");
            sensors.push(sensor);
        }
        for sensor in sensors {
            assert_eq!(finish(sensor), ["simulated"]);
        }
        for _ in 0..SENSORS {
            find(&mut gateway, "left sensor-");
        }
        let lines = summary(gateway, SENSORS + 4);
        assert!(lines[0].starts_with("sensor-0: 40 readings, last 102.564, mean 53.8462, from 5.12821 to 102.564 °C; 2 alarms, 2 outcomes"));
        assert_eq!(
            lines[SENSORS..],
            [
                "sensors: 6 registered, 0 lost",
                "readings: 240",
                "alarms: 12 raised, 0 dropped, 0 unsent",
                "outcomes: 8 done, 4 failed, 0 unknown",
            ]
        );
        assert_eq!(finish(queue), ["refused 0, accepted 12"]);
    });
}

/// One sensor vanishes, and comes back with what it has measured meanwhile. Another one is still there when the gateway closes, and does
/// not poll.
#[test]
fn a_sensor_breaks_off() {
    with_programs(|place| {
        let mut gateway = place.gateway();
        let mut sensor = place.sensor("tank");
        say_all(&mut sensor, &["reading 10", "vanish"]);
        assert_eq!(sensor.end().code, Some(0));
        find(&mut gateway, "lost tank");
        let mut sensor = place.sensor("tank");
        say_all(&mut sensor, &["late 20 30", "poll"]);
        assert_eq!(sensor.line(), "go_on");
        let mut silent = place.sensor("silent");
        find(&mut gateway, "registered silent");
        gateway.end_input();
        // The gateway closes its socket first.
        while place.sockets.path("sensors").exists() {
            std::thread::yield_now();
        }
        sensor.say("poll");
        assert_eq!(sensor.line(), "stop");
        assert_eq!(sensor.end().code, Some(0));
        assert_eq!(
            summary(gateway, 8),
            [
                "stopped tank",
                "closed silent",
                "silent: 0 readings, last 0, mean 0, from 0 to 0 °C; 0 alarms, 0 outcomes, the last one: none",
                "tank: 3 readings, last 30, mean 20, from 10 to 30 °C; 0 alarms, 0 outcomes, the last one: none",
                "sensors: 3 registered, 1 lost",
                "readings: 3",
                "alarms: 0 raised, 0 dropped, 0 unsent",
                "outcomes: 0 done, 0 failed, 0 unknown",
            ]
        );
        silent.say("poll");
        let outcome = silent.end();
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert_eq!(outcome.lines, ["the peer closed the session"]);
    });
}

#[test]
fn alarms_wait_for_a_queue_that_is_full() {
    with_programs(|place| {
        let queue = place.queue(7);
        let mut gateway = place.gateway();
        let mut sensor = place.sensor("oven");
        say_all(&mut sensor, &["late 200 10 200 10 200", "poll"]);
        assert_eq!(sensor.line(), "go_on");
        for _ in 0..3 {
            find(&mut gateway, "outcome oven: ");
        }
        finish(sensor);
        find(&mut gateway, "left oven");
        assert_eq!(
            summary(gateway, 2),
            [
                "alarms: 3 raised, 0 dropped, 0 unsent",
                "outcomes: 2 done, 1 failed, 0 unknown"
            ]
        );
        assert_eq!(finish(queue), ["refused 7, accepted 3"]);
    });
}

/// The queue starts late, ends, and does not come back; then alarms fill the backlog, which is bounded.
#[test]
fn alarms_wait_for_a_queue_that_is_down() {
    with_programs(|place| {
        let mut gateway = place.gateway();
        let mut sensor = place.sensor("oven");
        sensor.say("reading 200");
        find(&mut gateway, "alarm oven: 200 °C at 0 ms");
        let queue = place.queue(0);
        find(&mut gateway, "outcome oven: done, 4 bytes");
        assert_eq!(finish(queue), ["refused 0, accepted 1"]);
        let late = "late".to_owned() + &" 10 200".repeat(40);
        say_all(&mut sensor, &[&late, "poll"]);
        assert_eq!(sensor.line(), "go_on");
        find(&mut gateway, "alarm oven: 200 °C at 80 ms, dropped");
        finish(sensor);
        find(&mut gateway, "left oven");
        assert_eq!(
            summary(gateway, 2),
            [
                "alarms: 41 raised, 8 dropped, 32 unsent",
                "outcomes: 1 done, 0 failed, 0 unknown"
            ]
        );
    });
}
