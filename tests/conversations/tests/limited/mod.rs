//! Limits of protocols, over whatever the function `pair` of the module above connects with. Its function
//! `told` is the reason that a side reports when its peer has ended the session for this one. Limits are not part of the fingerprint,
//! so a peer whose version has none can send what the other version does not allow.

use super::{pair, told};
use conversations::limits::narrow::{self, journal as bounded};
use conversations::limits::wide::{self, journal as free};
use conversations::why;
use duologue::{Closed, Why};

/// A session whose server has limits. Its client sends something that they do not allow.
fn is_refused(name: &str, send: impl FnOnce(free::client::Open) -> free::client::Open) {
    let (server, client): (bounded::server::Open, free::client::Open) = pair(name);
    let client = send(client);
    assert_eq!(why(server.recv()), Why::Broken, "{name}");
    let asked = client.look_up((1, "k".into()), None);
    let closed = asked.map_err(Closed::from).and_then(|asked| asked.recv());
    assert_eq!(why(closed), told(Why::Broken), "{name}");
}

/// A session whose client has limits, and sends something that they do not allow.
fn is_not_sent(name: &str, send: impl FnOnce(bounded::client::Open) -> bounded::client::Open) {
    let (server, client): (free::server::Open, bounded::client::Open) = pair(name);
    let client = send(client);
    assert_eq!(why(server.recv()), told(Why::TooLarge), "{name}");
    let asked = client.look_up((1, "k".into()), None);
    let closed = asked.map_err(Closed::from).and_then(|asked| asked.recv());
    assert_eq!(why(closed), Why::TooLarge, "{name}");
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

const OPEN: &str = "the session is open";

#[test]
fn values_at_their_limits_travel() {
    let (server, client): (bounded::server::Open, free::client::Open) = pair("limits-at");
    let entry = wide::Entry {
        title: "12345678".into(),
        tags: texts(&["1234", "1234"]),
    };
    let client = client.append(entry).expect(OPEN);
    // The count takes one of the four bytes.
    let client = client.attach(vec![1, 2, 3]).expect(OPEN);
    let client = client
        .name("12345".into(), vec![vec![1, 2]; 11])
        .expect(OPEN);
    let waiting = client
        .look_up((7, "12345".into()), Some("x".repeat(31)))
        .expect(OPEN);
    let Ok(bounded::Open::Append(entry, server)) = server.recv() else {
        panic!("it is allowed")
    };
    assert_eq!((entry.title.len(), entry.tags.len()), (8, 2));
    let Ok(bounded::Open::Attach(_, server)) = server.recv() else {
        panic!("it is allowed")
    };
    let Ok(bounded::Open::Name {
        pages,
        next: server,
        ..
    }) = server.recv()
    else {
        panic!("it is allowed")
    };
    assert_eq!(pages.len(), 11);
    let Ok(bounded::Open::LookUp(_, text, server)) = server.recv() else {
        panic!("it is allowed")
    };
    assert_eq!(text.map(|text| text.len()), Some(31));
    let server = server
        .answered(narrow::Answer::Note {
            text: Some(vec![1, 2, 3]),
        })
        .expect(OPEN);
    let Ok(free::Answered::Answered(_, client)) = waiting.recv() else {
        panic!("it is allowed")
    };
    client.close().expect(OPEN);
    assert!(matches!(server.recv(), Ok(bounded::Open::Close)));
}

#[test]
fn a_reader_refuses_what_is_beyond_a_limit() {
    is_refused("limits-field", |client| {
        let (title, tags) = ("123456789".into(), Vec::new());
        client.append(wide::Entry { title, tags }).expect(OPEN)
    });
    is_refused("limits-items", |client| {
        let (title, tags) = (String::new(), texts(&["", "", ""]));
        client.append(wide::Entry { title, tags }).expect(OPEN)
    });
    is_refused("limits-item", |client| {
        let (title, tags) = (String::new(), texts(&["12345"]));
        client.append(wide::Entry { title, tags }).expect(OPEN)
    });
    is_refused("limits-message", |client| {
        client.attach(vec![1, 2, 3, 4]).expect(OPEN)
    });
    is_refused("limits-entry", |client| {
        client.name("123456".into(), Vec::new()).expect(OPEN)
    });
    is_refused("limits-inner", |client| {
        client.name(String::new(), vec![vec![1, 2, 3]]).expect(OPEN)
    });
    is_refused("limits-protocol", |client| {
        client.name("12345".into(), vec![vec![1]; 17]).expect(OPEN)
    });
}

#[test]
fn a_writer_does_not_send_what_is_beyond_a_limit() {
    is_not_sent("limits-out-field", |client| {
        let (title, tags) = ("123456789".into(), Vec::new());
        client.append(narrow::Entry { title, tags }).expect(OPEN)
    });
    is_not_sent("limits-out-message", |client| {
        client.attach(vec![1, 2, 3, 4]).expect(OPEN)
    });
    is_not_sent("limits-out-entry", |client| {
        client.name("123456".into(), Vec::new()).expect(OPEN)
    });
}

#[test]
fn an_answer_has_limits_too() {
    let (server, client): (free::server::Open, bounded::client::Open) = pair("limits-answer");
    let waiting = client.look_up((1, "k".into()), None).expect(OPEN);
    let Ok(free::Open::LookUp(_, _, server)) = server.recv() else {
        panic!("it is allowed")
    };
    let server = server
        .answered(wide::Answer::Note {
            text: Some(vec![1, 2, 3, 4]),
        })
        .expect(OPEN);
    assert_eq!(why(waiting.recv()), Why::Broken);
    assert_eq!(why(server.recv()), told(Why::Broken));
}
