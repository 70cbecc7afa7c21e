//! Sessions in shared memory: messages of every length, long runs, and every way to wait.

use conversations::protocols::bank::{self, Connected, WithdrawalResponse};
use conversations::protocols::{numbers, pingpong};
use conversations::regions::{after, pair, pair_in};
use conversations::runs::turn;
use conversations::sockets::logged_in;
use conversations::wire::payloads::{All, client, server};
use conversations::{LONG, block_on, why};
use duologue::{Closed, PortSet, Select, TryRecvError, TrySendError, Why};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use std::thread;
use std::time::Duration;

/// Longer than a message of a run waits for others.
const A_MOMENT: Duration = Duration::from_millis(20);

/// A session after the login.
fn connected() -> (bank::server::Connected, bank::client::Connected) {
    logged_in(pair())
}

fn text(length: usize) -> String {
    (0..length)
        .map(|at| char::from(b'a' + (at % 23) as u8))
        .collect()
}

/// Lengths around those of cells, lines, parts and regions.
fn lengths() -> impl Iterator<Item = usize> {
    let around = [512, 1024, 2048, 4032, 4096, 8192, 16_384];
    let around = around
        .into_iter()
        .flat_map(|length| length - 70..length + 70);
    let large = [65_535, 65_536, 100_000, 262_144, 300_000];
    (0..260).chain(around).chain(large)
}

#[test]
fn messages_of_every_length_arrive() {
    for space in [4096, 1 << 18] {
        let (server, client): (server::All, client::All) = pair_in(space);
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut client = client;
                for length in lengths() {
                    client = client.str(text(length)).expect("it is open");
                }
                client.over().expect("it is open");
            });
            let mut server = server;
            for length in lengths() {
                let Ok(All::Str(found, next)) = server.recv() else {
                    panic!("{length} bytes arrive")
                };
                assert!(found == text(length), "{length}");
                server = next;
            }
            assert!(matches!(server.recv(), Ok(All::Over)));
        });
    }
}

/// Messages of all kinds, in an order that a number determines: every combination in a line occurs.
fn say(client: client::All, number: u64) -> Result<client::All, Closed> {
    let length = (number / 16 % 90) as usize;
    Ok(match number % 16 {
        0 => client.none()?,
        1 => client.u8(number as u8)?,
        2 => client.u16(number as u16)?,
        3 => client.str(text(length))?,
        4 => client.tuple((1, text(length), true))?,
        5 => client.option(number.is_multiple_of(3).then_some(number as u32))?,
        6 => client.bool(number.is_multiple_of(5))?,
        7 => client.bytes(vec![number as u8; length])?,
        8 => client.many(1, number as f64, false, conversations::wire::Colour::Blue)?,
        9 => client.list(vec![number as u16; length])?,
        _ => client.u64(number)?,
    })
}

fn is_said(message: &All, number: u64) -> bool {
    let length = (number / 16 % 90) as usize;
    match (number % 16, message) {
        (0, All::None(_)) => true,
        (1, All::U8(found, _)) => *found == number as u8,
        (2, All::U16(found, _)) => *found == number as u16,
        (3, All::Str(found, _)) => *found == text(length),
        (
            4,
            All::Tuple {
                tuple: (1, found, true),
                ..
            },
        ) => *found == text(length),
        (5, All::Option { option: found, .. }) => {
            *found == number.is_multiple_of(3).then_some(number as u32)
        }
        (6, All::Bool(found, _)) => *found == number.is_multiple_of(5),
        (7, All::Bytes(found, _)) => *found == vec![number as u8; length],
        (8, All::Many(1, found, false, _, _)) => *found == number as f64,
        (9, All::List { list: found, .. }) => *found == vec![number as u16; length],
        (10.., All::U64(found, _)) => *found == number,
        _ => false,
    }
}

#[test]
fn messages_of_all_kinds_arrive_in_order() {
    const COUNT: u64 = 60_000;
    // A generator that repeats after more numbers than there are.
    let order = || (0..COUNT).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
    let (server, client): (server::All, client::All) = pair();
    thread::scope(|scope| {
        scope.spawn(move || {
            let client = order().try_fold(client, say).expect("it is open");
            client.over().expect("it is open");
        });
        let mut server = Some(server);
        for number in order() {
            let message = server.take().expect("it goes on").recv();
            let message = message.expect("it is open");
            assert!(is_said(&message, number), "{number}: {message:?}");
            server = after(message);
        }
        assert!(matches!(server.map(server::All::recv), Some(Ok(All::Over))));
    });
}

#[test]
fn runs_of_every_length_turn() -> Result<(), Closed> {
    let longer = [1_791, 1_792, 1_793, 7_000, 30_000];
    turn(connected(), (0..300).chain(longer))
}

#[test]
fn a_message_inside_a_run_arrives_without_more() {
    let (server, client) = connected();
    let client = client.deposit(1.5).expect("it is open");
    let Ok(Connected::Deposit(1.5, server)) = server.recv_timeout(LONG) else {
        panic!("the deposit arrives though the run goes on")
    };
    assert!(matches!(server.try_recv(), Err(TryRecvError::Empty(_))));
    drop(client);
}

#[test]
fn a_receiver_that_leaves_is_noticed() {
    let (server, mut client) = connected();
    let sending = thread::spawn(move || {
        loop {
            client = match client.deposit(1.0) {
                Ok(client) => client,
                Err(error) => return error.closed().why(),
            };
        }
    });
    thread::sleep(A_MOMENT);
    drop(server);
    assert_eq!(sending.join().expect("it does not panic"), Why::Left);
}

/// A side may end while its last messages do not fit into the region: they are written when the peer reads.
#[test]
fn the_last_messages_are_written_after_the_side_is_gone() {
    let (server, client): (server::All, client::All) = pair();
    // It does not wait where it sends.
    let (mut client, mut sent, mut failed) = (client, 0, 0);
    while failed < 5 {
        match client.try_u64(sent) {
            Ok(next) => {
                client = next;
                failed = 0;
                sent += 1;
            }
            Err(TrySendError::Full((same, payload))) => {
                assert_eq!(payload, sent);
                // What was sent is still being moved into the region.
                client = same;
                failed += 1;
                thread::sleep(A_MOMENT);
            }
            Err(TrySendError::Closed(error)) => panic!("{error}"),
        }
    }
    // More than the region has space for: texts may follow, so each number takes a line, of which there are 256.
    assert!((257..100_000).contains(&sent), "{sent}");
    drop(client);
    thread::sleep(A_MOMENT);
    let mut server = server;
    for n in 0..sent {
        let Ok(All::U64(found, next)) = server.recv() else {
            panic!("{n} was sent")
        };
        assert_eq!(found, n);
        server = next;
    }
    assert_eq!(why(server.recv()), Why::Left);
}

#[test]
fn a_set_and_a_select_wait_for_several() {
    // More than the system waits for at once.
    for count in [5, 150] {
        let mut set = PortSet::new();
        let mut clients = Vec::new();
        for number in 0..count {
            let (server, client) = connected();
            set.insert(server, number);
            clients.push(client);
        }
        let saying = thread::spawn(move || {
            for (number, client) in clients.into_iter().rev().enumerate() {
                if number % 30 == 0 {
                    thread::sleep(A_MOMENT);
                }
                client.quit().expect("it is open");
            }
        });
        let mut order = Vec::new();
        while let Some((number, said)) = set.recv() {
            assert!(matches!(said, Ok(Connected::Quit)));
            order.push(number);
        }
        order.sort_unstable();
        assert!(order.into_iter().eq(0..count));
        saying.join().expect("it does not panic");
    }

    let (mut one, bank_client) = connected();
    let (mut two, ping_client): (pingpong::server::Ping, pingpong::client::Ping) = pair();
    let saying = thread::spawn(move || {
        thread::sleep(A_MOMENT);
        ping_client.ping().expect("it is open")
    });
    let mut select = Select::new();
    let _bank = select.add(&mut one);
    let ping = select.add(&mut two);
    assert_eq!(select.ready(), Ok(ping));
    let Ok(pingpong::Ping::Ping(answer)) = two.recv() else {
        panic!("the ping has arrived")
    };
    drop(answer.pong().expect("it is open"));
    drop((one, bank_client));
    drop(saying.join().expect("it does not panic"));
}

/// Many dialogues and streams between tasks of one thread: nothing waits where it sends.
#[test]
fn tasks_wait_for_messages_and_for_space() {
    const COUNT: u32 = 5_000;
    let tasks = FuturesUnordered::new();
    for _ in 0..10 {
        let (mut server, mut client) = connected();
        let client = async move {
            for n in 0..COUNT {
                let sent = client.deposit_async(f64::from(n)).await;
                client = sent.expect("it is open");
            }
            for n in 0..50 {
                let sent = client.withdrawal_async(f64::from(n)).await;
                let answer = sent.expect("it is open");
                let Ok(WithdrawalResponse::Money(money, next)) = answer.recv_async().await else {
                    panic!("there is money")
                };
                assert!((money - f64::from(n)).abs() < 0.1);
                client = next;
            }
            client.quit().expect("it is open");
        };
        tasks.push(client.boxed_local());
        let server = async move {
            let mut count = 0;
            loop {
                server = match server.recv_async().await.expect("it is open") {
                    Connected::Deposit(_, next) => {
                        count += 1;
                        next
                    }
                    Connected::Withdrawal {
                        amount,
                        next: answer,
                    } => answer.money(amount).expect("it is open"),
                    Connected::Quit => break,
                };
            }
            assert_eq!(count, COUNT);
        };
        tasks.push(server.boxed_local());
    }
    block_on(tasks.collect::<()>());
}

#[test]
fn many_threads_share_a_sender() {
    const THREADS: u64 = 4;
    const COUNT: u64 = 5_000;
    let (mut server, client): (numbers::server::Stream, numbers::client::Stream) = pair();
    let shared = numbers::client::SharedStream::from(client);
    let mut count = 0;
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let shared = shared.clone();
            scope.spawn(move || (0..COUNT).for_each(|n| shared.send(n).expect("it is open")));
        }
        drop(shared);
        while let Ok(numbers::Stream::Send(_, next)) = server.recv() {
            server = next;
            count += 1;
        }
    });
    assert_eq!(count, THREADS * COUNT);
}
