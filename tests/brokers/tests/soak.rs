//! Sessions over NATS while the server, the connections to it and the readers fail at random. Every number is accounted for.
#![forbid(unsafe_code)]

use brokers::bank;
use brokers::memory::until;
use brokers::nats::Server;
use brokers::protocols::bank::{client as bank_client, server as bank_server};
use brokers::protocols::numbers::{self, Stream};
use brokers::proxy::Proxy;
use duologue::Why;
use duologue_net::broker::{ConnectOptions, Exchange, ExchangeOptions};
use duologue_net::{Connector, Listener};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// So little may wait in the NATS server for one connection that a silent connection reaches the limit, and the server closes it.
const CONFIG: &str = "max_payload: 32768\nmax_pending: 65536\nwrite_deadline: \"1s\"\n";

/// How many threads have one session of numbers after another, and how many are customers of the bank.
const SENDERS: usize = 8;
const CUSTOMERS: usize = 4;

/// Random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn milliseconds(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}

/// What the two sides of a session of numbers know when it has ended: how many numbers, and why it ended.
#[derive(Default)]
struct Account {
    /// The first number of a session is the name of it here, and is not counted.
    sent: Mutex<BTreeMap<u64, (u64, Option<Why>)>>,
    received: Mutex<BTreeMap<u64, (u64, Why)>>,
    /// Sessions that were lost before their first number arrived.
    nameless: AtomicU64,
    last: AtomicU64,
    /// Customers of the bank: what they did, and what the bank knows of it.
    customers: [AtomicU64; 2],
    tellers: [AtomicU64; 2],
    not_connected: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all threads share.
#[derive(Default)]
struct Shared {
    account: Account,
    is_over: AtomicBool,
    /// Whether readers are slow.
    is_slow: AtomicBool,
    /// What must not happen. The main thread reports it.
    wrong: Mutex<Vec<String>>,
}

impl Shared {
    fn require(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            lock(&self.wrong).push(what());
        }
    }

    /// Receives the numbers of one session, which must come once and in order.
    fn receive(&self, mut server: numbers::server::Stream) {
        let mut name = None;
        let mut count = 0;
        let why = loop {
            if self.is_slow.load(SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            match server.recv() {
                Ok(Stream::Send(number, next)) => {
                    server = next;
                    if name.is_none() {
                        name = Some(number);
                        continue;
                    }
                    self.require(number == count, || {
                        format!("{name:?}: {number}, not {count}")
                    });
                    count += 1;
                }
                Err(closed) => break closed.why(),
            }
        };
        match name {
            Some(name) => {
                let before = lock(&self.account.received).insert(name, (count, why));
                self.require(before.is_none(), || {
                    format!("session {name} is there twice")
                });
            }
            None => drop(self.account.nameless.fetch_add(1, SeqCst)),
        }
    }

    /// Sends the numbers of one session.
    fn send(&self, mut client: numbers::client::Stream, random: &mut Random) {
        let name = self.account.last.fetch_add(1, SeqCst) + 1;
        let count = random.below(6_000);
        let pause = random.below(40);
        let mut ended = (count, None);
        for number in 0..=count {
            // The name, and then the numbers from 0.
            match client.send(number.checked_sub(1).unwrap_or(name)) {
                Ok(next) => client = next,
                Err(error) => {
                    ended = (number.saturating_sub(1), Some(error.closed().why()));
                    break;
                }
            }
            if pause < 20 && number % 10 == 0 {
                thread::sleep(Duration::from_millis(pause));
            }
        }
        lock(&self.account.sent).insert(name, ended);
    }

    /// Whether a session of the bank has ended as it should. Otherwise it was lost.
    fn is_whole(&self, side: &str, ended: Result<(), duologue::Closed>) -> usize {
        match ended {
            Ok(()) => 0,
            Err(closed) => {
                self.require(closed.why() == Why::Lost, || format!("{side}: {closed}"));
                1
            }
        }
    }
}

fn exchange(proxy: &Proxy) -> Exchange {
    let options = ExchangeOptions::new().heartbeat(Duration::from_millis(500));
    let server = format!("127.0.0.1:{}", proxy.port());
    Exchange::nats(&server, ConnectOptions::new(), &options).expect("it is there")
}

fn serve(shared: &Arc<Shared>, exchange: &Exchange) {
    let mut listener = Listener::bind_through(exchange, "soak").expect("it listens");
    let here = Arc::clone(shared);
    listener.serve(move |server: numbers::server::Stream| here.receive(server));
    let here = Arc::clone(shared);
    listener.serve(move |login: bank_server::Login| {
        let ended = here.is_whole("teller", bank::teller(login));
        here.account.tellers[ended].fetch_add(1, SeqCst);
    });
    thread::spawn(move || listener.run());
}

/// One session after another, until it is over.
fn work(shared: &Shared, exchange: &Exchange, mut random: Random, is_customer: bool) {
    let connector = Connector::new().timeout(Duration::from_secs(5));
    while !shared.is_over.load(SeqCst) {
        let is_connected = match is_customer {
            false => connector
                .connect_through(exchange, "soak")
                .map(|client| shared.send(client, &mut random)),
            true => connector
                .connect_through::<bank_client::Login>(exchange, "soak")
                .map(|login| {
                    let turns = random.below(200) as u32;
                    let ended = shared.is_whole("customer", bank::customer(login, turns));
                    shared.account.customers[ended].fetch_add(1, SeqCst);
                }),
        };
        if is_connected.is_err() {
            shared.account.not_connected.fetch_add(1, SeqCst);
        }
        thread::sleep(random.milliseconds(1, 2_000));
    }
}

/// What happened how often.
#[derive(Default, Debug)]
struct Faults {
    killed: u32,
    cut: u32,
    silent: u32,
    partitioned: u32,
    slow: u32,
}

impl Faults {
    fn all(&self) -> u32 {
        self.killed + self.cut + self.silent + self.partitioned + self.slow
    }
}

/// One fault, and a while without.
fn fail(
    shared: &Shared,
    server: &mut Server,
    ways: &[Proxy; 2],
    random: &mut Random,
    done: &mut Faults,
) {
    let way = &ways[random.below(2) as usize];
    match random.below(8) {
        0 => {
            server.kill();
            thread::sleep(random.milliseconds(0, 3_000));
            server.restart();
            done.killed += 1;
        }
        1..3 => {
            way.cut();
            done.cut += 1;
        }
        // For longer, the other side counts as gone.
        3..5 => {
            way.silence(random.milliseconds(10, 4_000));
            done.silent += 1;
        }
        5 => {
            way.close(random.milliseconds(10, 4_000));
            done.partitioned += 1;
        }
        _ => {
            shared.is_slow.store(true, SeqCst);
            thread::sleep(random.milliseconds(10, 1_000));
            shared.is_slow.store(false, SeqCst);
            done.slow += 1;
        }
    }
    thread::sleep(random.milliseconds(100, 3_000));
}

/// For `DUOLOGUE_SOAK_SECONDS`, or five seconds. Every number was received once and in order, or whoever still had an endpoint learned
/// that the session is lost.
#[test]
fn nothing_is_lost_in_silence() {
    let seconds = std::env::var("DUOLOGUE_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(5, |text| {
        text.parse().expect("DUOLOGUE_SOAK_SECONDS is a number")
    });
    let seed = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(1, |since| since.as_secs());
    let mut random = Random(seed);
    let mut server = Server::with(Some(CONFIG));
    let ways = [(); 2].map(|()| Proxy::start(server.port()).expect("a port is free"));
    let shared = Arc::new(Shared::default());
    serve(&shared, &exchange(&ways[0]));
    let here = exchange(&ways[1]);
    let mut faults = Faults::default();
    let end = Instant::now() + Duration::from_secs(seconds);
    thread::scope(|scope| {
        let (shared, here) = (&shared, &here);
        for number in 0..SENDERS + CUSTOMERS {
            let random = Random(seed.wrapping_mul(number as u64 + 2) | 1);
            scope.spawn(move || work(shared, here, random, number >= SENDERS));
        }
        while Instant::now() < end && lock(&shared.wrong).is_empty() {
            fail(shared, &mut server, &ways, &mut random, &mut faults);
        }
        shared.is_over.store(true, SeqCst);
    });
    let account = &shared.account;
    let sent = lock(&account.sent);
    until("the reader's side of each session", || {
        let received = lock(&account.received).len() as u64;
        received + account.nameless.load(SeqCst) >= sent.len() as u64
    });
    let received = lock(&account.received);
    let (mut whole, mut lost, mut numbers, mut nameless) = (0, 0, 0, 0);
    for (name, &(sent, why)) in &*sent {
        let noticed = why.is_none() || why == Some(Why::Lost);
        shared.require(noticed, || format!("sender of {name}: {why:?}"));
        match received.get(name) {
            Some(&(count, Why::Left)) => {
                shared.require(count == sent && why.is_none(), || {
                    format!("session {name}: {count} of {sent}, {why:?}")
                });
                whole += 1;
                numbers += count;
            }
            Some(&(count, Why::Lost)) => {
                shared.require(count <= sent, || {
                    format!("session {name}: {count} of {sent}")
                });
                lost += 1;
                numbers += count;
            }
            Some(&(_, why)) => shared.require(false, || format!("reader of {name}: {why:?}")),
            None => nameless += 1,
        }
    }
    shared.require(nameless <= account.nameless.load(SeqCst), || {
        format!("{nameless} sessions without a reader")
    });
    let [happy, unhappy] = [0, 1].map(|way| account.customers[way].load(SeqCst));
    until("the bank's side of each session", || {
        account
            .tellers
            .iter()
            .map(|count| count.load(SeqCst))
            .sum::<u64>()
            >= happy + unhappy
    });
    let [served, broken] = [0, 1].map(|way| account.tellers[way].load(SeqCst));
    // A customer that has said `quit` does not learn whether it arrived; the bank does.
    shared.require(served <= happy && happy <= served + broken, || {
        format!("{happy} customers, {served} served")
    });
    println!(
        "{seconds} s, seed {seed}, {} faults: {faults:?}\n\
         {} sessions, {numbers} numbers: {whole} complete; {lost} lost and {nameless} lost before the first number, for both sides; \
         no number twice, none out of order, none missing without a report\n\
         {happy} customers of the bank served, {unhappy} lost; {} attempts to connect failed",
        faults.all(),
        sent.len(),
        account.not_connected.load(SeqCst),
    );
    let wrong = lock(&shared.wrong);
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
    assert!(whole > 0, "no session was complete");
}
