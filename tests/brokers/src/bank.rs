//! A bank and its customers. Neither knows over what it talks.

use crate::protocols::bank::{Connected, Login, LoginResponse, WithdrawalResponse};
use crate::protocols::bank::{client, server};
use duologue::Closed;

/// Serves one customer.
pub fn teller(mut login: server::Login) -> Result<(), Closed> {
    let mut connected = loop {
        let Login::Login { password, next, .. } = login.recv()?;
        if password == "1234" {
            break next.ok()?;
        }
        login = next.invalid()?;
    };
    let mut balance = 0.0;
    loop {
        connected = match connected.recv()? {
            Connected::Deposit(money, next) => {
                balance += money;
                next
            }
            Connected::Withdrawal { amount, next } if amount <= balance => {
                balance -= amount;
                next.money(amount)?
            }
            Connected::Withdrawal { next, .. } => next.insufficient_funds()?,
            Connected::Quit => return Ok(()),
        }
    }
}

/// Logs in, at the second attempt.
pub fn log_in(login: client::Login) -> Result<client::Connected, Closed> {
    let answer = login.login("holk".to_owned(), "wrong".to_owned())?.recv()?;
    let LoginResponse::Invalid(login) = answer else {
        panic!("the password is wrong")
    };
    match login.login("holk".to_owned(), "1234".to_owned())?.recv()? {
        LoginResponse::Ok(connected) => Ok(connected),
        LoginResponse::Invalid(_) => panic!("the password is right"),
    }
}

/// Deposits and withdraws this amount.
pub fn turn(connected: client::Connected, amount: f64) -> Result<client::Connected, Closed> {
    match connected.deposit(amount)?.withdrawal(amount)?.recv()? {
        WithdrawalResponse::Money(money, connected) => {
            assert_eq!(money, amount, "what was deposited once is there once");
            Ok(connected)
        }
        WithdrawalResponse::InsufficientFunds(_) => panic!("a deposit is missing"),
    }
}

/// A customer's whole session, with this many turns.
pub fn customer(login: client::Login, turns: u32) -> Result<(), Closed> {
    let mut connected = log_in(login)?;
    for number in 1..=turns {
        connected = turn(connected, f64::from(number))?;
    }
    // All money has been withdrawn.
    match connected.withdrawal(1.0)?.recv()? {
        WithdrawalResponse::InsufficientFunds(connected) => Ok(connected.quit()?),
        WithdrawalResponse::Money(..) => panic!("a deposit has arrived twice"),
    }
}
