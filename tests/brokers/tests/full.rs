//! A server that is full leaves the group until it has space, so that clients get others.
#![forbid(unsafe_code)]

use brokers::bank;
use brokers::memory::{Memory, until};
use brokers::protocols::bank::client as bank_client;
use brokers::protocols::pingpong;
use duologue_net::broker::{Broker, Exchange, ExchangeOptions, Inbox};
use duologue_net::{Connector, Drain, Error, Listener, Verdict};
use std::any::Any;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// What a server has of the group.
#[derive(Default)]
struct Seen {
    /// How many sessions the broker has requested from it.
    requested: AtomicUsize,
    /// Whether it is in the group of those that can take a session: 0 or 1.
    is_ready: AtomicUsize,
}

/// A connection to the broker that counts.
struct Counting(Memory, Arc<Seen>);

struct Counted(Arc<dyn Inbox>, Arc<Seen>);

impl Inbox for Counted {
    fn arrived(&self, subject: &str, reply: Option<&str>, message: &[u8]) {
        if !is_full(subject) {
            self.1.requested.fetch_add(1, SeqCst);
        }
        self.0.arrived(subject, reply, message);
    }

    fn unanswered(&self, subject: &str) {
        self.0.unanswered(subject);
    }

    fn lost(&self) {
        self.0.lost();
    }
}

struct Subscribed {
    seen: Arc<Seen>,
    _subscribed: Box<dyn Any + Send + Sync>,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        self.seen.is_ready.fetch_sub(1, SeqCst);
    }
}

fn is_full(subject: &str) -> bool {
    subject.contains(".full-")
}

impl Broker for Counting {
    fn publish(&self, subject: &str, reply: Option<&str>, message: Vec<u8>) {
        self.0.publish(subject, reply, message);
    }

    fn subscribe(
        &self,
        subject: &str,
        group: Option<&str>,
        inbox: Arc<dyn Inbox>,
    ) -> io::Result<Box<dyn Any + Send + Sync>> {
        if group.is_none() || is_full(subject) {
            return self.0.subscribe(subject, group, inbox);
        }
        let seen = Arc::clone(&self.1);
        let inbox = Arc::new(Counted(inbox, Arc::clone(&seen)));
        let subscribed = self.0.subscribe(subject, group, inbox)?;
        seen.is_ready.fetch_add(1, SeqCst);
        Ok(Box::new(Subscribed {
            seen,
            _subscribed: subscribed,
        }))
    }

    fn max_message(&self) -> usize {
        self.0.max_message()
    }
}

fn exchange(broker: impl Broker) -> Exchange {
    Exchange::over(broker, &ExchangeOptions::new()).expect("the broker delivers")
}

/// A bank that takes this many customers at once.
struct Bank {
    seen: Arc<Seen>,
    drain: Drain,
}

impl Bank {
    fn start(broker: &Memory, most: usize) -> Bank {
        let seen: Arc<Seen> = Arc::default();
        let exchange = exchange(Counting(broker.clone(), Arc::clone(&seen)));
        let mut listener = Listener::bind_through(&exchange, "bank").expect("it listens");
        listener.max_sessions(most);
        listener.serve(|login| {
            let _ended = bank::teller(login);
        });
        let drain = listener.drain();
        thread::spawn(move || listener.run().expect("the broker stays"));
        let bank = Bank { seen, drain };
        until("the bank to serve", || bank.is_ready());
        bank
    }

    fn is_ready(&self) -> bool {
        self.seen.is_ready.load(SeqCst) == 1
    }

    fn requested(&self) -> usize {
        self.seen.requested.load(SeqCst)
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        self.drain.begin();
    }
}

fn connect(here: &Exchange) -> Result<bank_client::Login, Error> {
    Connector::new().timeout(LONG).connect_through(here, "bank")
}

fn customer(here: &Exchange) -> bank_client::Connected {
    let login = connect(here).expect("a bank has space");
    bank::log_in(login).expect("nothing is lost")
}

fn verdict<T>(refused: Result<T, Error>) -> Verdict {
    match refused.map(drop) {
        Err(Error::Refused { verdict, .. }) => verdict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_server_gets_no_session_while_another_has_space() {
    let broker = Memory::start(1);
    let here = exchange(broker.clone());
    let small = Bank::start(&broker, 2);
    let held = [customer(&here), customer(&here)];
    // Otherwise it would be full only from now on.
    until("the small bank to leave", || !small.is_ready());
    let large = Bank::start(&broker, 1_000);
    for _ in 0..50 {
        let login = connect(&here).expect("the large bank has space");
        bank::customer(login, 1).expect("nothing is lost");
    }
    assert_eq!((small.requested(), large.requested()), (2, 50));
    for connected in held {
        connected.quit().expect("nothing is lost");
    }
    until("the small bank to come back", || small.is_ready());
    drop(large);
    customer(&here).quit().expect("nothing is lost");
    assert_eq!(small.requested(), 3);
}

/// It is not the same as if no server ran, or none that understands the client.
#[test]
fn clients_learn_that_all_servers_are_full() {
    let broker = Memory::start(2);
    let here = exchange(broker.clone());
    let banks = [Bank::start(&broker, 1), Bank::start(&broker, 1)];
    let held = [customer(&here), customer(&here)];
    until("both banks to leave", || {
        !banks.iter().any(|bank| bank.is_ready())
    });
    let requested = banks[0].requested() + banks[1].requested();
    assert_eq!(verdict(connect(&here)), Verdict::Full);
    let stranger = Connector::new().connect_through::<pingpong::client::Ping>(&here, "bank");
    assert_eq!(verdict(stranger), Verdict::UnknownProtocol);
    assert_eq!(banks[0].requested() + banks[1].requested(), requested);
    for connected in held {
        connected.quit().expect("nothing is lost");
    }
    until("both banks to come back", || {
        banks.iter().all(|bank| bank.is_ready())
    });
    customer(&here).quit().expect("nothing is lost");
}

/// Four fifths of all places are taken, and sessions begin and end all the time.
#[test]
fn no_client_is_refused_while_a_server_has_space() {
    let broker = Memory::start(3);
    let here = exchange(broker.clone());
    let banks: Vec<_> = (0..4).map(|_| Bank::start(&broker, 5)).collect();
    let customers: Vec<_> = (0..16)
        .map(|number| {
            let here = here.clone();
            thread::spawn(move || {
                for turns in 0..20 {
                    let login = connect(&here).expect("a bank has space");
                    bank::customer(login, (turns + number) % 7).expect("nothing is lost");
                }
            })
        })
        .collect();
    for customer in customers {
        customer.join().expect("nothing is refused");
    }
    let requested: usize = banks.iter().map(Bank::requested).sum();
    assert!(requested >= 16 * 20, "{requested}");
}

/// A listener that drains while it is full does not come back.
#[test]
fn a_full_server_that_drains_stays_away() {
    let broker = Memory::start(4);
    let here = exchange(broker.clone());
    let bank = Bank::start(&broker, 1);
    let held = customer(&here);
    until("the bank to leave", || !bank.is_ready());
    bank.drain.begin();
    assert_eq!(verdict(connect(&here)), Verdict::UnknownProtocol);
    held.quit().expect("nothing is lost");
    assert!(bank.drain.within(LONG));
    assert!(!bank.is_ready());
    assert_eq!(verdict(connect(&here)), Verdict::UnknownProtocol);
}
