//! A server that clients in any language ask about its services, and such a client: `ask server|client ADDRESS`.
//!
//! The server has a session of its own, which delays a drain. It prints `listening ADDRESS`, and reads lines: after `set SERVICE
//! STATUS` it prints `set`, after `drain` it drains and prints `draining`, and after `end` it ends its session, waits until the
//! listener is drained, and prints `drained`. The client reads `check SERVICE`, and prints `checked` and the status, or `failed` if it
//! finds no server; and `watch SERVICE`, after which it prints `watched` and each status, and at the end `watched over`. A status is
//! `unknown`, `serving` or `not_serving`; the service `-` is the whole server. The programs in C and Scala do the same.
#![forbid(unsafe_code)]

use conversations::protocols::pingpong::{client, server};
use duologue_net::health::{self, Health, Status};
use duologue_net::{Connector, Error, Listener};
use std::error::Error as Failure;
use std::io::{Lines, StdinLock, Write};
use std::{env, io, thread};

const STATUSES: [(&str, Status); 3] = [
    ("unknown", Status::Unknown),
    ("serving", Status::Serving),
    ("not_serving", Status::NotServing),
];

fn text(status: &Status) -> &'static str {
    let known = STATUSES.iter().find(|(_, known)| known == status);
    known.map_or("?", |(text, _)| text)
}

/// Prints a line at once, also into a pipe.
fn print(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// The words of the next line of the input; none at its end.
fn next(lines: &mut Lines<StdinLock<'_>>) -> io::Result<Vec<String>> {
    let line = lines.next().transpose()?.unwrap_or_default();
    Ok(line.split_whitespace().map(str::to_owned).collect())
}

fn service(word: &str) -> &str {
    if word == "-" { "" } else { word }
}

fn serve(address: &str) -> Result<(), Box<dyn Failure>> {
    let health = Health::new();
    let mut listener = Listener::bind(address)?;
    let address = listener.address().to_string();
    // Until the client leaves.
    listener.serve(|ping: server::Ping| drop(ping.recv()));
    listener.health(&health);
    let drain = listener.drain();
    let running = thread::spawn(move || listener.run());
    let held: client::Ping = duologue_net::connect(&address)?;
    print(&format!("listening {address}"))?;
    let mut lines = io::stdin().lines();
    loop {
        match &next(&mut lines)?[..] {
            [set, name, status] if set == "set" => {
                let known = STATUSES.iter().find(|(text, _)| text == status);
                let (_, status) = known.ok_or("a status")?;
                health.set(service(name), status.clone());
                print("set")?;
            }
            [word] if word == "drain" => break,
            words => return Err(format!("set or drain, not {words:?}").into()),
        }
    }
    drain.begin();
    print("draining")?;
    if next(&mut lines)? != ["end"] {
        return Err("end".into());
    }
    drop(held);
    running.join().expect("it does not panic")?;
    print("drained")?;
    Ok(())
}

fn watch(address: &str, name: &str) -> Result<(), Box<dyn Failure>> {
    for status in health::watch(&Connector::new(), address, name)? {
        print(&format!("watched {}", text(&status?)))?;
    }
    print("watched over")?;
    Ok(())
}

fn ask(address: &str) -> Result<(), Box<dyn Failure>> {
    let mut lines = io::stdin().lines();
    thread::scope(|scope| {
        loop {
            match &next(&mut lines)?[..] {
                [word, name] if word == "watch" => {
                    let name = service(name).to_owned();
                    scope.spawn(move || watch(address, &name).expect("it ends with the drain"));
                }
                [word, name] if word == "check" => {
                    let status = match health::check(&Connector::new(), address, service(name)) {
                        Ok(status) => text(&status),
                        Err(Error::Io { .. }) => "failed",
                        Err(error) => return Err(error.into()),
                    };
                    print(&format!("checked {status}"))?;
                }
                _ => return Ok(()),
            }
        }
    })
}

fn main() -> Result<(), Box<dyn Failure>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments[..] {
        [role, address] if role == "server" => serve(address),
        [role, address] if role == "client" => ask(address),
        _ => Err("ask server|client ADDRESS".into()),
    }
}
