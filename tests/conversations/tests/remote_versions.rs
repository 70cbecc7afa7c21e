//! Sessions over sockets between versions of a protocol.

use conversations::LONG;
use conversations::protocols::bank::client;
use conversations::protocols::pingpong;
use conversations::sockets::{accepted, listener};
use duologue::Closed;
use duologue_net::{Connector, Error, Fingerprint, Verdict};
use std::thread;

#[test]
fn accepting_admits_older_versions() {
    let (mut listener, address) = listener("older");
    let bank: Fingerprint = "6b4021487a63e0618d274211e3ebd7c9"
        .parse()
        .expect("it is one");
    thread::scope(|scope| {
        let first = address.clone();
        let client = scope.spawn(move || duologue_net::connect::<client::Login>(&first));
        // Stands for a younger version of the bank: it has another fingerprint.
        let server: pingpong::server::Ping = listener
            .accept_accepting(&[bank], Some(LONG))
            .expect("the older version is accepted");
        let client = client.join().expect("it does not panic");
        drop((server, client.expect("it is accepted")));

        let drain = listener.drain();
        let refused = scope.spawn(move || {
            let refused = duologue_net::connect::<client::Login>(&address);
            drain.begin();
            refused
        });
        let older = [Fingerprint([7; 16])];
        let none = listener.accept_accepting::<pingpong::server::Ping>(&older, Some(LONG));
        assert!(matches!(none, Err(Error::Drained)));
        let refused = refused.join().expect("it does not panic");
        assert!(matches!(refused, Err(Error::Refused { .. })));
    });
}

/// A server of a later version and a client of the first one, without a word of the program: the protocol file says that servers
/// accept it.
#[test]
fn a_protocol_file_says_which_older_clients_a_server_accepts() {
    use conversations::wire::versions::{first, more_numbers, numbers, second};
    let (mut listener, address) = listener("written");
    thread::scope(|scope| {
        let at = address.clone();
        let client = scope.spawn(move || -> Result<String, Closed> {
            let asking: first::client::Asking = duologue_net::connect(&at).expect("it is accepted");
            let first::Answering::Answer { text, next } = asking.ask("when?".into())?.recv()?;
            next.leave()?;
            Ok(text)
        });
        let asking: second::server::Asking = listener.accept().expect("it begins");
        let asking = match asking.recv().expect("a question") {
            second::Asking::Ask { text, next } => next.answer(text + " now").expect("open"),
            second::Asking::Leave | second::Asking::Count { .. } => panic!("it asks"),
        };
        assert!(matches!(asking.recv(), Ok(second::Asking::Leave)));
        let answer = client.join().expect("it does not panic");
        assert_eq!(answer.expect("it is answered"), "when? now");
    });
    // An instance has its own list.
    let ends: (more_numbers::server::Stream, numbers::client::Stream) =
        accepted(&mut listener, &address);
    drop(ends);
}

/// Where clients accept the older version, a connector sends its fingerprint, and servers of this version do not accept old clients.
#[test]
fn a_protocol_file_says_which_older_servers_a_client_accepts() {
    use conversations::wire::versions::{first, talkative};
    let (mut listener, address) = self::listener("sent");
    let ends: (first::server::Asking, talkative::client::Asking) =
        accepted(&mut listener, &address);
    drop(ends);
    thread::scope(|scope| {
        // What the program names comes first, and a hello has space for 16.
        for (count, begins) in [(15, true), (16, false)] {
            let others = (0..count).map(|at| Fingerprint([at; 16]));
            let connector = others.fold(Connector::new(), Connector::accepts);
            let at = address.clone();
            let drain = listener.drain();
            let client = scope.spawn(move || {
                let begun = connector.connect::<talkative::client::Asking>(&at);
                if begun.is_err() {
                    drain.begin();
                }
                begun.map(drop)
            });
            let server = listener.accept::<first::server::Asking>();
            assert_eq!(server.is_ok(), begins);
            let client = client.join().expect("it does not panic");
            assert_eq!(client.is_ok(), begins);
        }
    });
    let (mut listener, address) = self::listener("not-written");
    let drain = listener.drain();
    thread::scope(|scope| {
        let client = scope.spawn(move || {
            let refused = duologue_net::connect::<first::client::Asking>(&address);
            drain.begin();
            refused.map(drop)
        });
        let server = listener.accept::<talkative::server::Asking>();
        assert!(matches!(server, Err(Error::Drained)));
        let client = client.join().expect("it does not panic");
        let verdict = Verdict::UnknownProtocol;
        assert!(matches!(client, Err(Error::Refused { verdict: of, .. }) if of == verdict));
    });
}
