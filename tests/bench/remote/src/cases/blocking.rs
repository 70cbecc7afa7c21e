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
    let (left, right) = UnixStream::pair().expect("the system has sockets");
    let customer = move || turns(left, count, withdraw);
    two(customer, move || answer(right))
}

/// A withdrawal and its answer over any stream.
pub(super) fn withdraw<S: Read + Write>(mut bank: S, amount: f64) -> (S, f64) {
    bank.write_all(&frame(2, amount)).expect(OPEN);
    let mut answer = [0; 9];
    bank.read_exact(&mut answer).expect(OPEN);
    let money = number(1, &answer).expect("the answer is money");
    (bank, money)
}

/// Answers until the other side closes the stream.
pub(super) fn answer(mut customer: impl Read + Write) {
    let mut message = [0; 9];
    while customer.read_exact(&mut message).is_ok() {
        let amount = number(2, &message).expect("this is a withdrawal");
        customer.write_all(&frame(1, amount)).expect(OPEN);
    }
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
    let Login::Login {
        username: _name,
        password: _password,
        next: answer,
    } = server.recv().expect(OPEN);
    let mut customer = answer.ok().expect(OPEN);
    while let Ok(message) = customer.recv() {
        customer = match message {
            Connected::Withdrawal {
                amount,
                next: answer,
            } => answer.money(amount).expect(OPEN),
            Connected::Deposit(..) | Connected::Quit => panic!("this is a withdrawal"),
        };
    }
}
