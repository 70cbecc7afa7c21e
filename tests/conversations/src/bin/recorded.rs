//! The program of `docs/tracing.md` that records sessions. A test compares the two.
#![forbid(unsafe_code)]

use conversations::protocols;
use duologue::observe::{Message, Observer, Recorder, Session};
use duologue::{Closed, Why};
use protocols::bank::{self, Connected, Login, LoginResponse, WithdrawalResponse};
use std::error::Error;
use std::fs::File;
use std::sync::Arc;
use std::thread;

/// Customers may not do more than this many things in a session.
struct AtMost(u64);

impl Observer for AtMost {
    fn allows(&self, _session: &Session, message: &Message) -> Result<(), String> {
        match message.number < self.0 {
            true => Ok(()),
            false => Err(format!("`{}` is one message too many", message.name)),
        }
    }
}

fn teller(mut server: bank::server::Login) -> Result<(), Closed> {
    let mut customer = loop {
        let Login::Login { password, next, .. } = server.recv()?;
        match password == "1234" {
            true => break next.ok()?,
            false => server = next.invalid()?,
        }
    };
    loop {
        customer = match customer.recv()? {
            Connected::Deposit(_, next) => next,
            Connected::Withdrawal { amount, next } => next.money(amount)?,
            Connected::Quit => return Ok(()),
        };
    }
}

fn shop(client: bank::client::Login, times: u32) -> Result<(), Closed> {
    let answer = client.login("holk".into(), "1234".into())?.recv()?;
    let LoginResponse::Ok(mut customer) = answer else {
        return Ok(());
    };
    for _ in 0..times {
        let answer = customer.deposit(2.0)?.withdrawal(1.0)?.recv()?;
        let WithdrawalResponse::Money(_, next) = answer else {
            return Ok(());
        };
        customer = next;
    }
    Ok(customer.quit()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let recorder = Recorder::new(File::create("sessions.jsonl")?)?;
    for times in [1, 100] {
        let observer = Arc::new((AtMost(20), recorder.clone()));
        let (server, client) = duologue::observed(bank::init(), observer);
        let serving = thread::spawn(move || teller(server));
        let shopped = shop(client, times);
        let served = serving.join().expect("the teller does not panic");
        if times == 1 {
            shopped?;
            served?;
        } else {
            assert_eq!(shopped.unwrap_err().why(), Why::Stopped);
            assert_eq!(served.unwrap_err().why(), Why::Stopped);
        }
    }
    recorder.flush()?;
    assert_eq!(recorder.dropped(), 0);
    Ok(())
}
