//! Conversations between threads for sanitizers to watch: no test harness, no dependency.

extern crate duologue_runtime as duologue;

#[path = "../tests/sessions/golden.rs"]
mod golden;

use std::thread;

use duologue::{Closed, TryRecvError};
use golden::{bank, nest, stream};

fn main() -> Result<(), Closed> {
    dialogue(3_000)?;
    for round in 0..300 {
        leave_after(round % 90, (round * 7) % 130);
    }
    nested(20_000);
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
