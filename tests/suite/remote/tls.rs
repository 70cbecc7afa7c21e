//! Long runs over TLS, between the TLS libraries of all languages.

use super::programs::Player;
use super::{LANGUAGES, Sockets, expected};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

/// Less than half of the longest record, and in no proportion to it: the end of a record comes with the beginning of the next one.
const PIECE: usize = 7_001;

/// Listens at a free port, which is returned, and passes the first connection on to the port `server` in pieces.
fn in_pieces(server: &str) -> (thread::JoinHandle<()>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let own = listener.local_addr().expect("it listens").to_string();
    let server = server.to_owned();
    let pass = |mut from: &TcpStream, mut to: &TcpStream| {
        let mut piece = vec![0; PIECE];
        while let Ok(size @ 1..) = from.read(&mut piece)
            && to.write_all(&piece[..size]).is_ok()
        {}
        // The other side may have ended it.
        let _ = to.shutdown(Shutdown::Write);
    };
    let passing = thread::spawn(move || {
        let (client, _) = listener.accept().expect("the client connects");
        let server = TcpStream::connect(server).expect("the server listens");
        for connection in [&client, &server] {
            connection.set_nodelay(true).expect("it is open");
        }
        thread::scope(|scope| {
            scope.spawn(|| pass(&client, &server));
            pass(&server, &client);
        });
    });
    (passing, own)
}

/// Runs of many records, in each direction and between each two libraries: what comes first piles up, because its reader is held after
/// its second word, and all of it comes in pieces of records.
#[test]
#[ignore = "with OpenSSL"]
fn long_runs_arrive_in_every_language() {
    let certificates = Sockets::new();
    crate::rust::write_certificates(&certificates.0);
    let start = |language| (language, Player::start(language, Some(&certificates.0)));
    let mut clients = LANGUAGES.map(start);
    for (listening, mut server) in LANGUAGES.map(start) {
        for (connecting, client) in &mut clients {
            server.begin("server", "long_words", "tls://127.0.0.1:0", "hold=2");
            let address = server.address();
            let address = address.strip_prefix("tls://").expect("it has TLS");
            let (passing, address) = in_pieces(address);
            client.begin(
                "client",
                "long_words",
                &format!("tls://{address}"),
                "hold=2",
            );
            // Some print what they have received when they are held, others at the end.
            let held = [&mut server, &mut *client].map(|player| {
                let lines = player.held();
                player.release();
                lines
            });
            let roles = [("server", &mut server), ("client", &mut *client)];
            for ((role, player), mut lines) in roles.into_iter().zip(held) {
                let outcome = player.outcome();
                let run =
                    format!("{connecting:?} client, {listening:?} server: the {role} {outcome:?}");
                assert_eq!(outcome.code, Some(0), "{run}");
                lines.extend(outcome.lines);
                assert_eq!(lines, expected("long_words", role), "{run}");
            }
            passing.join().expect("both sides close the connection");
        }
    }
}
