//! Runs of deposits of any length, which a withdrawal ends.

use crate::protocols::bank::{Connected, WithdrawalResponse, client, server};
use duologue::{Closed, Why};
use std::thread;

/// Sends this many numbers from 1 on.
fn deposits(mut client: client::Connected, count: u32) -> Result<client::Connected, Closed> {
    for number in 1..=count {
        client = client.deposit(f64::from(number))?;
    }
    Ok(client)
}

/// Answers withdrawals with the sum of the deposits since the last one, until the session ends. Returns how it does, and the last sum.
fn serve(mut server: server::Connected) -> (Result<(), Why>, f64) {
    let mut sum = 0.0;
    let ended = loop {
        server = match server.recv() {
            Ok(Connected::Deposit(money, next)) => {
                sum += money;
                next
            }
            Ok(Connected::Withdrawal { next: answer, .. }) => {
                answer.money(std::mem::take(&mut sum)).expect("it is open")
            }
            Ok(Connected::Quit) => break Ok(()),
            Err(closed) => break Err(closed.why()),
        };
    };
    (ended, sum)
}

/// The sum of that many numbers.
fn triangle(count: u32) -> f64 {
    f64::from(count) * f64::from(count + 1) / 2.0
}

/// Turns after runs of each of these lengths.
pub fn turn(
    (server, mut client): (server::Connected, client::Connected),
    lengths: impl Iterator<Item = u32>,
) -> Result<(), Closed> {
    let serving = thread::spawn(|| serve(server));
    for count in lengths {
        let waiting = deposits(client, count)?.withdrawal(0.0)?;
        client = match waiting.recv()? {
            WithdrawalResponse::Money(sum, next) if sum == triangle(count) => next,
            WithdrawalResponse::Money(sum, _) => panic!("{count}: {sum}"),
            WithdrawalResponse::InsufficientFunds(_) => panic!("there is money"),
        };
    }
    client.quit()?;
    assert_eq!(serving.join().expect("it does not panic"), (Ok(()), 0.0));
    Ok(())
}
