//! A session from its creation to its end: the customer logs in, pays in, draws money and leaves.

use super::{OURS, alone};
use crate::harness::{Case, Family, Judged};
use crate::payload::triangle;
use crate::peers::blocking::*;
use crate::protocols::bank::{Connected, Login, LoginResponse, WithdrawalResponse, init};
use std::hint::black_box;

/// Both ends on one thread.
pub fn families() -> Vec<Family> {
    let mut family = Family::new("bank session, one thread", "session", triangle)
        .case(calls())
        .case(ours())
        .case(channels::<Rtrb>())
        .case(channels::<Ringbuf>())
        .case(channels::<Kanal>())
        .case(channels::<Crossbeam>())
        .case(channels::<StdSync>())
        .case(channels::<Std>())
        .case(channels::<Flume>())
        .case(channels::<Thingbuf>());
    family.judged = Judged::Median;
    vec![family]
}

/// What the two say to each other where there is only a channel each way.
#[derive(Clone, Debug, Default)]
pub enum Word {
    /// Nothing yet.
    #[default]
    Nothing,
    /// The customer's name and password.
    Login(u64, u64),
    /// The customer is known.
    Ok,
    /// The customer pays in.
    Deposit(u64),
    /// The customer wants money.
    Withdrawal(u64),
    /// The customer gets it.
    Money(u64),
}

/// Five calls that the compiler may not inline, and 192 bytes that come and go.
fn calls() -> Case {
    #[inline(never)]
    fn call(n: u64) -> u64 {
        black_box(n)
    }
    alone("five calls, malloc and free", |count| {
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
    let Login::Login(name, password, server) = server.recv().expect(OPEN);
    let server = server.ok().expect(OPEN);
    let LoginResponse::Ok(client) = client.recv().expect(OPEN) else {
        panic!("the server said ok");
    };
    let client = client.deposit(name & password).expect(OPEN);
    let Connected::Deposit(deposit, server) = server.recv().expect(OPEN) else {
        panic!("the client paid in");
    };
    let client = client.withdrawal(deposit).expect(OPEN);
    let Connected::Withdrawal(amount, server) = server.recv().expect(OPEN) else {
        panic!("the client draws money");
    };
    let _server = server.money(amount).expect(OPEN);
    match client.recv().expect(OPEN) {
        WithdrawalResponse::Money(money, _client) => money,
        WithdrawalResponse::InsufficientFunds(_) => panic!("the server has money"),
    }
}

/// The same over a channel each way.
fn channels<C: Channel<Word>>() -> Case {
    alone(format!("{} x 2", C::NAME), |count| {
        (0..count).fold(0, |sum, n| {
            let (mut to_server, mut server) = C::channel(2);
            let (mut to_client, mut client) = C::channel(2);
            C::send(&mut to_server, Word::Login(n, n));
            let Word::Login(name, password) = C::recv(&mut server) else {
                panic!("out of turn");
            };
            C::send(&mut to_client, Word::Ok);
            let Word::Ok = C::recv(&mut client) else {
                panic!("out of turn");
            };
            C::send(&mut to_server, Word::Deposit(name & password));
            let Word::Deposit(deposit) = C::recv(&mut server) else {
                panic!("out of turn");
            };
            C::send(&mut to_server, Word::Withdrawal(deposit));
            let Word::Withdrawal(amount) = C::recv(&mut server) else {
                panic!("out of turn");
            };
            C::send(&mut to_client, Word::Money(amount));
            let Word::Money(money) = C::recv(&mut client) else {
                panic!("out of turn");
            };
            sum.wrapping_add(money)
        })
    })
}
