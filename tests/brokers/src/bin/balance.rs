//! Measures how evenly NATS distributes sessions of very different lengths over servers: `balance [SECONDS]`. Starts a NATS server, and
//! prints a table for `docs/scaling.md`.
//!
//! The same number of clients always has a session, and each begins another one as soon as its last has ended, so the mean of busy sessions per
//! server does not change.
#![forbid(unsafe_code)]

use brokers::nats::Server;
use brokers::protocols::pingpong::{self, client, server};
use duologue_net::broker::{ConnectOptions, Exchange, ExchangeOptions};
use duologue_net::{Connector, Drain, Error, Listener};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::thread;
use std::time::{Duration, Instant};

const SERVERS: usize = 8;
const CLIENTS: usize = 160;

/// The mean length of a session.
const MEAN: f64 = 0.3;

/// How the lengths of sessions are distributed.
#[derive(Clone, Copy)]
enum Lengths {
    Exponential,
    /// The longest hundredth takes a fifth of all time.
    Pareto,
}

impl Lengths {
    /// From a number between 0 and 1.
    fn length(self, uniform: f64) -> Duration {
        let uniform = uniform.clamp(1e-6, 1.0);
        let seconds = match self {
            Lengths::Exponential => -MEAN * uniform.ln(),
            // With the exponent 1.5, the mean is three times the minimum.
            Lengths::Pareto => MEAN / 3.0 * uniform.powf(-1.0 / 1.5),
        };
        Duration::from_secs_f64(seconds.min(20.0))
    }
}

/// Random numbers between 0 and 1 (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[derive(Default)]
struct Counts {
    busy: AtomicUsize,
    begun: AtomicUsize,
}

fn exchange(nats: &Server) -> Result<Exchange, Error> {
    Exchange::nats(&nats.host(), ConnectOptions::new(), &ExchangeOptions::new())
}

/// A session lasts until the client leaves.
fn handle(mut ping: server::Ping, counts: &Counts) {
    counts.busy.fetch_add(1, SeqCst);
    counts.begun.fetch_add(1, SeqCst);
    while let Ok(pingpong::Ping::Ping(next)) = ping.recv() {
        let Ok(next) = next.pong() else { break };
        ping = next;
    }
    counts.busy.fetch_sub(1, SeqCst);
}

/// Has this many listeners at one server: each is in the group once.
fn serve(
    nats: &Server,
    weight: usize,
    limit: Option<usize>,
    counts: &Arc<Counts>,
) -> Result<Vec<Drain>, Error> {
    let exchange = exchange(nats)?;
    let mut drains = Vec::new();
    for _ in 0..weight {
        let mut listener = Listener::bind_through(&exchange, "balance")?;
        if let Some(limit) = limit {
            listener.max_sessions(limit);
        }
        let counts = Arc::clone(counts);
        listener.serve(move |ping| handle(ping, &counts));
        drains.push(listener.drain());
        thread::spawn(move || listener.run());
    }
    Ok(drains)
}

/// What is measured at one time, for each server.
struct Sample(Vec<usize>);

impl Sample {
    fn unequal(&self) -> f64 {
        let most = self.0.iter().copied().max().unwrap_or_default();
        let all: usize = self.0.iter().sum();
        most as f64 * self.0.len() as f64 / all.max(1) as f64
    }
}

fn measure(
    name: &str,
    lengths: Lengths,
    limit: Option<usize>,
    weights: &[usize],
    time: Duration,
) -> Result<(), Error> {
    let nats = Server::start();
    let all: Vec<Arc<Counts>> = weights.iter().map(|_| Arc::default()).collect();
    let mut drains = Vec::new();
    for (counts, weight) in all.iter().zip(weights) {
        drains.extend(serve(&nats, *weight, limit, counts)?);
    }
    let here = exchange(&nats)?;
    let (ends, refused) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    thread::sleep(Duration::from_millis(500));
    let clients: Vec<_> = (0..CLIENTS as u64)
        .map(|number| {
            let (here, ends, refused) = (here.clone(), Arc::clone(&ends), Arc::clone(&refused));
            thread::spawn(move || {
                let mut random = Random((number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
                for _ in 0..16 {
                    random.next();
                }
                while !ends.load(SeqCst) {
                    let connector = Connector::new().timeout(Duration::from_secs(30));
                    let Ok(ping) = connector.connect_through::<client::Ping>(&here, "balance")
                    else {
                        refused.fetch_add(1, SeqCst);
                        thread::sleep(Duration::from_millis(10));
                        continue;
                    };
                    let end = Instant::now() + lengths.length(random.next());
                    while !ends.load(SeqCst) && Instant::now() < end {
                        let left = end.saturating_duration_since(Instant::now());
                        thread::sleep(left.min(Duration::from_millis(50)));
                    }
                    drop(ping);
                }
            })
        })
        .collect();
    thread::sleep(Duration::from_secs(2));
    refused.store(0, SeqCst);
    let begin = Instant::now();
    let mut samples = Vec::new();
    while begin.elapsed() < time {
        thread::sleep(Duration::from_millis(20));
        samples.push(Sample(
            all.iter().map(|counts| counts.busy.load(SeqCst)).collect(),
        ));
    }
    ends.store(true, SeqCst);
    for client in clients {
        let _no_panic = client.join();
    }
    drains.iter().for_each(Drain::begin);
    let mut unequal: Vec<f64> = samples.iter().map(Sample::unequal).collect();
    unequal.sort_by(f64::total_cmp);
    let mean = unequal.iter().sum::<f64>() / unequal.len().max(1) as f64;
    let at = |part: f64| unequal[((unequal.len() - 1) as f64 * part) as usize];
    let sessions: usize = all.iter().map(|counts| counts.begun.load(SeqCst)).sum();
    let first = all[0].begun.load(SeqCst) as f64 / sessions.max(1) as f64;
    println!(
        "| {name} | {mean:.2} | {:.2} | {:.2} | {:.1} % | {} |",
        at(0.95),
        at(1.0),
        100.0 * first,
        refused.load(SeqCst)
    );
    Ok(())
}

fn main() -> Result<(), Error> {
    let seconds = std::env::args().nth(1);
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(10);
    let time = Duration::from_secs(seconds);
    let mean = CLIENTS / SERVERS;
    println!("{SERVERS} servers, {CLIENTS} clients, so {mean} sessions for each server");
    println!(
        "| sessions | busiest / mean | in 5 % of the time, more than | at most | begun at the first server | refused |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let equal = [1; SERVERS];
    for (lengths, name) in [
        (Lengths::Exponential, "exponential"),
        (Lengths::Pareto, "Pareto"),
    ] {
        measure(&format!("{name}, no limit"), lengths, None, &equal, time)?;
        for limit in [mean + mean / 2, mean + mean / 4, mean + mean / 10] {
            let name = format!("{name}, at most {limit} at a server");
            measure(&name, lengths, Some(limit), &equal, time)?;
        }
    }
    let mut heavier = equal;
    heavier[0] = 3;
    let name = "exponential, three subscriptions at the first server";
    measure(name, Lengths::Exponential, None, &heavier, time)
}
