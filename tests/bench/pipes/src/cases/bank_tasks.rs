//! The bank as futures: both sides of each session in one task.

use super::bank_words::{Word, must_be};
use super::{LEFT, OURS, rumpsteak_bank};
use crate::harness::{Case, Family, Job};
use crate::payload::triangle;
use crate::peers::tasks::*;
use crate::protocols::bank::{Connected, Login, LoginResponse, WithdrawalResponse, init};
use futures::join;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};

/// Each session is created, held and dropped before the next.
pub fn families() -> Vec<Family> {
    vec![
        Family::new("bank session, one task", "session", triangle)
            .steady()
            .case(sessions("cells of one thread", over_cells))
            .case(sessions(OURS, session))
            .case(sessions("rumpsteak", rumpsteak_bank::session))
            .case(channels::<Tokio>())
            .case(channels::<Kanal>())
            .case(channels::<Flume>()),
    ]
}

/// One session after another, on an executor with one thread.
fn sessions<F>(name: impl Into<String>, session: fn(u64) -> F) -> Case
where
    F: Future<Output = u64> + 'static,
{
    Case::new(name, move |count| {
        vec![Job::new(LEFT, move || {
            futures::executor::block_on(async {
                let mut sum = 0_u64;
                for n in 0..count {
                    sum = sum.wrapping_add(session(n).await);
                }
                sum
            })
        })]
    })
}

const OPEN: &str = "both ends are here";

async fn session(n: u64) -> u64 {
    let (server, client) = init();
    let customer = async {
        let waiting = client.login(n, n).expect(OPEN);
        let LoginResponse::Ok(client) = waiting.recv_async().await.expect(OPEN) else {
            panic!("the bank sent ok");
        };
        let client = client.deposit(n).expect(OPEN);
        let waiting = client.withdrawal(n).expect(OPEN);
        match waiting.recv_async().await.expect(OPEN) {
            WithdrawalResponse::Money(money, _client) => money,
            WithdrawalResponse::InsufficientFunds(_) => panic!("the bank has money"),
        }
    };
    let bank = async {
        let Login::Login {
            username: _name,
            password: _password,
            next: server,
        } = server.recv_async().await.expect(OPEN);
        let server = server.ok().expect(OPEN);
        let Connected::Deposit(_, server) = server.recv_async().await.expect(OPEN) else {
            panic!("the customer makes a deposit");
        };
        let Connected::Withdrawal(amount, server) = server.recv_async().await.expect(OPEN) else {
            panic!("the customer asks for money");
        };
        let _closing = server.money(amount).expect(OPEN);
    };
    join!(customer, bank).0
}

/// The same over one channel in each direction.
fn channels<C: Channel<Word>>() -> Case {
    sessions(format!("{} x 2", C::NAME), over_channels::<C>)
}

async fn over_channels<C: Channel<Word>>(n: u64) -> u64 {
    let (to_bank, mut from_customer) = C::channel(2);
    let (to_customer, mut from_bank) = C::channel(2);
    let customer = async {
        C::send(&to_bank, Word::Login(n, n)).await;
        must_be!(C::recv(&mut from_bank).await, Ok);
        C::send(&to_bank, Word::Deposit(n)).await;
        C::send(&to_bank, Word::Withdrawal(n)).await;
        must_be!(C::recv(&mut from_bank).await, Money(money));
        money
    };
    let bank = async {
        must_be!(C::recv(&mut from_customer).await, Login(_name, _password));
        C::send(&to_customer, Word::Ok).await;
        must_be!(C::recv(&mut from_customer).await, Deposit(_deposit));
        must_be!(C::recv(&mut from_customer).await, Withdrawal(amount));
        C::send(&to_customer, Word::Money(amount)).await;
    };
    join!(customer, bank).0
}

/// The least that a channel of two words can cost, where no other thread has access: the rest of a session is the executor's part.
#[derive(Default)]
struct Cells {
    words: [Cell<Option<Word>>; 2],
    sleeper: Cell<Option<Waker>>,
}

impl Cells {
    fn send(&self, word: Word) {
        let [first, second] = &self.words;
        let waiting = first.take();
        if waiting.is_some() {
            first.set(waiting);
            second.set(Some(word));
        } else {
            first.set(Some(word));
        }
        if let Some(sleeper) = self.sleeper.take() {
            sleeper.wake();
        }
    }

    fn recv(&self) -> impl Future<Output = Word> {
        poll_fn(|cx| {
            let [first, second] = &self.words;
            match first.take() {
                Some(word) => {
                    first.set(second.take());
                    Poll::Ready(word)
                }
                None => {
                    self.sleeper.set(Some(cx.waker().clone()));
                    Poll::Pending
                }
            }
        })
    }
}

async fn over_cells(n: u64) -> u64 {
    let (to_bank, to_customer) = (Cells::default(), Cells::default());
    let customer = async {
        to_bank.send(Word::Login(n, n));
        must_be!(to_customer.recv().await, Ok);
        to_bank.send(Word::Deposit(n));
        to_bank.send(Word::Withdrawal(n));
        must_be!(to_customer.recv().await, Money(money));
        money
    };
    let bank = async {
        must_be!(to_bank.recv().await, Login(_name, _password));
        to_customer.send(Word::Ok);
        must_be!(to_bank.recv().await, Deposit(_deposit));
        must_be!(to_bank.recv().await, Withdrawal(amount));
        to_customer.send(Word::Money(amount));
    };
    join!(customer, bank).0
}
