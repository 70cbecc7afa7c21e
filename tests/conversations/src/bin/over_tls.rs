//! The program of `docs/targets/rust.md` that uses TLS. A test compares the two, and runs it: `over_tls FOLDER`.
#![forbid(unsafe_code)]

use conversations::protocols;
use duologue_net::{Connector, Listener, Tls};
use protocols::bank::{Login, LoginResponse, client, server};
use std::error::Error;
use std::path::Path;
use std::thread;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: over_tls FOLDER")?;
    let folder = Path::new(&folder);
    let file = |name| folder.join(name);

    let tls = Tls::from_files(file("ca.pem"), file("server.pem"), file("server.key"))?;
    let mut listener = Listener::bind_tls("tls://127.0.0.1:0", tls)?;
    let address = listener.address().to_string();
    listener.on_failure(|error| eprintln!("a connection was refused: {error}"));
    listener.serve(|login: server::Login| {
        if let Ok(Login::Login { next: answer, .. }) = login.recv() {
            // A client that is gone does not need its answer.
            let _gone = answer.invalid();
        }
    });
    let drain = listener.drain();
    let serving = thread::spawn(move || listener.run());

    let tls = Tls::from_files(file("ca.pem"), file("client.pem"), file("client.key"))?;
    let login: client::Login = Connector::new().tls(tls).connect(&address)?;
    match login.login("holk".to_owned(), "1234".to_owned())?.recv()? {
        LoginResponse::Ok(_) => return Err("the bank is closed".into()),
        LoginResponse::Invalid(login) => drop(login),
    }

    drain.begin();
    Ok(serving.join().expect("the listener does not panic")?)
}
