//! The three services, each in its language, over Unix sockets: an alarm of the C gateway and a settlement of the Scala gateway are jobs of
//! the Rust queue.

#![cfg(target_os = "linux")]

use super::orders::Form;
use super::play::play;
use super::sensors::programs;
use crate::rust::jobs_program;
use crate::support::c::{Compiler, Watch};
use crate::support::scala::Scala;
use std::process::Command;

#[test]
fn services_in_three_languages_work_together() {
    let programs = programs(Compiler::Gcc, Watch::Plain);
    let commands = |name: &str, words: &[&str], address: &dyn Fn(&str) -> String| {
        let [queue, sensors, gateway] = ["queue", "sensors", "gateway"].map(address);
        let orders = || Form::Threads.gateway(Scala::Three);
        let (mut command, own) = match name {
            "queue" => (jobs_program(), vec!["serve", &*queue]),
            "worker" => (jobs_program(), vec!["work", &queue]),
            "submit" => (jobs_program(), vec!["submit", &queue]),
            "sensors" => (Command::new(&programs.gateway), vec![&*sensors, &queue]),
            "oven" => (Command::new(&programs.sensor), vec![&*sensors, name, "°C"]),
            "gateway" => (orders(), vec!["serve", &gateway, &queue]),
            _ => (orders(), vec!["trade", &gateway]),
        };
        command.args(own).args(words);
        command
    };
    play("together.txt", &commands, None);
}
