//! The program of `docs/targets/rust.md` that uses sockets. A test compares the two.
#![forbid(unsafe_code)]

use conversations::protocols;
use duologue::{Closed, Why};
use duologue_net::Listener;
use protocols::bank::{Connected, Login, LoginResponse, client, server};
use std::error::Error;
use std::thread;

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

fn shop(login: client::Login) -> Result<(), Closed> {
    match login.login("holk".to_owned(), "1234".to_owned())?.recv()? {
        LoginResponse::Ok(connected) => Ok(connected.deposit(100.0)?.quit()?),
        LoginResponse::Invalid(_) => Ok(()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut listener = Listener::bind("tcp://127.0.0.1:0")?;
    let address = listener.address().to_string();
    listener.serve(|login: server::Login| {
        if let Err(closed) = teller(login) {
            eprintln!("a customer is gone: {closed}");
        }
    });
    let drain = listener.drain();
    let serving = thread::spawn(move || listener.run());

    let login: client::Login = duologue_net::connect(&address)?;
    match shop(login) {
        Err(closed) if closed.why() == Why::Lost => eprintln!("the bank is gone: {closed}"),
        outcome => outcome?,
    }

    drain.begin();
    Ok(serving.join().expect("the listener does not panic")?)
}
