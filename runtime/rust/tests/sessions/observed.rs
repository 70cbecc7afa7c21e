//! Sessions with an observer.

use std::collections::VecDeque;
use std::fmt;
use std::future::{poll_fn, Future};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use duologue::generated::{session, Slot};
use duologue::observe::{End, Message, Observer, Run, Session, Side};
use duologue::{observed, Capacity, Closed, Endpoint, PortSet, SharedSender};

use crate::bomb::explode;
use crate::futures::block_on;
use crate::golden::stream::{self, Stream};
use crate::golden::{bank, type_switch};

/// Writes down what is reported.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn add(&self, session: &Session, text: String) {
        let mut all = self.0.lock().expect("nobody panics here");
        all.push(format!("{} {text}", session.protocol));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("nobody panics here"))
    }
}

impl Observer for Log {
    fn began(&self, session: &Session) {
        self.add(session, "began".to_owned());
    }

    fn sent(&self, session: &Session, message: &Message) {
        let Message {
            state,
            name,
            sender,
            ..
        } = message;
        self.add(session, format!("{sender}: {state}.{name}"));
    }

    fn turned(&self, session: &Session, run: &Run) {
        let (state, sender, messages) = (run.state, run.sender, run.messages);
        self.add(session, format!("{messages} of {sender} until {state}"));
    }

    fn ended(&self, session: &Session, end: &End) {
        let (client, server) = (end.sent_by_client, end.sent_by_server);
        let how = match (end.left, end.state) {
            (None, None) => "is over".to_owned(),
            (Some(side), Some(state)) => format!("{side} left in {state}"),
            (left, state) => panic!("{left:?} in {state:?}"),
        };
        self.add(session, format!("{how} after {client} and {server}"));
    }
}

/// The ends of sessions.
#[derive(Default)]
struct Ends(Mutex<VecDeque<End>>);

impl Observer for Ends {
    fn ended(&self, _: &Session, end: &End) {
        let mut all = self.0.lock().expect("nobody panics here");
        all.push_back(end.clone());
    }
}

impl Ends {
    /// The next one, which it waits for: not with a channel of the standard library, because the thread sanitizer does not
    /// see what orders its accesses.
    fn next(&self) -> End {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let next = self.0.lock().expect("nobody panics here").pop_front();
            match next {
                Some(end) => return end,
                None => assert!(Instant::now() < deadline, "it has not ended"),
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

pub fn serve(server: bank::server::Login) -> Result<(), Closed> {
    let bank::Login::Login { next: answer, .. } = server.recv()?;
    let mut customer = answer.ok()?;
    loop {
        customer = match customer.recv()? {
            bank::Connected::Deposit(_, next) => next,
            bank::Connected::Withdrawal {
                amount,
                next: answer,
            } => answer.money(amount)?,
            bank::Connected::Quit => return Ok(()),
        };
    }
}

pub fn shop(client: bank::client::Login) -> Result<(), Closed> {
    let bank::LoginResponse::Ok(client) = client.login(String::new(), String::new())?.recv()?
    else {
        panic!("the password is right")
    };
    let waiting = client.deposit(1.0)?.deposit(2.0)?.withdrawal(3.0)?;
    let bank::WithdrawalResponse::Money(_, client) = waiting.recv()? else {
        panic!("there is enough")
    };
    Ok(client.quit()?)
}

/// Everything in the order in which it happens, on two threads and again on one.
#[test]
fn a_session_is_reported() -> Result<(), Closed> {
    let log = Arc::new(Log::default());
    let (server, client) = observed(bank::init(), log.clone());
    let serving = thread::spawn(move || serve(server));
    shop(client)?;
    serving.join().expect("no panic")?;
    let expected = [
        "bank began",
        "bank client: bank.login.login",
        "bank 1 of client until bank.login",
        "bank server: bank.login_response.ok",
        "bank 1 of server until bank.login_response",
        "bank client: bank.connected.deposit",
        "bank client: bank.connected.deposit",
        "bank client: bank.connected.withdrawal",
        "bank 3 of client until bank.connected",
        "bank server: bank.withdrawal_response.money",
        "bank 1 of server until bank.withdrawal_response",
        "bank client: bank.connected.quit",
        "bank 1 of client until bank.connected",
        "bank is over after 5 and 2",
    ];
    assert_eq!(log.take(), expected);

    // Others are not.
    let (server, client) = bank::init();
    let serving = thread::spawn(move || serve(server));
    shop(client)?;
    serving.join().expect("no panic")?;
    assert!(log.take().is_empty());
    Ok(())
}

#[test]
fn the_side_that_leaves_is_reported() -> Result<(), Closed> {
    let log = Arc::new(Log::default());
    // A sender.
    let (server, client) = observed(bank::init(), log.clone());
    drop(client);
    assert!(server.recv().is_err());
    let ended = ["bank began", "bank client left in bank.login after 0 and 0"];
    assert_eq!(log.take(), ended);
    // A receiver, and then a sender that finds that out.
    let (server, client) = observed(bank::init(), log.clone());
    drop(server);
    assert!(client.login(String::new(), String::new()).is_err());
    let ended = ["bank began", "bank server left in bank.login after 0 and 0"];
    assert_eq!(log.take(), ended);
    // A receiver with a message that it has not read.
    let (server, client) = observed(bank::init(), log.clone());
    let waiting = client.login(String::new(), String::new())?;
    drop(server);
    assert!(waiting.recv().is_err());
    let ended = "bank server left in bank.login_response after 1 and 0";
    assert_eq!(log.take().pop().as_deref(), Some(ended));
    // After the last message nobody leaves, whether or not it is received.
    let (server, client) = observed(stream::init::<u8>(), log.clone());
    client.stop()?;
    drop(server);
    let ended = "stream is over after 1 and 0";
    assert_eq!(log.take().pop().as_deref(), Some(ended));
    Ok(())
}

/// Every way to wait and to send, in runs that are longer than the ring.
#[test]
fn an_observed_session_works_like_others() -> Result<(), Closed> {
    const MANY: u64 = if cfg!(miri) { 300 } else { 20_000 };
    let ended = Arc::new(Ends::default());
    let observer = ended.clone();
    // A thread, and several senders.
    let slot = Slot::new().messages(3).fit::<u64>();
    let (sender, receiver) = session::<stream::state::Stream<u64>>(slot, Capacity::Unbounded);
    let (mut server, sender) = observed((receiver, sender), observer.clone());
    let shared = SharedSender::new(sender);
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || (0..MANY).try_for_each(|number| shared.send::<0>(number)))
        })
        .collect();
    drop(shared);
    let mut sum = 0;
    while let Ok(Stream::Send(number, next)) = server.recv() {
        (server, sum) = (next, sum + number);
    }
    assert_eq!(sum, 2 * MANY * (MANY - 1));
    for sender in senders {
        (sender.join().expect("no panic")).expect("it is received");
    }
    let end = ended.next();
    assert_eq!((end.sent_by_client, end.sent_by_server), (4 * MANY, 0));
    assert_eq!(end.left, Some(Side::Client));
    // Two tasks.
    let (mut server, mut client) = observed(stream::init::<u64>(), observer.clone());
    let sending = thread::spawn(move || {
        block_on(async {
            for number in 0..MANY {
                client = client.send_async(number).await?;
            }
            client.stop()?;
            Ok::<(), Closed>(())
        })
    });
    let received = block_on(async {
        let mut received = 0;
        while let Stream::Send(number, next) = server.recv_async().await? {
            assert_eq!(number, received);
            (server, received) = (next, received + 1);
        }
        Ok::<u64, Closed>(received)
    })?;
    sending.join().expect("no panic")?;
    assert_eq!(received, MANY);
    let end = ended.next();
    assert_eq!((end.sent_by_client, end.left), (MANY + 1, None));
    // A set, and a full ring.
    let (server, mut client) = observed(stream::init::<u64>(), observer);
    let mut sent = 0;
    while client.is_ready() {
        client = client.send(sent)?;
        sent += 1;
    }
    drop(client);
    let mut set = PortSet::from_iter([(server, ())]);
    let mut received = 0;
    while let Some(((), Ok(Stream::Send(number, next)))) = set.recv() {
        assert_eq!(number, received);
        received += 1;
        set.insert(next, ());
    }
    assert_eq!(received, sent);
    assert_eq!(ended.next().sent_by_client, sent);
    Ok(())
}

/// Dialogues on one thread, whose epochs go on.
#[test]
fn many_turns_are_counted() -> Result<(), Closed> {
    let ended = Arc::new(Ends::default());
    let observer = ended.clone();
    let (mut server, mut client) = observed(type_switch::init(), observer);
    for number in 0..1_000 {
        let waiting = client.get_int()?;
        let type_switch::Start::GetInt(answer) = server.recv()? else {
            panic!("an int")
        };
        server = answer.thing(number)?;
        let type_switch::Wait::Thing(got, next) = waiting.recv()?;
        assert_eq!(got, number);
        client = next;
    }
    drop(server);
    drop(client);
    let end = ended.next();
    assert_eq!((end.sent_by_client, end.sent_by_server), (1_000, 1_000));
    assert_eq!(end.left, Some(Side::Server));
    Ok(())
}

/// The payloads of unread messages are destroyed once, as in other sessions.
#[test]
fn unread_messages_of_an_observed_session_are_destroyed() -> Result<(), Closed> {
    let ended = Arc::new(Ends::default());
    let observer = ended.clone();
    let token = Arc::new(());
    let (server, mut client) = observed(stream::init::<Arc<()>>(), observer.clone());
    for _ in 0..100 {
        client = client.send(token.clone())?;
    }
    drop(server);
    assert_eq!(Arc::strong_count(&token), 1);
    let unsent = client.send(token.clone()).expect_err("nobody is there");
    assert_eq!(Arc::strong_count(&token), 2);
    drop(unsent);
    assert_eq!(Arc::strong_count(&token), 1);
    let end = ended.next();
    assert_eq!((end.sent_by_client, end.left), (100, Some(Side::Server)));
    Ok(())
}

struct Panics;

impl Observer for Panics {
    fn began(&self, _: &Session) {
        explode();
    }

    fn sent(&self, _: &Session, _: &Message) {
        explode();
    }

    fn turned(&self, _: &Session, _: &Run) {
        explode();
    }

    fn ended(&self, _: &Session, _: &End) {
        explode();
    }
}

#[test]
fn a_panic_of_an_observer_leaves_the_session_as_it_is() -> Result<(), Closed> {
    let (server, client) = observed(bank::init(), Arc::new(Panics));
    let serving = thread::spawn(move || serve(server));
    shop(client)?;
    serving.join().expect("no panic")
}

/// A session can be observed later, while no message is in flight, and a forgotten wait does no harm.
#[test]
fn a_session_that_has_begun_can_be_observed() -> Result<(), Closed> {
    let log = Arc::new(Log::default());
    let (server, client) = bank::init();
    let waiting = client.login(String::new(), String::new())?;
    let bank::Login::Login { next: answer, .. } = server.recv()?;
    assert!(answer.is_ready());
    let mut receiving = waiting.recv_async();
    let waiting = block_on(async {
        let waits = poll_fn(|context| {
            let polled = Pin::new(&mut receiving).poll(context);
            Poll::Ready(polled.is_pending())
        });
        assert!(waits.await);
        receiving.into_inner().expect("nothing has arrived")
    });
    let (waiting, answer) = observed((waiting, answer), log.clone());
    let server = answer.ok()?;
    let bank::LoginResponse::Ok(client) = waiting.recv()? else {
        panic!("the password is right")
    };
    drop((client, server));
    let expected = [
        "bank began",
        "bank client: bank.login_response.ok",
        "bank 1 of client until bank.login_response",
        "bank server left in bank.connected after 1 and 0",
    ];
    assert_eq!(log.take(), expected);
    Ok(())
}

fn refuses<S: duologue::observe::Observable, C: duologue::observe::Observable>(pair: (S, C)) {
    let log = Arc::new(Log::default());
    let observing = AssertUnwindSafe(|| observed(pair, log.clone()));
    assert!(catch_unwind(observing).is_err());
    assert!(log.take().is_empty());
}

#[test]
fn only_both_endpoints_of_a_quiet_session_are_observed() -> Result<(), Closed> {
    // Of two sessions.
    let ((server, _one), (_other, client)) = (bank::init(), bank::init());
    refuses((server, client));
    let ((one, _server), (other, _client)) = (bank::init(), bank::init());
    refuses((one, other));
    // With an unread message.
    let (server, client) = stream::init_with::<u8>(Capacity::Bounded(2));
    refuses((server, client.send(1)?));
    // Twice.
    let log = Arc::new(Log::default());
    refuses(observed(bank::init(), log.clone()));
    assert_eq!(log.take().len(), 2);
    Ok(())
}

/// An observer that takes a lock for each message, like one that prints.
struct Locks(Arc<Mutex<()>>);

impl Observer for Locks {
    fn sent(&self, _: &Session, _: &Message) {
        drop(self.0.lock().expect("nobody panics here"));
    }
}

/// Of an endpoint, and of senders that share one: the message wakes its receiver before the observer is called, and the
/// observer is called while no lock of the sender is held.
#[test]
fn an_observer_may_take_a_lock_under_which_the_receiver_waits() {
    for is_shared in [false, true] {
        let lock = Arc::new(Mutex::new(()));
        let slot = Slot::new().messages(3).fit::<u64>();
        let (sender, receiver) = session::<stream::state::Stream<u64>>(slot, Capacity::Unbounded);
        let (server, sender) = observed((receiver, sender), Arc::new(Locks(lock.clone())));
        let held = Arc::new(AtomicBool::new(false));
        let is_held = held.clone();
        let receiving = thread::spawn(move || {
            let _held = lock.lock().expect("nobody panics here");
            held.store(true, Ordering::Release);
            server.recv().map(|_received| ())
        });
        while !is_held.load(Ordering::Acquire) {
            thread::yield_now();
        }
        // It sleeps soon, most likely.
        thread::sleep(Duration::from_millis(50));
        let sending = thread::spawn(move || match is_shared {
            true => SharedSender::new(sender).send::<0>(1).is_ok(),
            false => sender.send::<0>(1).is_ok(),
        });
        // Not with a channel, as in `Ends::next`.
        let deadline = Instant::now() + Duration::from_secs(60);
        while !sending.is_finished() {
            assert!(
                Instant::now() < deadline,
                "the sender is stuck, shared: {is_shared}"
            );
            thread::sleep(Duration::from_millis(5));
        }
        assert!(sending.join().expect("no panic"), "shared: {is_shared}");
        assert!(receiving.join().expect("no panic").is_ok());
    }
}

/// The number of the last session that began.
#[derive(Default)]
struct Numbers(AtomicU64);

impl Observer for Numbers {
    fn began(&self, session: &Session) {
        self.0.store(session.id, Ordering::SeqCst);
    }
}

/// The text of an endpoint: protocol, side, state, and the number of the session, which its observer gets, too.
#[test]
fn endpoints_print_their_session() -> Result<(), Closed> {
    let number = |end: &dyn fmt::Debug, before: &str| -> u64 {
        let text = format!("{end:?}");
        let number = text.strip_prefix(before);
        let number = number.and_then(|rest| rest.strip_suffix(')')?.parse().ok());
        number.unwrap_or_else(|| panic!("{text}"))
    };
    let (server, client) = bank::init();
    let first = number(&client, "Sender(client, bank.login #");
    assert_eq!(first, number(&server, "Receiver(server, bank.login #"));
    let client = client.login("holk".into(), "1234".into())?;
    assert_eq!(
        first,
        number(&client, "Receiver(client, bank.login_response #")
    );
    let bank::Login::Login { next, .. } = server.recv()?;
    assert_eq!(first, number(&next, "Sender(server, bank.login_response #"));

    let events = Arc::new(Numbers::default());
    let (_server, client) = observed(bank::init(), events.clone());
    let second = number(&client, "Sender(client, bank.login #");
    assert_ne!(first, second, "another session");
    assert_eq!(events.0.load(Ordering::SeqCst), second);
    Ok(())
}
