//! The bank with customer and bank on two cores. The customer creates each session and passes the bank its end.

use super::bank_words::{Word, must_be};
use super::{OURS, two};
use crate::harness::{Case, Family};
use crate::payload::triangle;
use crate::peers::blocking::*;
use crate::peers::raw::Line;
use crate::protocols::bank::{
    Connected, Login, LoginResponse, WithdrawalResponse, client, init, server,
};
use std::sync::Arc;

/// The limit is the two round trips of the dialogue.
pub fn families() -> Vec<Family> {
    vec![
        Family::new("bank session, two threads", "session", triangle)
            .case(raw())
            .case(sessions(
                OURS,
                || {
                    let (server, client) = init();
                    (client, server)
                },
                customer,
                bank,
            ))
            .case(channels::<Kanal>())
            .case(channels::<Crossbeam>())
            .case(channels::<StdSync>())
            .case(channels::<Std>())
            .case(channels::<Flume>())
            .case(channels::<Rtrb>()),
    ]
}

/// The bank's next end. It arrives in the same way in all cases, so that only what follows differs.
fn take<S>(ends: &mut rtrb::Consumer<S>) -> S {
    loop {
        if let Ok(end) = ends.pop() {
            return end;
        }
        std::hint::spin_loop();
    }
}

/// Sessions that the customer creates one after another, and that the bank serves as they come.
fn sessions<C: 'static, S: Send + 'static>(
    name: impl Into<String>,
    open: fn() -> (C, S),
    customer: fn(C, u64) -> u64,
    bank: fn(S),
) -> Case {
    two(name, move |count| {
        let (mut give, mut get) = rtrb::RingBuffer::new(4);
        let left = move || {
            (0..count).fold(0_u64, |sum, n| {
                let (mine, theirs) = open();
                assert!(give.push(theirs).is_ok(), "the bank took the last one");
                sum.wrapping_add(customer(mine, n))
            })
        };
        let right = move || {
            for _ in 0..count {
                bank(take(&mut get));
            }
            0
        };
        (left, right)
    })
}

fn raw() -> Case {
    two("two round trips of a raw line (busy spin)", |count| {
        let line = Arc::new(Line::default());
        let other = line.clone();
        let left = move || {
            (0..count).fold(0_u64, |sum, n| {
                line.hand_over(4 * n + 1, n);
                let name = line.take(4 * n + 2);
                line.hand_over(4 * n + 3, name);
                sum.wrapping_add(line.take(4 * n + 4))
            })
        };
        let right = move || {
            for turn in 0..2 * count {
                let value = other.take(2 * turn + 1);
                other.hand_over(2 * turn + 2, value);
            }
            0
        };
        (left, right)
    })
}

const OPEN: &str = "the other side stays to the end";

fn customer(client: client::Login, n: u64) -> u64 {
    let waiting = client.login(n, n).expect(OPEN);
    let LoginResponse::Ok(client) = waiting.recv().expect(OPEN) else {
        panic!("the bank sent ok");
    };
    let client = client.deposit(n).expect(OPEN);
    let waiting = client.withdrawal(n).expect(OPEN);
    match waiting.recv().expect(OPEN) {
        WithdrawalResponse::Money(money, _client) => money,
        WithdrawalResponse::InsufficientFunds(_) => panic!("the bank has money"),
    }
}

fn bank(server: server::Login) {
    let Login::Login {
        username: _name,
        password: _password,
        next: server,
    } = server.recv().expect(OPEN);
    let server = server.ok().expect(OPEN);
    let Connected::Deposit(_, server) = server.recv().expect(OPEN) else {
        panic!("the customer makes a deposit");
    };
    let Connected::Withdrawal(amount, server) = server.recv().expect(OPEN) else {
        panic!("the customer asks for money");
    };
    let _closing = server.money(amount).expect(OPEN);
}

/// The same over one channel in each direction.
fn channels<C: Channel<Word>>() -> Case {
    sessions(
        format!("{} x 2", C::NAME),
        || {
            let (to_bank, from_customer) = C::channel(2);
            let (to_customer, from_bank) = C::channel(2);
            ((to_bank, from_bank), (to_customer, from_customer))
        },
        |(mut to_bank, mut from_bank), n| {
            C::send(&mut to_bank, Word::Login(n, n));
            must_be!(C::recv(&mut from_bank), Ok);
            C::send(&mut to_bank, Word::Deposit(n));
            C::send(&mut to_bank, Word::Withdrawal(n));
            must_be!(C::recv(&mut from_bank), Money(money));
            money
        },
        |(mut to_customer, mut from_customer)| {
            must_be!(C::recv(&mut from_customer), Login(_name, _password));
            C::send(&mut to_customer, Word::Ok);
            must_be!(C::recv(&mut from_customer), Deposit(_deposit));
            must_be!(C::recv(&mut from_customer), Withdrawal(amount));
            C::send(&mut to_customer, Word::Money(amount));
        },
    )
}
