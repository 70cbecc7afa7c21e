//! A withdrawal and its answer, with customer and bank as two tasks on one thread of tokio.

use super::{OURS, WITHIN, frame, number};
use crate::harness::{Bar, Case, Clock, Family, Meter, one};
use crate::machine::Cost;
use crate::protocols::bank::{self, Connected, Login, LoginResponse, WithdrawalResponse};
use crate::sessions::{OPEN, open};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::Builder;

const LIMIT: &str = "write and read of tokio";

/// The limit is the same bytes over tokio's sockets.
pub fn family() -> Family {
    let family = Family {
        name: "withdrawal, tokio",
        unit: "withdrawal",
        cases: vec![
            Case::new(LIMIT, raw),
            Case::new(OURS, |count| ours(count, open())),
            Case::new(WITHIN, |count| {
                let (server, client) = bank::init();
                ours(count, (client, server))
            }),
        ],
        bars: vec![Bar(LIMIT, 1.25)],
        clock: Clock::Cpu,
    };
    #[cfg(feature = "peers")]
    let family = with_peers(family);
    family
}

#[cfg(feature = "peers")]
fn with_peers(mut family: Family) -> Family {
    use super::peers::{channels, procedures};
    family.add("tarpc", procedures::calls, 0.65);
    family.add("remoc", channels::exchanges, 0.5);
    family
}

/// Runs both tasks on one thread.
fn run(
    customer: impl Future<Output = Cost> + Send + 'static,
    bank: impl Future<Output = ()> + Send + 'static,
) -> Cost {
    run_in(Builder::new_current_thread().enable_io(), customer, bank)
}

/// Runs both tasks in a runtime of one thread.
pub(super) fn run_in(
    runtime: &mut Builder,
    customer: impl Future<Output = Cost> + Send + 'static,
    bank: impl Future<Output = ()> + Send + 'static,
) -> Cost {
    one(move || {
        let runtime = runtime.build().expect("the system has what tokio needs");
        runtime.block_on(async {
            let serving = tokio::spawn(bank);
            let cost = tokio::spawn(customer).await;
            serving.await.expect("the bank does not panic");
            cost.expect("the customer does not panic")
        })
    })
}

/// One end of a socket, for the thread of a runtime.
pub(super) fn socket(end: std::os::unix::net::UnixStream) -> UnixStream {
    end.set_nonblocking(true).expect(OPEN);
    UnixStream::from_std(end).expect("this is a thread of the runtime")
}

fn raw(count: u64) -> Cost {
    let ends = std::os::unix::net::UnixStream::pair();
    let (left, right) = ends.expect("the system has sockets");
    let customer = async move {
        let mut left = socket(left);
        let mut meter = Meter::new(count);
        while let Some(amount) = meter.next() {
            left.write_all(&frame(2, amount)).await.expect(OPEN);
            let mut answer = [0; 9];
            left.read_exact(&mut answer).await.expect(OPEN);
            meter.back(number(1, &answer).expect("the answer is money"));
        }
        meter.cost()
    };
    let bank = async move {
        let mut right = socket(right);
        let mut message = [0; 9];
        while right.read_exact(&mut message).await.is_ok() {
            let amount = number(2, &message).expect("this is a withdrawal");
            right.write_all(&frame(1, amount)).await.expect(OPEN);
        }
    };
    run(customer, bank)
}

fn ours(count: u64, (client, server): (bank::client::Login, bank::server::Login)) -> Cost {
    let customer = async move {
        let waiting = client.login("holk".into(), "1234".into()).expect(OPEN);
        let LoginResponse::Ok(mut client) = waiting.recv_async().await.expect(OPEN) else {
            panic!("the password is right");
        };
        let mut meter = Meter::new(count);
        while let Some(amount) = meter.next() {
            let waiting = client.withdrawal(amount).expect(OPEN);
            client = match waiting.recv_async().await.expect(OPEN) {
                WithdrawalResponse::Money(money, client) => {
                    meter.back(money);
                    client
                }
                WithdrawalResponse::InsufficientFunds(_) => panic!("the bank has money"),
            };
        }
        meter.cost()
    };
    run(customer, serve(server))
}

/// Serves a customer until it disconnects.
async fn serve(server: bank::server::Login) {
    let Login::Login {
        username: _name,
        password: _password,
        next: answer,
    } = server.recv_async().await.expect(OPEN);
    let mut customer = answer.ok().expect(OPEN);
    while let Ok(message) = customer.recv_async().await {
        customer = match message {
            Connected::Withdrawal {
                amount,
                next: answer,
            } => answer.money(amount).expect(OPEN),
            Connected::Deposit(..) | Connected::Quit => panic!("this is a withdrawal"),
        };
    }
}
