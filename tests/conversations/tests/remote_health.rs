//! Clients that ask a server about its health.

use conversations::protocols::bank::{client, server};
use conversations::sockets::{listener, serving};
use conversations::{LONG, why};
use duologue::Why;
use duologue_net::health::{self, Health, Status};
use duologue_net::{Connector, Error, Verdict};
use std::sync::{Mutex, mpsc};
use std::thread;

#[test]
fn clients_learn_which_services_can_be_used() {
    let (mut listener, address) = listener("health");
    let connector = Connector::new();
    let asked = |service: &str| health::check(&connector, &address, service);
    let check = |service: &str| asked(service).expect("it answers");
    let health = Health::new();
    listener.serve(|login: server::Login| drop(login));
    listener.health(&health);
    serving(listener, || {
        let both = (check(""), check("bank"));
        assert_eq!(both, (Status::Serving, Status::Unknown));
        health.set("bank", Status::Serving);
        health.set("", Status::NotServing);
        let both = (check(""), check("bank"));
        assert_eq!(both, (Status::NotServing, Status::Serving));
        health.set("bank", Status::Unknown);
        assert_eq!(check("bank"), Status::Unknown);
        assert_eq!(check(&"x".repeat(256)), Status::Unknown);
        let Err(Error::Ended(closed)) = asked(&"x".repeat(257)) else {
            panic!("the name is too long");
        };
        assert_eq!(closed.why(), Why::TooLarge);
        // The program's protocol is served, too.
        drop(duologue_net::connect::<client::Login>(&address).expect("it is served"));
    });
}

#[test]
fn clients_are_notified_of_changes_until_the_server_drains() {
    let (mut listener, address) = listener("watched");
    let connector = Connector::new();
    let health = Health::new();
    let drain = listener.drain();
    let (started, session) = mpsc::channel();
    listener.health(&health);
    listener.serve(move |login: server::Login| started.send(login).expect("the test waits"));
    let idle = serving(listener, || {
        let mut watch = health::watch(&connector, &address, "bank").expect("it is served");
        let mut next = || watch.next().expect("it goes on").expect("it is open");
        assert_eq!(next(), Status::Unknown);
        let (changes, seen) = mpsc::channel();
        let watching = thread::spawn(move || {
            for status in watch {
                let status = status.expect("it ends with the drain");
                changes.send(status).expect("the test waits");
            }
        });
        let next = || seen.recv_timeout(LONG).expect("it is notified");
        for status in [Status::Serving, Status::NotServing, Status::Serving] {
            health.set("bank", status.clone());
            assert_eq!(next(), status);
            // Another service.
            health.set("shop", status);
        }
        // A watch that nobody asks for the next status does not hold the server up.
        let idle = health::watch(&connector, &address, "bank").expect("it is served");
        // A draining server refuses further sessions, and ends when the open ones do.
        let client: client::Login = duologue_net::connect(&address).expect("it is served");
        drain.begin();
        assert_eq!(next(), Status::NotServing);
        watching.join().expect("the watch ends");
        drop((client, session.recv_timeout(LONG)));
        idle
    });
    let ends: Vec<_> = idle.map(why).collect();
    assert_eq!(ends, [Why::Left]);
}

#[test]
fn a_server_that_drains_does_not_serve() {
    let (mut listener, address) = listener("draining");
    let health = Health::new();
    let drain = listener.drain();
    listener.health(&health);
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    listener.serve(move |login: server::Login| {
        // Until the test drops the other end.
        let _opened = gate.lock().expect("no thread panics").recv();
        drop(login);
    });
    serving(listener, || {
        let held: client::Login = duologue_net::connect(&address).expect("it is served");
        drain.begin();
        let connector = Connector::new();
        let status = health::check(&connector, &address, "").expect("that is an answer");
        assert_eq!(status, Status::NotServing);
        let mut watch = health::watch(&connector, &address, "").expect("that is an answer");
        assert!(matches!(watch.next(), Some(Ok(Status::NotServing))));
        assert!(watch.next().is_none());
        drop((open, held));
    });
    // Without a server there is no answer.
    let gone = health::check(&Connector::new(), &address, "");
    assert!(matches!(gone, Err(Error::Io { .. })), "{gone:?}");
}

#[test]
fn the_listener_decides_who_may_ask() {
    let (mut listener, address) = listener("health-token");
    listener.admit(|peer| peer.token == Some(b"1"));
    listener.health(&Health::new());
    serving(listener, || {
        let refused = health::check(&Connector::new(), &address, "");
        let verdict = Verdict::NotAdmitted;
        assert!(
            matches!(refused, Err(Error::Refused { verdict: given, .. }) if given == verdict),
            "{refused:?}"
        );
        let admitted = health::check(&Connector::new().token(*b"1"), &address, "");
        assert!(matches!(admitted, Ok(Status::Serving)), "{admitted:?}");
    });
}
