//! A withdrawal and its answer, with customer and bank on two threads that block.

use super::{OURS, WITHIN, frame, number};
use crate::harness::{Case, Family, turns, two};
use crate::machine::Cost;
use crate::protocols::bank::{self, Connected, Login, LoginResponse, WithdrawalResponse};
use crate::sessions::{OPEN, open};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// The limit is the system calls for the same bytes.
pub fn family() -> Family {
    Family {
        name: "withdrawal, blocking",
        unit: "withdrawal",
        cases: vec![
            Case {
                name: "write and read",
                run: raw,
            },
            Case {
                name: OURS,
                run: |count| ours(count, open()),
            },
            Case {
                name: WITHIN,
                run: |count| {
                    let (server, client) = bank::init();
                    ours(count, (client, server))
                },
            },
        ],
        bar: 1.2,
    }
}

fn raw(count: u64) -> Cost {
    let (left, mut right) = UnixStream::pair().expect("the system has sockets");
    let turn = |mut left: UnixStream, amount: f64| {
        left.write_all(&frame(2, amount)).expect(OPEN);
        let mut answer = [0; 9];
        left.read_exact(&mut answer).expect(OPEN);
        let money = number(1, &answer).expect("the answer is money");
        (left, money)
    };
    let serve = move || {
        let mut message = [0; 9];
        while right.read_exact(&mut message).is_ok() {
            let amount = number(2, &message).expect("this is a withdrawal");
            right.write_all(&frame(1, amount)).expect(OPEN);
        }
    };
    two(move || turns(left, count, turn), serve)
}

pub(super) fn ours(
    count: u64,
    (client, server): (bank::client::Login, bank::server::Login),
) -> Cost {
    let customer = move || {
        let waiting = client.login("holk".into(), "1234".into()).expect(OPEN);
        let LoginResponse::Ok(connected) = waiting.recv().expect(OPEN) else {
            panic!("the password is right");
        };
        turns(connected, count, |client, amount| {
            let waiting = client.withdrawal(amount).expect(OPEN);
            match waiting.recv().expect(OPEN) {
                WithdrawalResponse::Money(money, client) => (client, money),
                WithdrawalResponse::InsufficientFunds(_) => panic!("the bank has money"),
            }
        })
    };
    two(customer, move || serve(server))
}

/// Serves a customer until it disconnects.
fn serve(server: bank::server::Login) {
    let Login::Login(_name, _password, answer) = server.recv().expect(OPEN);
    let mut customer = answer.ok().expect(OPEN);
    while let Ok(message) = customer.recv() {
        customer = match message {
            Connected::Withdrawal(amount, answer) => answer.money(amount).expect(OPEN),
            Connected::Deposit(..) | Connected::Quit => panic!("this is a withdrawal"),
        };
    }
}
