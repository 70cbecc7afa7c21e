//! Runs both sides of `protocols/bank.proto`: the bank on one thread, a customer on the other.

mod protocols {
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}

use duologue::Closed;
use protocols::bank;
use std::thread;

fn main() {
    let (server, client) = bank::init();
    let teller = thread::spawn(move || serve(server));
    let balance = shop(client).expect("the bank stays to the end");
    teller
        .join()
        .expect("the bank does not panic")
        .expect("the customer says goodbye");
    println!("got {balance:.2}");
}

fn shop(client: bank::client::Login) -> Result<f64, Closed> {
    let mut client = client.login("holk".to_owned(), "wrong".to_owned())?;
    let connected = loop {
        match client.recv()? {
            bank::LoginResponse::Ok(connected) => break connected,
            bank::LoginResponse::Invalid(login) => {
                client = login.login("holk".to_owned(), "1234".to_owned())?;
            }
        }
    };
    let asked = connected.deposit(100.0)?.withdrawal(30.0)?;
    let (money, connected) = match asked.recv()? {
        bank::WithdrawalResponse::Money(money, connected) => (money, connected),
        bank::WithdrawalResponse::InsufficientFunds(connected) => (0.0, connected),
    };
    connected.quit()?;
    Ok(money)
}

fn serve(server: bank::server::Login) -> Result<(), Closed> {
    let mut login = server;
    let mut server = loop {
        let bank::Login::Login { password, next: answer, .. } = login.recv()?;
        if password == "1234" {
            break answer.ok()?;
        }
        login = answer.invalid()?;
    };
    let mut balance = 0.0;
    loop {
        server = match server.recv()? {
            bank::Connected::Deposit(money, server) => {
                balance += money;
                server
            }
            bank::Connected::Withdrawal { amount, next: answer } if amount <= balance => {
                balance -= amount;
                answer.money(amount)?
            }
            bank::Connected::Withdrawal { next: answer, .. } => answer.insufficient_funds()?,
            bank::Connected::Quit => return Ok(()),
        }
    }
}
