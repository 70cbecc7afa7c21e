//! A session from its creation to its end: the customer logs in, makes a deposit and a withdrawal, and disconnects.

use super::bank_words::{Word, must_be};
use super::{OURS, alone};
use crate::harness::{Case, Family};
use crate::payload::triangle;
use crate::peers::blocking::*;
use crate::protocols::bank::{Connected, Login, LoginResponse, WithdrawalResponse, init};
use std::hint::black_box;

/// The name of the limit on one thread.
pub const CALLS: &str = "five calls, malloc and free";

/// Both ends on one thread.
pub fn families() -> Vec<Family> {
    vec![
        Family::new("bank session, one thread", "session", triangle)
            .steady()
            .case(calls())
            .case(ours())
            .case(channels::<Rtrb>())
            .case(channels::<Kanal>())
            .case(channels::<Crossbeam>())
            .case(channels::<StdSync>())
            .case(channels::<Std>())
            .case(channels::<Flume>()),
    ]
}

/// Five calls that the compiler may not inline, and 192 bytes that are allocated and freed.
pub fn calls() -> Case {
    #[inline(never)]
    fn call(n: u64) -> u64 {
        black_box(n)
    }
    alone(CALLS, |count| {
        (0..count).fold(0, |sum, n| {
            let place = black_box(Box::<[u64; 24]>::new_uninit());
            let last = (0..5).fold(n, |n, _| call(n));
            drop(place);
            sum.wrapping_add(last)
        })
    })
}

fn ours() -> Case {
    alone(OURS, |count| {
        (0..count).fold(0, |sum, n| sum.wrapping_add(session(n)))
    })
}

const OPEN: &str = "both ends are here";

fn session(n: u64) -> u64 {
    let (server, client) = init();
    let client = client.login(n, n).expect(OPEN);
    let Login::Login {
        username: name,
        password,
        next: server,
    } = server.recv().expect(OPEN);
    let server = server.ok().expect(OPEN);
    let LoginResponse::Ok(client) = client.recv().expect(OPEN) else {
        panic!("the server sent ok");
    };
    let client = client.deposit(name & password).expect(OPEN);
    let Connected::Deposit(deposit, server) = server.recv().expect(OPEN) else {
        panic!("the client made a deposit");
    };
    let client = client.withdrawal(deposit).expect(OPEN);
    let Connected::Withdrawal(amount, server) = server.recv().expect(OPEN) else {
        panic!("the client asked for money");
    };
    let _server = server.money(amount).expect(OPEN);
    match client.recv().expect(OPEN) {
        WithdrawalResponse::Money(money, _client) => money,
        WithdrawalResponse::InsufficientFunds(_) => panic!("the server has money"),
    }
}

/// The same over one channel in each direction.
fn channels<C: Channel<Word>>() -> Case {
    alone(format!("{} x 2", C::NAME), |count| {
        (0..count).fold(0, |sum, n| {
            let (mut to_server, mut server) = C::channel(2);
            let (mut to_client, mut client) = C::channel(2);
            C::send(&mut to_server, Word::Login(n, n));
            must_be!(C::recv(&mut server), Login(name, password));
            C::send(&mut to_client, Word::Ok);
            must_be!(C::recv(&mut client), Ok);
            C::send(&mut to_server, Word::Deposit(name & password));
            must_be!(C::recv(&mut server), Deposit(deposit));
            C::send(&mut to_server, Word::Withdrawal(deposit));
            must_be!(C::recv(&mut server), Withdrawal(amount));
            C::send(&mut to_client, Word::Money(amount));
            must_be!(C::recv(&mut client), Money(money));
            sum.wrapping_add(money)
        })
    })
}
