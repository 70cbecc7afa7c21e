//! Messages of numbers over a socket allocate nothing, on either side and in no thread, once the session has warmed up; those with text or a
//! list allocate what the values themselves need.

use crate::counted::ALLOCATIONS;
use conversations::block_on;
use conversations::protocols::bank::{Connected, WithdrawalResponse};
use conversations::protocols::bank::{client, server};
use conversations::protocols::type_switch::{self, Start, Wait};
use conversations::sockets::{logged_in, over_sockets, pair};
use duologue::Closed;
use duologue_net::Connector;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier};
use std::thread;

/// Some runs and turns of a customer.
async fn shop(mut client: client::Connected, by_task: bool) -> Result<client::Connected, Closed> {
    for number in 0..1_000 {
        for _ in 0..number % 5 {
            client = client.deposit(1.5)?;
        }
        let waiting = client.withdrawal(f64::from(number))?;
        let response = match by_task {
            true => waiting.recv_async().await?,
            false => waiting.recv()?,
        };
        client = match response {
            WithdrawalResponse::Money(_, next) => next,
            WithdrawalResponse::InsufficientFunds(next) => next,
        };
    }
    Ok(client)
}

/// What the bank answers to that.
async fn serve(mut server: server::Connected, by_task: bool) -> Result<server::Connected, Closed> {
    let mut answered = 0;
    while answered < 1_000 {
        let message = match by_task {
            true => server.recv_async().await?,
            false => server.recv()?,
        };
        server = match message {
            Connected::Deposit(_, next) => next,
            Connected::Withdrawal {
                amount,
                next: answer,
            } => {
                answered += 1;
                answer.money(amount)?
            }
            Connected::Quit => panic!("it goes on"),
        };
    }
    Ok(server)
}

/// How many allocations the second round makes, in all threads.
fn second_round(by_task: bool) -> usize {
    let (mut server, mut client) = logged_in(over_sockets(&Connector::new()));
    let together = Arc::new(Barrier::new(2));
    let other = Arc::clone(&together);
    // One task for both rounds, as its waker is allocated.
    let serving = thread::spawn(move || {
        block_on(async {
            for _ in 0..2 {
                server = serve(server, by_task).await.expect("it is open");
                other.wait();
            }
            other.wait();
            drop(server);
        });
    });
    let made = block_on(async {
        client = shop(client, by_task).await.expect("it is open");
        together.wait();
        let before = ALLOCATIONS.load(SeqCst);
        client = shop(client, by_task).await.expect("it is open");
        together.wait();
        let made = ALLOCATIONS.load(SeqCst) - before;
        together.wait();
        drop(client);
        made
    });
    serving.join().expect("it does not panic");
    made
}

/// Asks for a number, a text, an option and a list, each 1,000 times.
fn ask(mut client: type_switch::client::Start) -> Result<type_switch::client::Start, Closed> {
    for _ in 0..1_000 {
        let Wait::Thing(_, next) = client.get_int()?.recv()?;
        let Wait::Thing(text, next) = next.get_text()?.recv()?;
        assert_eq!(text, TEXT);
        let Wait::Thing(_, next) = next.get_maybe()?.recv()?;
        let Wait::Thing(pairs, next) = next.get_list()?.recv()?;
        assert_eq!(pairs, PAIRS);
        client = next;
    }
    Ok(client)
}

const TEXT: &str = "a text that is longer than a pointer";
const PAIRS: [(u8, bool); 5] = [(1, true), (2, false), (3, true), (4, true), (5, false)];

fn answer(mut server: type_switch::server::Start) -> Result<(), Closed> {
    loop {
        server = match server.recv()? {
            Start::GetInt(wait) => wait.thing(-1)?,
            Start::GetText(wait) => wait.thing(TEXT.to_owned())?,
            Start::GetMaybe(wait) => wait.thing(Some(7))?,
            Start::GetList(wait) => wait.thing(PAIRS.to_vec())?,
            Start::Stop => return Ok(()),
        }
    }
}

/// How many allocations a text and a list take each time, on both sides together.
fn allocations_of_a_text_and_a_list() -> usize {
    let (server, client) =
        pair::<type_switch::server::Start, type_switch::client::Start>("allocations");
    let serving = thread::spawn(move || answer(server));
    let client = ask(client).expect("it is open");
    let before = ALLOCATIONS.load(SeqCst);
    let client = ask(client).expect("it is open");
    let made = ALLOCATIONS.load(SeqCst) - before;
    client.stop().expect("it is open");
    let served = serving.join().expect("it does not panic");
    served.expect("it ends with the last message");
    made
}

/// In one test, because all threads of the process are counted.
#[test]
fn messages_allocate_what_their_values_need() {
    crate::alone!(alone_messages_allocate_what_their_values_need);
}

fn alone_messages_allocate_what_their_values_need() {
    assert_eq!(second_round(false), 0, "by threads");
    assert_eq!(second_round(true), 0, "by tasks");
    // The sender makes each of the two values, and so does the receiver.
    assert_eq!(allocations_of_a_text_and_a_list(), 1_000 * 4);
}
