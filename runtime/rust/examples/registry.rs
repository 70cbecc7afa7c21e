//! What a registry costs: nanoseconds for each message of a dialogue on one thread, in sessions that are not observed, that have an observer
//! which does nothing, and that are in a registry. Build it with and without the feature `registry`:
//!
//! ```text
//! cargo run --release -p duologue-runtime --features registry --example registry
//! ```

extern crate duologue_runtime as duologue;

#[allow(dead_code, missing_docs)]
#[path = "../tests/sessions/golden/bank.rs"]
mod bank;

use std::sync::Arc;
use std::time::Instant;

use duologue::observe::{Observer, Registry};
use duologue::{observed, Closed};

/// Dialogues in a session, each of a withdrawal and its answer.
const DIALOGUES: u32 = 1_000;

type Pair = (bank::server::Login, bank::client::Login);

fn talk((server, client): Pair) -> Result<(), Closed> {
    let waiting = client.login(String::new(), String::new())?;
    let bank::Login::Login { next, .. } = server.recv()?;
    let mut server = next.ok()?;
    let bank::LoginResponse::Ok(mut client) = waiting.recv()? else {
        unreachable!("the password is right")
    };
    for _ in 0..DIALOGUES {
        let waiting = client.withdrawal(1.0)?;
        let bank::Connected::Withdrawal { amount, next } = server.recv()? else {
            unreachable!("it is a withdrawal")
        };
        server = next.money(amount)?;
        let bank::WithdrawalResponse::Money(_, next) = waiting.recv()? else {
            unreachable!("there is enough money")
        };
        client = next;
    }
    client.quit()?;
    drop(server);
    Ok(())
}

/// Nanoseconds for each message, the least of several runs.
fn measure(begin: impl Fn() -> Pair) -> Result<f64, Closed> {
    let mut least = f64::MAX;
    for _ in 0..200 {
        let pair = begin();
        let began = Instant::now();
        talk(pair)?;
        least = least.min(began.elapsed().as_secs_f64());
    }
    Ok(least * 1e9 / f64::from(2 * DIALOGUES + 3))
}

struct Nothing;

impl Observer for Nothing {}

fn main() -> Result<(), Closed> {
    let registry = Registry::new();
    println!("feature registry: {}", cfg!(feature = "registry"));
    println!("not observed: {:.1} ns", measure(bank::init)?);
    let nothing = measure(|| observed(bank::init(), Arc::new(Nothing)))?;
    println!("observer that does nothing: {nothing:.1} ns");
    let registered = measure(|| observed(bank::init(), Arc::new(registry.clone())))?;
    println!("registry: {registered:.1} ns");
    Ok(())
}
