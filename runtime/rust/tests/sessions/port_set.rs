//! Many endpoints in one set.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use duologue::generated::{session, Slot};
use duologue::{Capacity, Closed, PortSet, SharedSender};

use crate::futures::block_on;
use crate::golden::stream::{self, state, Stream};
use crate::golden::{bank, nest};
use crate::unpark::Unpark;

#[test]
fn an_empty_set_says_so_at_once() {
    let mut set = PortSet::<stream::server::Stream<u32>, u8>::new();
    assert!(set.recv().is_none());
    assert!(set.try_recv().is_none());
    assert!(set.recv_timeout(Duration::MAX).is_none());
    assert!(block_on(set.recv_async()).is_none());
}

#[test]
fn messages_and_closed_endpoints_come_with_their_value() -> Result<(), Closed> {
    let mut set = PortSet::new();
    let (a, to_a) = stream::init::<u32>();
    let (b, to_b) = stream::init::<u32>();
    set.insert(a, "a");
    set.insert(b, "b");
    assert!(set.try_recv().is_none());
    let _to_b = to_b.send(1)?;
    let Some(("b", Ok(Stream::Send(1, b)))) = set.recv() else {
        panic!("the message of b")
    };
    assert_eq!(set.len(), 1);
    set.insert(b, "b again");
    drop(to_a);
    let Some(("a", Err(closed))) = set.recv() else {
        panic!("the end of a")
    };
    assert_eq!(closed.state(), "Stream");
    assert!(set.recv_timeout(Duration::from_millis(1)).is_none());
    assert_eq!(set.len(), 1);
    Ok(())
}

#[test]
fn a_key_names_its_endpoint_and_no_later_one() -> Result<(), Closed> {
    let mut set = PortSet::new();
    let (a, to_a) = stream::init::<u32>();
    let key = set.insert(a, 'a');
    // Polls without success, so that a waiter is registered.
    assert!(set.recv_timeout(Duration::ZERO).is_none());
    let (a, 'a') = set.remove(key).expect("it is there") else {
        panic!("it is a")
    };
    assert!(set.remove(key).is_none());
    let _to_a = to_a.send(1)?;
    let (b, to_b) = stream::init::<u32>();
    set.insert(b, 'b');
    assert!(set.remove(key).is_none());
    assert!(set.try_recv().is_none());
    let _to_b = to_b.send(2)?;
    assert!(matches!(set.recv(), Some(('b', Ok(Stream::Send(2, _))))));
    assert!(matches!(a.recv()?, Stream::Send(1, _)));
    Ok(())
}

/// One thread sends everything, so each message is sent after the one before. A set keeps the order of each sender, and reports its end last.
/// Only a shared sender keeps the order across senders.
#[test]
fn a_set_orders_each_sender_and_a_shared_sender_orders_all() -> Result<(), Closed> {
    let mut set = PortSet::new();
    let (a, to_a) = stream::init::<u32>();
    let (b, to_b) = stream::init::<u32>();
    set.insert(a, 'a');
    set.insert(b, 'b');
    let to_a = to_a.send(1)?;
    drop(to_b.send(2)?);
    drop(to_a.send(3)?);
    let (mut numbers, mut of_a, mut of_b) = (Vec::new(), Vec::new(), Vec::new());
    while let Some((from, message)) = set.recv() {
        let of_sender = if from == 'a' { &mut of_a } else { &mut of_b };
        let Ok(Stream::Send(number, next)) = message else {
            of_sender.push("its end".to_owned());
            continue;
        };
        numbers.push(number);
        of_sender.push(number.to_string());
        set.insert(next, from);
    }
    assert_eq!(of_a, ["1", "3", "its end"]);
    assert_eq!(of_b, ["2", "its end"]);
    assert_ne!(numbers, [1, 2, 3]);

    let (client, server) = session(Slot::new().fit::<u32>(), Capacity::Unbounded);
    let mut server: stream::server::Stream<u32> = server;
    let sender = SharedSender::<state::Stream<u32>>::new(client);
    let senders = [sender.clone(), sender];
    for number in 0..4 {
        senders[number as usize % 2].send::<0>(number)?;
    }
    drop(senders);
    for expected in 0..4 {
        server = server.recv()?.sent_is(expected);
    }
    assert!(server.recv().is_err());
    Ok(())
}

#[test]
fn a_flood_does_not_drown_the_others() -> Result<(), Closed> {
    let mut set = PortSet::new();
    let (flood, mut to_flood) = stream::init::<u32>();
    set.insert(flood, 0);
    let mut others = Vec::new();
    for number in 1..=3 {
        let (port, client) = stream::init::<u32>();
        set.insert(port, number);
        others.push(client);
    }
    // Every member is checked once without success: the others have a waiter when the flood begins.
    assert!(set.recv_timeout(Duration::ZERO).is_none());
    for _ in 0..20 {
        to_flood = to_flood.send(0)?;
    }
    let _others: Vec<_> = others
        .into_iter()
        .map(|other| other.send(1))
        .collect::<Result<_, _>>()?;
    let mut behind = 0;
    let mut heard = HashSet::new();
    while heard.len() < 3 {
        match set.recv() {
            Some((0, Ok(Stream::Send(_, next)))) => {
                to_flood = to_flood.send(0)?;
                behind += 1;
                set.insert(next, 0);
            }
            Some((number, Ok(Stream::Send(1, _)))) => {
                heard.insert(number);
            }
            _ => panic!("numbers"),
        }
    }
    // A burst is 64 messages; before the first of the others and between them there is at most one burst.
    assert!(behind <= 3 * 64, "{behind} messages of the flood");
    Ok(())
}

#[test]
fn a_hundred_thousand_endpoints() {
    const ENDPOINTS: usize = if cfg!(miri) { 200 } else { 100_000 };
    let mut set = PortSet::new();
    let mut clients = Vec::new();
    for number in 0..ENDPOINTS {
        let (server, client) = nest::init();
        set.insert(server, number);
        clients.push(client);
    }
    assert!(set.try_recv().is_none());
    assert!(set.recv_timeout(Duration::ZERO).is_none());
    // One third sends, one third disconnects, and the last third waits.
    let speaking = thread::spawn(move || {
        let mut kept = Vec::new();
        for (number, client) in clients.into_iter().enumerate() {
            match number % 3 {
                0 => client.inner(nest::init().0).expect("receiver is open"),
                1 => drop(client),
                _ => kept.push(client),
            }
        }
        kept
    });
    let mut heard = HashSet::new();
    for _ in 0..ENDPOINTS / 3 * 2 {
        let (number, message) = set.recv().expect("some are left");
        assert_eq!(message.is_ok(), number % 3 == 0);
        assert!(heard.insert(number) && number % 3 != 2);
    }
    let kept = speaking.join().expect("no panic");
    drop(kept);
    while let Some((number, _)) = set.recv() {
        assert!(heard.insert(number));
    }
    assert_eq!(heard.len(), ENDPOINTS);
}

duologue::ports! {
    /// A customer at the counter.
    enum Customer / Said {
        Login(bank::server::Login),
        Connected(bank::server::Connected),
        Queueing(stream::server::Stream<u32>),
    }
}

#[test]
fn sessions_in_different_states_and_of_different_protocols_share_a_set() -> Result<(), Closed> {
    let mut set = PortSet::<Customer, usize>::new();
    let mut threads = Vec::new();
    for number in 0..3 {
        let (server, client) = bank::init();
        set.insert(server.into(), number);
        threads.push(thread::spawn(move || {
            let answer = client.login(number.to_string(), String::new())?;
            let bank::LoginResponse::Ok(client) = answer.recv()? else {
                panic!("everybody may come in")
            };
            let answer = client
                .deposit(1.0)?
                .deposit(2.0)?
                .withdrawal(number as f64)?;
            let bank::WithdrawalResponse::Money(money, client) = answer.recv()? else {
                panic!("there is enough")
            };
            client.quit()?;
            Ok::<f64, Closed>(money)
        }));
    }
    let (queueing, last) = stream::init();
    set.insert(Customer::from(queueing), 9);
    last.send(3)?.stop()?;
    let (mut deposits, mut quits) = (0.0, 0);
    while let Some((number, said)) = set.recv() {
        match said? {
            Said::Login(bank::Login::Login {
                username: name,
                next: answer,
                ..
            }) => {
                assert_eq!(name, number.to_string());
                set.insert(answer.ok()?.into(), number);
            }
            Said::Connected(bank::Connected::Deposit(money, next)) => {
                deposits += money;
                set.insert(next.into(), number);
            }
            Said::Connected(bank::Connected::Withdrawal {
                amount: money,
                next: answer,
            }) => {
                set.insert(answer.money(money)?.into(), number);
            }
            Said::Connected(bank::Connected::Quit) => quits += 1,
            Said::Queueing(Stream::Send(waits, next)) => {
                assert_eq!((waits, number), (3, 9));
                set.insert(next.into(), number);
            }
            Said::Queueing(Stream::Stop) => quits += 1,
        }
    }
    assert_eq!((deposits, quits), (9.0, 4));
    for (number, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().expect("no panic")?, number as f64);
    }
    Ok(())
}

#[test]
fn a_dropped_future_loses_nothing_and_leaves_no_waiter() -> Result<(), Closed> {
    let wakes = Unpark::current();
    let mut set = PortSet::new();
    let (port, client) = stream::init::<u32>();
    set.insert(port, ());
    let mut receiving = set.recv_async();
    assert!(wakes.poll(&mut receiving).is_pending());
    drop(receiving);
    let client = client.send(1)?;
    assert_eq!(wakes.woken(), 0);
    let Some(((), Ok(Stream::Send(1, port)))) = set.try_recv() else {
        panic!("the message")
    };
    set.insert(port, ());
    // A forgotten future leaves its waiter registered, which does no harm.
    let mut receiving = set.recv_async();
    assert!(wakes.poll(&mut receiving).is_pending());
    std::mem::forget(receiving);
    let sending = thread::spawn(move || client.send(2).map(drop));
    assert!(matches!(set.recv(), Some(((), Ok(Stream::Send(2, _))))));
    sending.join().expect("no panic")?;
    assert!(set.is_empty());
    drop(set);
    assert_eq!(Arc::strong_count(&wakes), 1);
    Ok(())
}
