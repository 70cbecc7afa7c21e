//! Sessions over NATS while the server, the connections to it and the readers fail at random. Every number is accounted for. If
//! `DUOLOGUE_BANK` names the program of another language, it has a bank and customers as well.
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
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
    /// Customers of the bank here, and of the one in another language: whose session was complete, and whose was lost.
    customers: [[AtomicU64; 2]; 2],
    /// What the bank here knows of them.
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

    /// Compares what both sides know of sessions of numbers.
    fn compare_numbers(&self) {
        let account = &self.account;
        let sent = lock(&account.sent);
        until("the reader's side of each session", || {
            let received = lock(&account.received).len() as u64;
            received + account.nameless.load(SeqCst) >= sent.len() as u64
        });
        let received = lock(&account.received);
        let (mut whole, mut lost, mut numbers, mut nameless) = (0, 0, 0, 0);
        for (name, &(sent, why)) in &*sent {
            // A sender that has sent everything has no endpoint any longer.
            let is_noticed = why.is_none() || why == Some(Why::Lost);
            self.require(is_noticed, || format!("sender of {name}: {why:?}"));
            match received.get(name) {
                Some(&(count, Why::Left)) => {
                    let is_all = count == sent && why.is_none();
                    self.require(is_all, || {
                        format!("session {name}: {count} of {sent}, {why:?}")
                    });
                    whole += 1;
                    numbers += count;
                }
                Some(&(count, Why::Lost)) => {
                    self.require(count <= sent, || {
                        format!("session {name}: {count} of {sent}")
                    });
                    lost += 1;
                    numbers += count;
                }
                Some(&(_, why)) => self.require(false, || format!("reader of {name}: {why:?}")),
                None => nameless += 1,
            }
        }
        let without = account.nameless.load(SeqCst);
        self.require(nameless <= without, || {
            format!("{nameless} sessions without a reader")
        });
        self.require(whole > 0, || "no session was complete".to_owned());
        println!(
            "{} sessions, {numbers} numbers: {whole} complete; {lost} lost, and {nameless} before the first number",
            sent.len()
        );
    }

    /// Compares what customers and banks know. A customer that has said `quit` does not learn whether it arrived; the bank does.
    fn compare_banks(&self, other: Option<Other>) {
        let account = &self.account;
        let tellers = || account.tellers.each_ref().map(|count| count.load(SeqCst));
        let [customers, theirs] = account
            .customers
            .each_ref()
            .map(|bank| bank.each_ref().map(|count| count.load(SeqCst)));
        let of = |[whole, lost]: [u64; 2]| whole + lost;
        until("the bank's side of each session", || {
            of(tellers()) >= of(customers)
        });
        let served = other.map(Other::end);
        for ([whole, lost], [served, broken]) in [(customers, Some(tellers())), (theirs, served)]
            .into_iter()
            .filter_map(|(customers, bank)| Some((customers, bank?)))
        {
            let is_same = served <= whole && whole <= served + broken;
            self.require(is_same, || {
                format!("{whole} customers, {served} served, {broken} broken")
            });
            println!("{whole} customers of the bank were served, {lost} were lost");
        }
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
    let options = ExchangeOptions::new();
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

/// The bank in another language, a process of its own.
struct Other {
    program: PathBuf,
    child: Child,
    /// How many sessions have ended as they should, and how many have not.
    served: thread::JoinHandle<[u64; 2]>,
}

impl Other {
    /// Starts it, if there is one.
    fn start(proxy: &Proxy) -> Option<Other> {
        let program = PathBuf::from(std::env::var_os("DUOLOGUE_BANK")?);
        let mut command = Command::new(&program);
        command.args(["serve", &address(proxy, "other")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it was built");
        let output = child.stdout.take().expect("it is piped");
        let served = thread::spawn(move || {
            let (mut begun, mut whole) = (0, 0);
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match line.parse() {
                    Ok(count) => whole = count,
                    Err(_) => begun += 1,
                }
            }
            [whole, begun - whole]
        });
        Some(Other {
            program,
            child,
            served,
        })
    }

    /// Waits until its last session has ended. Returns how many have ended as they should, and how many have not.
    fn end(mut self) -> [u64; 2] {
        drop(self.child.stdin.take());
        let ended = self.child.wait().expect("it was started");
        assert!(ended.success(), "the bank in another language: {ended}");
        self.served.join().expect("no panic")
    }
}

fn address(proxy: &Proxy, name: &str) -> String {
    format!("nats://127.0.0.1:{}/{name}", proxy.port())
}

/// Customers in another language of the bank in Rust, one after another.
fn send_customers(shared: &Shared, program: &Path, address: &str, mut random: Random) {
    while !shared.is_over.load(SeqCst) {
        let mut command = Command::new(program);
        command.args(["customer", address, &random.below(200).to_string()]);
        let output = command.output().expect("it was built");
        let printed = String::from_utf8_lossy(&output.stdout);
        let ended = match printed.trim() {
            "ok" => Some(0),
            lost if lost.contains("lost") => Some(1),
            // An error says on stderr why it has not connected. A customer that gets wrong money is ended by a signal.
            refused => {
                let is_refused = refused.starts_with("refused") || output.status.code() == Some(1);
                shared.require(is_refused, || format!("customer: {output:?}"));
                None
            }
        };
        let count = match ended {
            Some(ended) => &shared.account.customers[0][ended],
            None => &shared.account.not_connected,
        };
        count.fetch_add(1, SeqCst);
        thread::sleep(random.milliseconds(1, 2_000));
    }
}

/// One session after another, until it is over: of numbers, or of a customer of this bank.
fn work(shared: &Shared, exchange: &Exchange, mut random: Random, customer_of: Option<usize>) {
    let connector = Connector::new().timeout(Duration::from_secs(5));
    while !shared.is_over.load(SeqCst) {
        let connected = match customer_of {
            None => connector
                .connect_through(exchange, "soak")
                .map(|client| shared.send(client, &mut random)),
            Some(bank) => connector
                .connect_through(exchange, ["soak", "other"][bank])
                .map(|login: bank_client::Login| {
                    let turns = random.below(200) as u32;
                    let ended = shared.is_whole("customer", bank::customer(login, turns));
                    shared.account.customers[bank][ended].fetch_add(1, SeqCst);
                }),
        };
        if connected.is_err() {
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
        // After 8 seconds, the other side counts as gone.
        3..5 => {
            let longest = [1_000, 1_000, 1_000, 12_000][random.below(4) as usize];
            way.silence(random.milliseconds(10, longest));
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

/// For `DUOLOGUE_SOAK_SECONDS`, or five seconds. Every number was received once and in order, or the sides that still had an endpoint learned
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
    let mut server = Server::with(CONFIG);
    let ways = [(); 2].map(|()| Proxy::start(server.port()).expect("a port is free"));
    let shared = Arc::new(Shared::default());
    serve(&shared, &exchange(&ways[0]));
    let other = Other::start(&ways[0]);
    let here = exchange(&ways[1]);
    if other.is_some() {
        until("the bank in another language", || {
            let login = Connector::new().connect_through::<bank_client::Login>(&here, "other");
            login.is_ok()
        });
    }
    let mut faults = Faults::default();
    let end = Instant::now() + Duration::from_secs(seconds);
    thread::scope(|scope| {
        let (shared, here) = (&shared, &here);
        let random_of = |number: usize| Random(seed.wrapping_mul(number as u64 + 2) | 1);
        let banks = if other.is_some() { 2 } else { 1 };
        for number in 0..SENDERS + CUSTOMERS {
            let is_customer = number >= SENDERS;
            scope.spawn(move || {
                work(
                    shared,
                    here,
                    random_of(number),
                    is_customer.then_some(number % banks),
                )
            });
        }
        if let Some(other) = &other {
            let address = address(&ways[1], "soak");
            let random = random_of(SENDERS + CUSTOMERS);
            scope.spawn(move || send_customers(shared, &other.program, &address, random));
        }
        while Instant::now() < end && lock(&shared.wrong).is_empty() {
            fail(shared, &mut server, &ways, &mut random, &mut faults);
        }
        shared.is_over.store(true, SeqCst);
    });
    println!(
        "{seconds} s, seed {seed}, {} faults: {faults:?}",
        faults.all()
    );
    shared.compare_numbers();
    shared.compare_banks(other);
    println!(
        "no number twice, none out of order, none missing without a report; {} attempts to connect failed",
        shared.account.not_connected.load(SeqCst),
    );
    let wrong = lock(&shared.wrong);
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
}
