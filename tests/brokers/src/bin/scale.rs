//! Measures what a NATS server, a server and its clients need for sessions: `scale [SECONDS]`. Starts a NATS server and a server in a
//! process of its own, and prints tables for `docs/scaling.md`. The clients are in this process. `scale serve ADDRESS` is the server.
//!
//! Processor time is what counts: the processes share the processors of one machine, so how much they do in a second says little.
#![forbid(unsafe_code)]

use brokers::nats::Server;
use brokers::protocols::pingpong::{self, client, server};
use duologue_net::{Connector, Error, Listener};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

/// How many sessions at once are measured.
const STEPS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// How many idle sessions there are when memory is measured.
const IDLE: [usize; 3] = [0, 1_000, 4_000];

/// How many connections a NATS server has when its memory is measured.
const CONNECTIONS: [usize; 3] = [0, 1_000, 4_000];

fn handle(mut ping: server::Ping) {
    while let Ok(pingpong::Ping::Ping(next)) = ping.recv() {
        let Ok(next) = next.pong() else { return };
        ping = next;
    }
}

fn serve(address: &str) -> Result<(), Error> {
    let mut listener = Listener::bind(address)?;
    listener.max_sessions(10_000);
    listener.serve(handle);
    listener.run()
}

fn connect(address: &str) -> Result<client::Ping, Error> {
    let connector = Connector::new().timeout(Duration::from_secs(30));
    connector.connect(address)
}

/// What a client's process is for a NATS server: a connection with one subscription.
fn connection(nats: &str, number: usize) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(nats)?;
    let hello =
        format!("CONNECT {{\"verbose\":false}}\r\nSUB duo.at.{number:032x}.* 1\r\nPING\r\n");
    stream.write_all(hello.as_bytes())?;
    let mut answered = Vec::new();
    let mut part = [0; 4096];
    while !answered.windows(4).any(|bytes| bytes == b"PONG") {
        let count = stream.read(&mut part)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        answered.extend_from_slice(&part[..count]);
    }
    Ok(stream)
}

/// How much memory the connections of other processes take in a NATS server.
fn connections() {
    let nats = Server::start();
    let process = Process(nats.process().expect("it runs"));
    println!("\n| connections | NATS, MiB |\n| --- | --- |");
    let mut all = Vec::new();
    for count in CONNECTIONS {
        while all.len() < count {
            all.push(connection(&nats.host(), all.len()).expect("`ulimit -n` is 10,000 or more"));
        }
        thread::sleep(Duration::from_millis(500));
        let memory = process.memory() as f64 / 1024.0;
        println!("| {count} | {memory:.1} |");
    }
}

/// A process that is measured.
struct Process(u32);

impl Process {
    /// Processor time, in seconds. The system counts in hundredths.
    fn time(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        let fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let times = fields.skip(11).take(2);
        times
            .filter_map(|time| time.parse::<f64>().ok())
            .sum::<f64>()
            / 100.0
    }

    /// Memory, in KiB.
    fn memory(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_default()
    }
}

/// The server's process. It is killed when this is dropped.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// What is measured.
struct Measured {
    address: String,
    /// The NATS server, the server, and the clients.
    processes: [Process; 3],
}

impl Measured {
    /// Runs `work` on this many threads until the time is over. It returns how long each of its parts took. Prints a row.
    fn row(
        &self,
        threads: usize,
        time: Duration,
        work: impl Fn(&str, &AtomicBool) -> Result<Vec<Duration>, Error> + Sync,
    ) -> Result<(), Error> {
        let ends = AtomicBool::new(false);
        let before = self.processes.each_ref().map(|it| it.time());
        let begin = Instant::now();
        let parts = thread::scope(|scope| {
            let all: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| work(&self.address, &ends)))
                .collect();
            thread::sleep(time);
            ends.store(true, SeqCst);
            let all = all.into_iter().map(|it| it.join().expect("no panic"));
            all.collect::<Result<Vec<_>, Error>>()
        })?;
        let seconds = begin.elapsed().as_secs_f64();
        let mut parts: Vec<Duration> = parts.into_iter().flatten().collect();
        parts.sort();
        let count = parts.len().max(1);
        let at = |part: f64| {
            let one = parts.get(((count - 1) as f64 * part) as usize);
            one.copied().unwrap_or_default().as_secs_f64() * 1e3
        };
        let each = self.processes.each_ref().map(|it| it.time());
        let mut costs = String::new();
        for (before, after) in before.iter().zip(each) {
            costs += &format!(" {:.0} |", (after - before) / count as f64 * 1e6);
        }
        println!(
            "| {threads} | {:.0} | {:.2} | {:.2} |{costs}",
            count as f64 / seconds,
            at(0.5),
            at(0.99)
        );
        Ok(())
    }
}

/// Begins and ends sessions.
fn sessions(address: &str, ends: &AtomicBool) -> Result<Vec<Duration>, Error> {
    let mut parts = Vec::new();
    while !ends.load(SeqCst) {
        let begin = Instant::now();
        let ping = connect(address)?;
        parts.push(begin.elapsed());
        drop(ping);
    }
    Ok(parts)
}

/// Has one session, and counts its turns: a message there and one back.
fn turns(address: &str, ends: &AtomicBool) -> Result<Vec<Duration>, Error> {
    let mut ping = connect(address)?;
    let mut parts = Vec::new();
    while !ends.load(SeqCst) {
        let begin = Instant::now();
        let pong = ping.ping().expect("nothing is lost");
        let pingpong::Pong::Pong(next) = pong.recv().expect("nothing is lost");
        parts.push(begin.elapsed());
        ping = next;
    }
    Ok(parts)
}

fn head(what: &str) {
    println!(
        "\n| sessions at once | {what} per second | median, ms | 99 %, ms | NATS, µs | server, µs | clients, µs |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().unwrap_or_else(|| "2".to_owned());
    if first == "serve" {
        return serve(&arguments.next().unwrap_or_default());
    }
    let time = Duration::from_secs(first.parse().unwrap_or(2));
    let nats = Server::start();
    let address = format!("nats://{}/scale", nats.host());
    let own = std::env::current_exe().expect("it runs");
    let child = Command::new(own)
        .args(["serve", &address])
        .stdin(Stdio::null())
        .spawn()
        .expect("it can be started");
    let serving = Serving(child);
    brokers::memory::until("the server", || connect(&address).is_ok());
    let measured = Measured {
        address,
        processes: [
            Process(nats.process().expect("it runs")),
            Process(serving.0.id()),
            Process(std::process::id()),
        ],
    };
    println!("| idle sessions | NATS, MiB | server, MiB | clients, MiB |");
    println!("| --- | --- | --- | --- |");
    let mut idle = Vec::new();
    for count in IDLE {
        while idle.len() < count {
            idle.push(connect(&measured.address)?);
        }
        thread::sleep(Duration::from_millis(500));
        let memory = measured
            .processes
            .each_ref()
            .map(|it| it.memory() as f64 / 1024.0);
        let [nats, server, clients] = memory;
        println!("| {count} | {nats:.1} | {server:.1} | {clients:.1} |");
    }
    drop(idle);
    connections();
    thread::sleep(Duration::from_secs(3));
    head("sessions begun and ended");
    for threads in STEPS {
        measured.row(threads, time, sessions)?;
    }
    thread::sleep(Duration::from_secs(3));
    head("turns");
    for threads in STEPS {
        measured.row(threads, time, turns)?;
    }
    Ok(())
}
