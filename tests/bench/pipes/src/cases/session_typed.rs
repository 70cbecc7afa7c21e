//! The bank and ping-pong in `session_types`, which has no names for messages.

use session_types::{Branch, Chan, Eps, HasDual, Offer, Rec, Recv, Send, Var, Z, session_channel};

/// The customer: logs in, and is accepted or not; makes a deposit, asks for money, and gets it or not.
type Customer = Send<(u64, u64), Offer<Send<u64, Send<u64, Offer<Recv<u64, Eps>, Eps>>>, Eps>>;

type Bank = <Customer as HasDual>::Dual;

/// The first of two branches.
fn yes<Y, N>(branch: Branch<Y, N>) -> Y {
    match branch {
        Branch::Left(way) => way,
        Branch::Right(_) => panic!("no side refuses"),
    }
}

/// The customer's side and the bank's.
pub fn open() -> (Chan<(), Customer>, Chan<(), Bank>) {
    session_channel()
}

/// Both sides on one thread.
pub fn session(n: u64) -> u64 {
    let (customer, bank) = open();
    let customer = customer.send((n, n));
    let (bank, (name, password)) = bank.recv();
    let bank = bank.sel1();
    let customer = yes(customer.offer());
    let customer = customer.send(name & password);
    let (bank, deposit) = bank.recv();
    let customer = customer.send(deposit);
    let (bank, amount) = bank.recv();
    let bank = bank.sel1().send(amount);
    let (customer, money) = yes(customer.offer()).recv();
    bank.close();
    customer.close();
    money
}

/// The customer's side of a whole session.
pub fn customer(customer: Chan<(), Customer>, n: u64) -> u64 {
    let customer = customer.send((n, n));
    let customer = yes(customer.offer());
    let customer = customer.send(n).send(n);
    let (customer, money) = yes(customer.offer()).recv();
    customer.close();
    money
}

/// The bank's side of a whole session.
pub fn bank(bank: Chan<(), Bank>) {
    let (bank, (_name, _password)) = bank.recv();
    let (bank, _deposit) = bank.sel1().recv();
    let (bank, amount) = bank.recv();
    bank.sel1().send(amount).close();
}

/// A number in each direction, forever.
type Caller = Send<u64, Recv<u64, Var<Z>>>;

/// Both sides of ping-pong, for `count` round trips.
pub fn ping_pong(count: u64) -> (impl FnOnce() -> u64, impl FnOnce() -> u64) {
    let (caller, answerer) = session_channel::<Rec<Caller>>();
    let left = move || {
        let (mut caller, mut sum) = (caller.enter(), 0_u64);
        for n in 0..count {
            let (next, value) = caller.send(n).recv();
            sum = sum.wrapping_add(value);
            caller = next.zero();
        }
        // The protocol has no end, and a session that is dropped before its end makes this crate panic.
        std::mem::forget(caller);
        sum
    };
    let right = move || {
        let mut answerer = answerer.enter();
        for _ in 0..count {
            let (next, value) = answerer.recv();
            answerer = next.send(value).zero();
        }
        std::mem::forget(answerer);
        0
    };
    (left, right)
}
