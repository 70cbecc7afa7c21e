//! Conversations between threads for sanitizers to watch: no test harness, no dependency.

extern crate duologue_runtime as duologue;

#[path = "../tests/sessions/golden.rs"]
mod golden;

use std::thread;
use std::time::Duration;

use duologue::{session, Capacity, Closed, PortSet, SharedSender, Slot, TryRecvError};
use golden::{bank, nest, stream};

fn main() -> Result<(), Closed> {
    // A sanitizer of threads must know the locks of the standard library, which is not built for it.
    let has_locks = std::env::args().any(|argument| argument == "locks");
    dialogue(3_000)?;
    for round in 0..300 {
        leave_after(round % 90, (round * 7) % 130);
    }
    nested(20_000);
    for round in 0..30 {
        many_ports(round * 11 % 70);
        if has_locks {
            many_senders(round * 13 % 200);
        }
    }
    println!("done");
    Ok(())
}

/// Runs of many lengths with replies.
fn dialogue(rounds: u32) -> Result<(), Closed> {
    let (server, client) = bank::init();
    let serving = thread::spawn(move || {
        let bank::Login::Login(_, _, server) = server.recv()?;
        let mut server = server.ok()?;
        loop {
            server = match server.recv()? {
                bank::Connected::Deposit(_, next) => next,
                bank::Connected::Withdrawal(amount, next) => next.money(amount)?,
                bank::Connected::Quit => return Ok::<_, Closed>(()),
            }
        }
    });
    let answer = client.login("holk".to_owned(), "1234".to_owned())?.recv()?;
    let bank::LoginResponse::Ok(mut client) = answer else {
        panic!("accepted")
    };
    for round in 0..rounds {
        for _ in 0..round % 150 {
            client = client.deposit(1.0)?;
        }
        let answer = client.withdrawal(f64::from(round))?.recv()?;
        let bank::WithdrawalResponse::Money(money, next) = answer else {
            panic!("granted")
        };
        assert!(money == f64::from(round), "the amount asked for");
        client = next;
    }
    client.quit()?;
    serving.join().expect("the server did not panic")
}

/// A stream whose two ends leave at different moments.
fn leave_after(sent: u32, read: u32) {
    let (server, mut client) = stream::init::<Box<u32>>();
    let sending = thread::spawn(move || {
        for number in 0..sent {
            client = match client.send(Box::new(number)) {
                Ok(next) => next,
                Err(_) => return,
            };
        }
    });
    receive(server, read);
    sending.join().expect("the sender did not panic");
}

fn receive(mut server: stream::server::Stream<Box<u32>>, read: u32) {
    for _ in 0..read {
        server = match server.try_recv() {
            Ok(stream::Stream::Send(_, next)) => next,
            Err(TryRecvError::Empty(same)) => same,
            Ok(stream::Stream::Stop) | Err(TryRecvError::Closed(_)) => return,
        };
    }
}

/// Sessions inside messages of sessions, none of them read.
fn nested(depth: u32) {
    let (mut outermost, _innermost) = nest::init();
    for _ in 0..depth {
        let (server, client) = nest::init();
        assert!(client.inner(outermost).is_ok());
        outermost = server;
    }
}

/// More ports than a panel has bells, whose senders come, speak and go while the set sleeps, wakes and throws some out.
fn many_ports(messages: u32) {
    let mut set = PortSet::new();
    let mut clients = Vec::new();
    let mut keys = Vec::new();
    for number in 0..100 {
        let (port, client) = stream::init::<Box<u32>>();
        keys.push(set.insert(port, number));
        clients.push(client);
    }
    let senders = [clients.split_off(50), clients].map(|clients| {
        thread::spawn(move || {
            for mut client in clients {
                for number in 0..messages {
                    client = match client.send(Box::new(number)) {
                        Ok(next) => next,
                        Err(_) => break,
                    };
                }
            }
        })
    });
    let mut gone = 0;
    while !set.is_empty() {
        let received = match gone % 2 {
            0 => set.recv(),
            _ => set.recv_timeout(Duration::ZERO),
        };
        match received {
            Some((number, Ok(stream::Stream::Send(_, next)))) => {
                set.insert(next, number);
            }
            Some((_, Ok(stream::Stream::Stop) | Err(_))) => gone += 1,
            None => {
                keys.pop().and_then(|key| set.remove(key));
            }
        }
    }
    for sender in senders {
        sender.join().expect("the sender did not panic");
    }
}

/// Threads that share an endpoint, and a receiver that leaves in the middle.
fn many_senders(read: u32) {
    let slot = Slot::new().fit::<Box<u32>>();
    let (sender, server) = session::<stream::state::Stream<_>>(slot, Capacity::Bounded(4));
    let shared = SharedSender::new(sender);
    let senders = [shared.clone(), shared.clone(), shared].map(|shared| {
        thread::spawn(move || (0..60).all(|number| shared.send::<0>(Box::new(number)).is_ok()))
    });
    receive(server, read);
    for sender in senders {
        sender.join().expect("the sender did not panic");
    }
}
