//! The three services, each in its language, over Unix sockets: an alarm of the C gateway and a settlement of the Scala gateway are jobs of
//! the Rust queue.

#![cfg(target_os = "linux")]

use super::orders::Form;
use super::sensors::{Programs, find, finish, programs};
use crate::remote::{Sockets, unix};
use crate::rust::jobs_program;
use crate::support::c::{Compiler, Watch};
use crate::support::running::Running;
use crate::support::scala::Scala;
use std::process::Command;

fn started(mut command: Command, arguments: &[&str], address: &str) -> Running {
    let mut program = Running::start_talking(command.args(arguments));
    assert_eq!(program.line(), format!("listening {address}"));
    program
}

fn expect(program: &mut Running, lines: &[&str]) {
    for line in lines {
        assert_eq!(program.line(), *line);
    }
}

/// The services at their addresses.
struct Services {
    programs: Programs,
    addresses: [String; 3],
    queue: Running,
    sensors: Running,
    orders: Running,
}

impl Services {
    fn queue(address: &str) -> Running {
        let arguments = ["serve", "--work", "alarm,settle", address];
        started(jobs_program(), &arguments, address)
    }

    fn start(sockets: &Sockets) -> Services {
        let programs = programs(Compiler::Gcc, Watch::Plain);
        let addresses = ["jobs", "sensors", "orders"].map(|name| unix(&sockets.path(name)));
        let [jobs, sensors, orders] = &addresses;
        let gateway = Form::Threads.gateway(Scala::Three);
        Services {
            queue: Services::queue(jobs),
            sensors: started(Command::new(&programs.gateway), &[sensors, jobs], sensors),
            orders: started(gateway, &["serve", orders, jobs], orders),
            programs,
            addresses,
        }
    }

    fn trader(&self) -> Running {
        let mut trade = Form::Threads.gateway(Scala::Three);
        let mut trader = Running::start_talking(trade.args(["trade", &self.addresses[2]]));
        trader.say("login ada engine");
        expect(&mut trader, &["logged in"]);
        trader
    }

    fn sensor(&self) -> Running {
        let mut sensor = Command::new(&self.programs.sensor);
        let mut sensor = Running::start_talking(sensor.args([&self.addresses[1], "oven", "°C"]));
        expect(&mut sensor, &["welcome: every 10 ms, from 0 to 100"]);
        sensor
    }

    /// A settlement and an alarm, which the queue numbers from 1.
    fn exchange(
        &mut self,
        trader: &mut Running,
        sensor: &mut Running,
        [order, position]: [&str; 2],
    ) {
        trader.say("buy INITECH 10 1000");
        expect(trader, &[order]);
        // The price depends on what was bought before.
        assert!(trader.line().starts_with("10 at "));
        expect(trader, &["completed, settled by job 1"]);
        while self.orders.error_line() != "job 1 is done" {}
        trader.say("position INITECH");
        expect(trader, &[position]);
        // An alarm is the first reading out of bounds.
        for reading in ["reading 50", "reading 150"] {
            sensor.say(reading);
        }
        sensor.say("poll");
        expect(sensor, &["go_on"]);
        let outcome = find(&mut self.sensors, "outcome oven");
        assert!(outcome.starts_with("outcome oven: done, "), "{outcome}");
    }
}

#[test]
fn services_in_three_languages_work_together() {
    let sockets = Sockets::new();
    let mut services = Services::start(&sockets);
    let (mut trader, mut sensor) = (services.trader(), services.sensor());
    services.exchange(
        &mut trader,
        &mut sensor,
        ["order 1", "position: 10 INITECH"],
    );

    // The queue is replaced while both gateways have sessions with it, and sessions of their own.
    let jobs = services.addresses[0].clone();
    assert!(finish(services.queue).is_empty());
    services.queue = Services::queue(&jobs);
    services.exchange(
        &mut trader,
        &mut sensor,
        ["order 2", "position: 20 INITECH"],
    );

    // A client in the third language.
    let submitted = Running::start(jobs_program().args(["submit", &jobs, "alarm", "cellar"])).end();
    assert_eq!(submitted.lines, ["alarm: cellar"], "{submitted:?}");

    trader.say("logout");
    expect(&mut trader, &["logged out"]);
    finish(trader);
    finish(sensor);
    find(&mut services.sensors, "left oven");
    assert_eq!(
        finish(services.orders),
        [
            "closing",
            "closed after 2 jobs: 2 done, 0 failed, 0 unknown"
        ]
    );
    let summary = finish(services.sensors);
    assert_eq!(
        summary[summary.len() - 2..],
        [
            "alarms: 2 raised, 0 dropped, 0 unsent",
            "outcomes: 2 done, 0 failed, 0 unknown",
        ]
    );
    finish(services.queue);
}
