//! The program of `docs/targets/rust.md` that observes sessions. A test compares the two.
#![forbid(unsafe_code)]

use conversations::protocols;
use duologue_net::observe::{End, Observer, Refusal, Session};
use duologue_net::{Connector, Listener};
use protocols::bank::{Login, LoginResponse, client, server};
use std::error::Error;
use std::sync::Arc;
use std::thread;

struct Log;

impl Observer for Log {
    fn began(&self, session: &Session) {
        let older = if session.peer_is_older {
            "an older"
        } else {
            "the same"
        };
        println!(
            "{}: `{}` with {older} version",
            session.id, session.protocol
        );
    }

    fn ended(&self, session: &Session, end: &End) {
        let (sent, received) = (end.sent.messages, end.received.messages);
        println!(
            "{}: {:?}, {sent} sent, {received} received",
            session.id, end.why
        );
    }

    fn refused(&self, refusal: &Refusal<'_>) {
        println!("no session: {}", refusal.cause);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let log: Arc<dyn Observer> = Arc::new(Log);

    let mut listener = Listener::bind("tcp://127.0.0.1:0")?;
    let address = listener.address().to_string();
    listener.observer(Arc::clone(&log));
    listener.serve(|login: server::Login| {
        if let Ok(Login::Login { next: answer, .. }) = login.recv() {
            // A client that is gone does not need its answer.
            let _gone = answer.invalid();
        }
    });
    let drain = listener.drain();
    let serving = thread::spawn(move || listener.run());

    let login: client::Login = Connector::new().observer(log).connect(&address)?;
    match login.login("holk".to_owned(), "1234".to_owned())?.recv()? {
        LoginResponse::Ok(_) => return Err("the bank is closed".into()),
        LoginResponse::Invalid(login) => drop(login),
    }

    drain.begin();
    Ok(serving.join().expect("the listener does not panic")?)
}
