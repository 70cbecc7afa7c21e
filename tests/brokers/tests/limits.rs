//! Messages that no correct peer sends, a broker that is gone or loses the first message, and listeners that are busy.
#![forbid(unsafe_code)]

use brokers::bank;
use brokers::memory::{Faults, Memory, until};
use brokers::protocols::bank::{client as bank_client, server as bank_server};
use brokers::protocols::numbers;
use duologue_net::broker::{Broker, Exchange, ExchangeOptions, Inbox};
use duologue_net::observe::{Messages, Observer, Session};
use duologue_net::{Connector, Error, Listener, Socket, Verdict, accept_over};
use std::any::Any;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// The kinds of messages.
const ACCEPT: u8 = 1;
const END: u8 = 3;
const ANSWER: u8 = 5;
const LOST: u8 = 6;
const GONE: u8 = 7;

fn exchange_with(broker: &Memory, heartbeat: Duration) -> Exchange {
    let options = ExchangeOptions::new().heartbeat(heartbeat);
    Exchange::over(broker.clone(), &options).expect("the broker delivers")
}

fn exchange(broker: &Memory) -> Exchange {
    exchange_with(broker, Duration::from_millis(500))
}

/// Subject, reply subject and bytes.
type Message = (String, Option<String>, Vec<u8>);

/// Records what arrives.
struct Spy(Mutex<Sender<Message>>);

impl Inbox for Spy {
    fn arrived(&self, subject: &str, reply: Option<&str>, message: &[u8]) {
        let seen = (
            subject.to_owned(),
            reply.map(str::to_owned),
            message.to_owned(),
        );
        let _over = self.0.lock().expect("no panic").send(seen);
    }

    fn unanswered(&self, _: &str) {}

    fn lost(&self) {}
}

fn spy(broker: &Memory, subject: &str) -> (Receiver<Message>, Box<dyn Any + Send + Sync>) {
    let (say, seen) = channel();
    let spy = Arc::new(Spy(Mutex::new(say)));
    let subscribed = broker.subscribe(subject, None, spy).expect("it accepts");
    (seen, subscribed)
}

/// A process that no implementation is: it publishes what it likes.
struct Stranger {
    broker: Memory,
    /// What begins a session of the bank, and the subject for it.
    open: Vec<u8>,
    subject: String,
    seen: Receiver<Message>,
    _subscribed: Box<dyn Any + Send + Sync>,
}

impl Stranger {
    fn new(broker: &Memory) -> Stranger {
        // What a correct client publishes.
        let (opens, subscribed) = spy(broker, "duo.spied.*");
        let here = exchange(broker);
        let connector = Connector::new().timeout(Duration::from_millis(50));
        let nobody = connector.connect_through::<bank_client::Login>(&here, "spied");
        assert!(nobody.is_err());
        drop(subscribed);
        let (subject, _, open) = opens.recv_timeout(LONG).expect("it has been published");
        let (seen, _subscribed) = spy(broker, &format!("duo.at.{}.*", "5".repeat(32)));
        Stranger {
            broker: broker.clone(),
            open,
            subject: subject.replace("spied", "bank"),
            seen,
            _subscribed,
        }
    }

    fn address(number: u64) -> String {
        format!("duo.at.{}.{number:032x}", "5".repeat(32))
    }

    fn open(&self, number: u64, message: Vec<u8>) {
        let reply = Stranger::address(number);
        self.broker.publish(&self.subject, Some(&reply), message);
    }

    /// The next message, and to which of its addresses it goes. Heartbeats are not for a session.
    fn next(&self) -> (u64, Option<String>, Vec<u8>) {
        loop {
            let (subject, reply, bytes) = self.seen.recv_timeout(LONG).expect("something arrives");
            if let Some((_, token)) = subject.rsplit_once('.')
                && let Ok(number) = u64::from_str_radix(token, 16)
            {
                return (number, reply, bytes);
            }
        }
    }

    /// The next message of this kind to this address: the reply subject.
    fn until(&self, number: u64, kind: u8) -> String {
        loop {
            let (to, reply, bytes) = self.next();
            if to == number && bytes[0] == kind {
                return reply.unwrap_or_default();
            }
        }
    }
}

/// A listener of the bank that has subscribed, and does not accept at the moment.
fn listening(here: &Exchange) -> Listener {
    let mut listener = Listener::bind_through(here, "bank").expect("it listens");
    let none = listener.accept_within::<bank_server::Login>(Duration::from_millis(1));
    assert!(matches!(none, Err(Error::TimedOut)), "{:?}", none.map(drop));
    listener
}

#[test]
fn a_first_message_has_one_hello_and_nothing_else() {
    let broker = Memory::start(11);
    let stranger = Stranger::new(&broker);
    let there = exchange(&broker);
    let _listener = listening(&there);
    let good = &stranger.open;
    let long = [&good[..], &vec![0; 1_000_000]].concat();
    let one_more = [&good[..], &[0]].concat();
    let short = good[..good.len() - 1].to_owned();
    // The kind, the version, three counts of a byte, and the window, which has three.
    let start = good.len()
        - good
            .windows(8)
            .rev()
            .take_while(|it| it != b"duologue")
            .count()
        - 8;
    let one_byte = good[..=start].to_owned();
    let no_hello = [&good[..start], &[b'x'; 100]].concat();
    for (number, bad) in [long, one_more, short, one_byte, no_hello]
        .into_iter()
        .enumerate()
    {
        stranger.open(number as u64, bad);
    }
    // An address in a process where no session is.
    let alive = format!("duo.at.{}.alive", "5".repeat(32));
    broker.publish(&stranger.subject, Some(&alive), good.clone());
    stranger.open(99, good.clone());
    // What is answered to the others would come before this.
    let (to, _, bytes) = stranger.next();
    assert_eq!((to, bytes[0]), (99, ANSWER), "only the last one is a hello");
}

#[test]
fn sessions_that_are_refused_leave_nothing() {
    let broker = Memory::start(12);
    let stranger = Stranger::new(&broker);
    let there = exchange_with(&broker, LONG);
    let _listener = listening(&there);
    for number in 0..256 {
        stranger.open(number, stranger.open.clone());
    }
    stranger.until(255, ANSWER);
    for number in 1_000..1_500 {
        stranger.open(number, stranger.open.clone());
        let address = stranger.until(number, ACCEPT);
        stranger.until(number, END);
        // The server knows nothing of it.
        let reply = Stranger::address(number);
        broker.publish(&address, Some(&reply), vec![4, 1, 1, 0]);
        stranger.until(number, GONE);
    }
}

#[test]
fn a_peer_that_breaks_the_rules_of_credit_is_lost() {
    // In each: kind, number, received, read, bytes.
    let too_much = [&[2, 2, 1, 0][..], &[1; 65 << 10]].concat();
    let gap = vec![2, 3, 1, 0, 1];
    let never_sent = vec![4, 1, 99, 0];
    let never_used = vec![4, 1, 1, 200, 200, 200, 1];
    for bad in [too_much, gap, never_sent, never_used] {
        let broker = Memory::start(13);
        let stranger = Stranger::new(&broker);
        let there = exchange(&broker);
        let mut listener = listening(&there);
        stranger.open(1, stranger.open.clone());
        let accepting = thread::spawn(move || listener.accept_within::<bank_server::Login>(LONG));
        let address = stranger.until(1, ACCEPT);
        let login = accepting.join().expect("no panic").expect("it is a hello");
        broker.publish(&address, None, bad);
        stranger.until(1, LOST);
        assert!(login.recv().is_err());
    }
}

/// The listener's limits are tiny, and a hello that waits until it is too late leaves nothing that would keep the listener busy.
#[test]
fn a_listener_goes_on_after_hellos_that_were_too_late() {
    let broker = Memory::start(14);
    // No heartbeat cleans up.
    let there = exchange_with(&broker, 10 * LONG);
    let here = exchange_with(&broker, 10 * LONG);
    let mut listener = Listener::bind_through(&there, "bank").expect("it listens");
    let is_slow = Arc::new(AtomicBool::new(false));
    let slow = Arc::clone(&is_slow);
    listener
        .max_handshakes(1)
        .hello_timeout(Duration::from_millis(200))
        .admit(move |_| {
            while slow.load(SeqCst) {
                thread::sleep(Duration::from_millis(5));
            }
            true
        })
        .serve(|login: bank_server::Login| {
            let _over = bank::teller(login);
        });
    let drain = listener.drain();
    let serving = thread::spawn(move || listener.run());
    until("the listener", || {
        let login = Connector::new().connect_through::<bank_client::Login>(&here, "bank");
        login.is_ok()
    });
    is_slow.store(true, SeqCst);
    let (say, begun) = channel();
    for _ in 0..4 {
        let (here, say) = (here.clone(), say.clone());
        thread::spawn(move || {
            let connector = Connector::new().timeout(LONG);
            let login = connector.connect_through::<bank_client::Login>(&here, "bank");
            let _over = say.send(login.is_ok());
        });
    }
    // One is in its handshake, and the others wait until they are late.
    for _ in 0..3 {
        assert_eq!(begun.recv_timeout(LONG), Ok(false));
    }
    is_slow.store(false, SeqCst);
    assert_eq!(begun.recv_timeout(LONG), Ok(true));
    let connector = Connector::new().timeout(LONG / 2);
    let login = connector.connect_through(&here, "bank");
    bank::customer(login.expect("the listener accepts"), 1).expect("nothing is lost");
    let _ended = drain.within(Duration::from_secs(1));
    assert!(serving.join().expect("no panic").is_ok());
}

#[test]
fn a_first_message_that_is_lost_is_sent_again() {
    let broker = Memory::start(15);
    let there = exchange(&broker);
    let here = exchange(&broker);
    let mut listener = listening(&there);
    let all = Faults {
        lost: 1_000,
        ..Faults::default()
    };
    broker.set(all);
    let connecting = thread::spawn(move || {
        let connector = Connector::new().timeout(LONG / 2);
        connector.connect_through::<bank_client::Login>(&here, "bank")
    });
    until("the first message to be lost", || broker.done().lost > 0);
    broker.set(Faults::default());
    let accepted = listener.accept_within::<bank_server::Login>(LONG / 2);
    assert!(accepted.is_ok(), "{:?}", accepted.map(drop));
    let connected = connecting.join().expect("no panic");
    assert!(connected.is_ok(), "{:?}", connected.map(drop));
}

/// The client waits much longer than a process may be silent, because it does not know the server before that answers.
#[test]
fn a_program_may_take_its_time_to_accept() {
    let broker = Memory::start(16);
    let heartbeat = Duration::from_millis(50);
    let there = exchange_with(&broker, heartbeat);
    let here = exchange_with(&broker, heartbeat);
    let mut listener = listening(&there);
    let connecting = thread::spawn(move || {
        let connector = Connector::new().timeout(LONG);
        let login = connector.connect_through(&here, "bank");
        bank::customer(login.expect("the server answers"), 1)
    });
    thread::sleep(30 * heartbeat);
    let login = listener.accept_within::<bank_server::Login>(LONG);
    let served = bank::teller(login.expect("the client waits"));
    assert!(served.is_ok(), "{served:?}");
    assert!(connecting.join().expect("no panic").is_ok());
}

#[test]
fn nothing_is_published_while_the_broker_is_gone() {
    let broker = Memory::start(17);
    let heartbeat = Duration::from_millis(20);
    let there = exchange_with(&broker, heartbeat);
    let here = exchange_with(&broker, heartbeat);
    let mut listener = listening(&there);
    let connecting = {
        let here = here.clone();
        thread::spawn(move || Connector::new().connect_through::<bank_client::Login>(&here, "bank"))
    };
    let login = listener
        .accept_within::<bank_server::Login>(LONG)
        .expect("a client");
    let client = connecting.join().expect("no panic").expect("a server");
    let before = broker.done().published;
    until("a heartbeat", || broker.done().published > before);
    broker.set_away(true);
    // A heartbeat that has begun ends.
    thread::sleep(5 * heartbeat);
    let before = broker.done().published;
    thread::sleep(5 * heartbeat);
    let connector = Connector::new().timeout(5 * heartbeat);
    let refused = connector.connect_through::<bank_client::Login>(&here, "bank");
    let is_reported = matches!(&refused, Err(Error::Io { source, .. }) if source.to_string().contains("interrupted"));
    assert!(is_reported, "{:?}", refused.map(drop));
    assert_eq!(broker.done().published, before);
    broker.set_away(false);
    drop((login, client));
}

#[test]
fn a_listener_learns_that_the_broker_is_closed() {
    let broker = Memory::start(18);
    let there = exchange(&broker);
    let mut listener = listening(&there);
    let (say, ended) = channel();
    thread::spawn(move || {
        listener.serve(|login: bank_server::Login| drop(login));
        let _gone = say.send(listener.run());
    });
    thread::sleep(Duration::from_millis(50));
    broker.close();
    let ended = ended.recv_timeout(LONG).expect("`run` returns");
    let is_reported = matches!(&ended, Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotConnected);
    assert!(is_reported, "{ended:?}");
}

#[test]
fn a_missing_permission_is_reported() {
    let broker = Memory::start(19);
    let stranger = Stranger::new(&broker);
    let there = exchange(&broker);
    let here = exchange(&broker);
    let _listener = listening(&there);
    let is_denied = |error: Option<&Error>| matches!(error, Some(Error::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied);
    broker.deny(&format!(
        "Permissions Violation for Publish to \"{}\"",
        stranger.subject
    ));
    broker.set(Faults {
        lost: 1_000,
        ..Faults::default()
    });
    let connector = Connector::new().timeout(LONG);
    let denied = connector.connect_through::<bank_client::Login>(&here, "bank");
    assert!(is_denied(denied.as_ref().err()), "{:?}", denied.map(drop));
    broker.set(Faults::default());
    let mut other = Listener::bind_through(&there, "bank").expect("it has not subscribed yet");
    let denied = other.accept_within::<bank_server::Login>(LONG);
    assert!(is_denied(denied.as_ref().err()), "{:?}", denied.map(drop));
}

/// Counts messages, and those without a name.
#[derive(Default)]
struct Names {
    all: AtomicU64,
    unnamed: AtomicU64,
}

impl Observer for Names {
    fn passed(&self, _: &Session, messages: &Messages) {
        self.all.fetch_add(messages.count, SeqCst);
        if messages.name != "send" {
            self.unnamed.fetch_add(1, SeqCst);
        }
    }
}

/// Other threads forward what is sent, while the next message is being sent.
#[test]
fn every_message_of_a_long_run_has_its_name() {
    let (one, other) = UnixStream::pair().expect("the system has sockets");
    let reading = thread::spawn(move || {
        let mut server: numbers::server::Stream =
            accept_over(Socket::of(other.into())).expect("a client");
        while let Ok(numbers::Stream::Send(_, next)) = server.recv() {
            server = next;
        }
    });
    let names = Arc::new(Names::default());
    let connector = Connector::new().observer(Arc::clone(&names) as _);
    let client = connector.connect_over(Socket::of(one.into()));
    let mut client: numbers::client::Stream = client.expect("a server");
    let end = Instant::now() + Duration::from_secs(1);
    let mut number = 0;
    while Instant::now() < end {
        // Pauses of changing lengths, so that this thread and the one that forwards meet at all points.
        for _ in 0..number % 17 {
            std::hint::spin_loop();
        }
        client = client.send(number).expect("the server reads");
        number += 1;
    }
    drop(client);
    reading.join().expect("no panic");
    assert!(names.all.load(SeqCst) > 0);
    assert_eq!(names.unnamed.load(SeqCst), 0);
}

/// A client is refused, and not left waiting, if the server's process has no credit left.
#[test]
fn a_process_without_credit_refuses() {
    let broker = Memory::start(20);
    let stranger = Stranger::new(&broker);
    let there = exchange_with(&broker, 10 * LONG);
    // Listeners of other names share the process's credit.
    let mut listeners = Vec::new();
    let fingerprint = stranger
        .subject
        .rsplit('.')
        .next()
        .expect("it is a subject");
    let mut number = 0;
    for group in 0..40 {
        let mut listener =
            Listener::bind_through(&there, &format!("bank{group}")).expect("it listens");
        let none = listener.accept_within::<bank_server::Login>(Duration::from_millis(1));
        assert!(none.is_err());
        listeners.push(listener);
        for _ in 0..256 {
            number += 1;
            let reply = Stranger::address(number);
            let subject = format!("duo.bank{group}.{fingerprint}");
            broker.publish(&subject, Some(&reply), stranger.open.clone());
        }
    }
    let here = exchange(&broker);
    let refused = Connector::new()
        .timeout(LONG)
        .connect_through::<bank_client::Login>(&here, "bank0");
    let is_full = |error: &Error| {
        matches!(
            error,
            Error::Refused {
                verdict: Verdict::Full,
                ..
            }
        )
    };
    assert!(
        refused.as_ref().err().is_some_and(is_full),
        "{:?}",
        refused.map(drop)
    );
    // More than 48 MiB would be 64 KiB for the first 192, 16 KiB for 768, and 4 KiB for 6,144 more.
    let refusals = stranger
        .seen
        .try_iter()
        .filter(|(_, _, bytes)| bytes[0] == ACCEPT);
    assert!((2_000..4_000).contains(&refusals.count()));
}
