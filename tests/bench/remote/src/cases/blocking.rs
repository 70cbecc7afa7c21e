//! A withdrawal and its answer, with customer and bank on two threads that block.

use super::{OURS, WITHIN, frame, number};
use crate::harness::{Bar, Case, Clock, Family, Processors, turns};
use crate::machine::Cost;
use crate::protocols::bank::{self, Connected, Login, LoginResponse, WithdrawalResponse};
use crate::sessions::{OPEN, open};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

const LIMIT: &str = "write and read";

/// The limit is the system calls for the same bytes.
pub fn family() -> Family {
    Family {
        name: "withdrawal, blocking",
        unit: "withdrawal",
        cases: vec![
            Case::new(LIMIT, |count| raw(count, Processors::Two)),
            Case::new(OURS, |count| ours(count, open())),
            Case::new(WITHIN, |count| {
                let (server, client) = bank::init();
                ours(count, (client, server))
            }),
        ],
        bars: vec![Bar(LIMIT, 1.2)],
        clock: Clock::Wall,
    }
}

/// The same with both threads on one processor, where waking the other thread takes a context switch, and what is left is what each
/// library computes.
pub fn on_one_processor() -> Family {
    let family = Family {
        name: "withdrawal, one processor",
        unit: "withdrawal",
        cases: vec![
            Case::new(LIMIT, |count| raw(count, Processors::One)),
            Case::new(OURS, |count| exchanges(count, open(), Processors::One)),
        ],
        bars: vec![Bar(LIMIT, 1.2)],
        clock: Clock::Cpu,
    };
    #[cfg(feature = "peers")]
    let family = with_peers(family);
    family
}

#[cfg(feature = "peers")]
fn with_peers(mut family: Family) -> Family {
    use super::peers::grpc;
    family.add("tonic, bidirectional stream", grpc::stream, 0.45);
    family.add("tonic, unary call", grpc::calls, 0.2);
    family
}

fn raw(count: u64, processors: Processors) -> Cost {
    let (left, right) = UnixStream::pair().expect("the system has sockets");
    let customer = move || turns(left, count, withdraw);
    processors.run(customer, move || answer(right))
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

pub(super) fn ours(count: u64, ends: (bank::client::Login, bank::server::Login)) -> Cost {
    exchanges(count, ends, Processors::Two)
}

fn exchanges(
    count: u64,
    (client, server): (bank::client::Login, bank::server::Login),
    processors: Processors,
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
    processors.run(customer, move || serve(server))
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
