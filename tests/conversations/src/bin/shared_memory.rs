//! The program of `docs/targets/rust.md` with a session in shared memory.
#![forbid(unsafe_code)]

use conversations::protocols;
use duologue::Closed;
use duologue_shm::{Attach, Region};
use protocols::bank::{Connected, Login, LoginResponse, WithdrawalResponse, client, server};
use std::error::Error;
use std::process::Command;

fn teller(mut login: server::Login) -> Result<(), Closed> {
    let mut account = loop {
        let Login::Login {
            password,
            next: answer,
            ..
        } = login.recv()?;
        if password == "1234" {
            break answer.ok()?;
        }
        login = answer.invalid()?;
    };
    loop {
        account = match account.recv()? {
            Connected::Deposit(_, next) => next,
            Connected::Withdrawal {
                amount,
                next: answer,
            } => answer.money(amount)?,
            Connected::Quit => return Ok(()),
        };
    }
}

fn shop(login: client::Login) -> Result<f64, Closed> {
    let answer = login.login("holk".to_owned(), "1234".to_owned())?.recv()?;
    let LoginResponse::Ok(connected) = answer else {
        return Ok(0.0);
    };
    let (money, connected) = match connected.deposit(100.0)?.withdrawal(50.0)?.recv()? {
        WithdrawalResponse::Money(money, next) => (money, next),
        WithdrawalResponse::InsufficientFunds(next) => (0.0, next),
    };
    connected.quit()?;
    Ok(money)
}

fn main() -> Result<(), Box<dyn Error>> {
    // The bank is the same program, with the name of the region as its argument.
    if let Some(name) = std::env::args().nth(1) {
        let region = Region::open(&name)?;
        let login: server::Login = duologue_shm::attach(&region)?;
        return Ok(teller(login)?);
    }
    let name = format!("/bank-{}", std::process::id());
    let region = Region::open(&name)?;
    let mut bank = Command::new(std::env::current_exe()?).arg(&name).spawn()?;
    // With `peer`, attaching fails if the bank ends before it has attached.
    let begun = Attach::new().peer(bank.id()).attach(&region);
    Region::unlink(&name)?;
    let login: client::Login = begun?;
    println!("{} in another process", shop(login)?);
    assert!(bank.wait()?.success());
    Ok(())
}
