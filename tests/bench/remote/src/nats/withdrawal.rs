//! A withdrawal and its answer.

use crate::ends::{OPEN, clients, new_subject, open, runtime, subscribe};
use crate::harness::{Bar, Case, Clock, Family, Meter};
use crate::machine::Cost;
use crate::protocols::bank::{self, Connected, Login, LoginResponse, WithdrawalResponse};
use futures_util::StreamExt;
use std::thread;
use tokio::runtime::Builder;

pub const OURS: &str = "duologue";
const LIMIT: &str = "publish and subscribe of async-nats";
const REQUEST: &str = "request of async-nats";

/// How long a message of a session is that has a number: its counts, its position and the number.
pub const LENGTH: usize = 16;

/// A message with a number, as long as one of a session.
fn message(number: f64) -> Vec<u8> {
    let mut message = vec![0; LENGTH];
    message[LENGTH - 8..].copy_from_slice(&number.to_le_bytes());
    message
}

/// The number in a message. There is none in the last one.
fn number(message: &[u8]) -> Option<f64> {
    let number = message.get(LENGTH - 8..)?;
    number.try_into().ok().map(f64::from_le_bytes)
}

/// Customer and bank are threads, and wait for each other.
pub fn threads() -> Family {
    Family {
        name: "withdrawal over NATS, threads",
        unit: "withdrawal",
        cases: vec![
            Case {
                name: LIMIT,
                run: |count| {
                    let bank = new_subject();
                    on_threads(customer(count, bank.clone()), teller(bank))
                },
            },
            Case {
                name: OURS,
                run: ours_on_threads,
            },
            Case {
                name: REQUEST,
                run: |count| {
                    let bank = new_subject();
                    on_threads(requests(count, bank.clone()), teller(bank))
                },
            },
        ],
        bars: vec![Bar(LIMIT, 1.15), Bar(REQUEST, 1.0)],
        clock: Clock::Cpu,
    }
}

/// Customer and bank are tasks.
pub fn tasks() -> Family {
    Family {
        name: "withdrawal over NATS, tasks",
        unit: "withdrawal",
        cases: vec![
            Case {
                name: LIMIT,
                run: |count| {
                    let bank = new_subject();
                    as_tasks(customer(count, bank.clone()), teller(bank))
                },
            },
            Case {
                name: OURS,
                run: ours_as_tasks,
            },
            Case {
                name: REQUEST,
                run: |count| {
                    let bank = new_subject();
                    as_tasks(requests(count, bank.clone()), teller(bank))
                },
            },
        ],
        bars: vec![Bar(LIMIT, 1.15), Bar(REQUEST, 1.0)],
        clock: Clock::Cpu,
    }
}

/// Runs each side on a thread of its own, which waits. The connections are on the thread of their runtime.
fn on_threads(
    customer: impl Future<Output = Cost> + Send,
    bank: impl Future<Output = ()> + Send,
) -> Cost {
    thread::scope(|scope| {
        scope.spawn(|| runtime().block_on(bank));
        runtime().block_on(customer)
    })
}

/// Runs both sides on the thread that has the connections.
fn as_tasks(
    customer: impl Future<Output = Cost> + Send + 'static,
    bank: impl Future<Output = ()> + Send + 'static,
) -> Cost {
    let bank = runtime().spawn(bank);
    let customer = runtime().spawn(customer);
    let cost = runtime().block_on(customer);
    runtime().block_on(bank).expect("the bank does not panic");
    cost.expect("the customer does not panic")
}

/// Asks and waits for each answer, and ends the bank with a message without a number.
async fn customer(count: u64, bank: String) -> Cost {
    let [client, _] = clients();
    let own = new_subject();
    let mut answers = subscribe(client, &own).await;
    wait_for(&bank).await;
    let mut meter = Meter::new(count);
    while let Some(amount) = meter.next() {
        let request = message(amount).into();
        let reply = own.clone();
        let sent = client.publish_with_reply(bank.clone(), reply, request);
        sent.await.expect(OPEN);
        let answer = answers.next().await.expect(OPEN);
        meter.back(number(&answer.payload).expect("the answer has a number"));
    }
    let cost = meter.cost();
    end(bank).await;
    cost
}

/// The same with the library's requests.
async fn requests(count: u64, bank: String) -> Cost {
    let [client, _] = clients();
    wait_for(&bank).await;
    let mut meter = Meter::new(count);
    while let Some(amount) = meter.next() {
        let asking = client.request(bank.clone(), message(amount).into());
        let answer = asking.await.expect(OPEN);
        meter.back(number(&answer.payload).expect("the answer has a number"));
    }
    let cost = meter.cost();
    end(bank).await;
    cost
}

/// Asks until the bank answers: it has not subscribed before.
async fn wait_for(bank: &str) {
    let [client, _] = clients();
    let ask = || client.request(bank.to_owned(), message(0.0).into());
    while ask().await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

async fn end(bank: String) {
    let [client, _] = clients();
    client.publish(bank, Vec::new().into()).await.expect(OPEN);
}

async fn teller(bank: String) {
    let [_, client] = clients();
    let mut requests = subscribe(client, &bank).await;
    while let Some(request) = requests.next().await {
        let Some(amount) = number(&request.payload) else {
            break;
        };
        let reply = request.reply.expect("the customer waits for an answer");
        client
            .publish(reply, message(amount).into())
            .await
            .expect(OPEN);
    }
    requests.unsubscribe().await.expect(OPEN);
    client.flush().await.expect(OPEN);
}

fn ours_on_threads(count: u64) -> Cost {
    let (client, server) = open();
    thread::scope(|scope| {
        scope.spawn(|| serve(server));
        let login: bank::client::Login = client;
        let waiting = login.login("holk".into(), "1234".into()).expect(OPEN);
        let mut client = logged_in(waiting.recv().expect(OPEN));
        let mut meter = Meter::new(count);
        while let Some(amount) = meter.next() {
            let waiting = client.withdrawal(amount).expect(OPEN);
            client = paid(waiting.recv().expect(OPEN), &mut meter);
        }
        meter.cost()
    })
}

fn ours_as_tasks(count: u64) -> Cost {
    let (client, server) = open();
    let runtime = Builder::new_current_thread().enable_io().build();
    let runtime = runtime.expect("the system has what tokio needs");
    runtime.block_on(async {
        let bank = tokio::spawn(serve_as_task(server));
        let login: bank::client::Login = client;
        let waiting = login.login("holk".into(), "1234".into()).expect(OPEN);
        let mut client = logged_in(waiting.recv_async().await.expect(OPEN));
        let mut meter = Meter::new(count);
        while let Some(amount) = meter.next() {
            let waiting = client.withdrawal(amount).expect(OPEN);
            client = paid(waiting.recv_async().await.expect(OPEN), &mut meter);
        }
        let cost = meter.cost();
        drop(client);
        bank.await.expect("the bank does not panic");
        cost
    })
}

fn logged_in(answer: LoginResponse) -> bank::client::Connected {
    match answer {
        LoginResponse::Ok(client) => client,
        LoginResponse::Invalid(_) => panic!("the password is right"),
    }
}

fn paid(answer: WithdrawalResponse, meter: &mut Meter) -> bank::client::Connected {
    match answer {
        WithdrawalResponse::Money(money, client) => {
            meter.back(money);
            client
        }
        WithdrawalResponse::InsufficientFunds(_) => panic!("the bank has money"),
    }
}

/// Serves a customer until it disconnects.
fn serve(server: bank::server::Login) {
    let mut customer = let_in(server.recv().expect(OPEN));
    while let Ok(message) = customer.recv() {
        customer = pay(message);
    }
}

async fn serve_as_task(server: bank::server::Login) {
    let mut customer = let_in(server.recv_async().await.expect(OPEN));
    while let Ok(message) = customer.recv_async().await {
        customer = pay(message);
    }
}

fn let_in(Login::Login { next: answer, .. }: Login) -> bank::server::Connected {
    answer.ok().expect(OPEN)
}

fn pay(message: Connected) -> bank::server::Connected {
    match message {
        Connected::Withdrawal {
            amount,
            next: answer,
        } => answer.money(amount).expect(OPEN),
        Connected::Deposit(..) | Connected::Quit => panic!("this is a withdrawal"),
    }
}
