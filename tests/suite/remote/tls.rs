//! Certificates that are wrong: each side reports why there is no session, in whatever languages the two are written.

use super::programs::{Language, Player};
use super::proxy::{Fault, Proxy};
use super::{LANGUAGES, Sockets, expected};
use std::path::Path;

/// What is wrong with the certificate of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// Another authority has issued it.
    Stranger,
    /// Its time is over.
    Expired,
    /// It is for another host.
    Elsewhere,
}

impl Wrong {
    /// The party that has such a certificate.
    fn party(self, side: &str) -> String {
        match self {
            Wrong::Stranger => format!("stranger-{side}"),
            Wrong::Expired => format!("expired-{side}"),
            Wrong::Elsewhere => format!("elsewhere-{side}"),
        }
    }
}

/// Whether the client does not present its certificate. Servers in Rust and Scala name the authorities that they trust, and a client in
/// Scala presents no certificate of another one.
fn is_withheld(client: Language, server: Language, wrong: Wrong) -> bool {
    wrong == Wrong::Stranger && client == Language::Scala && server != Language::C
}

/// What is reported by the side that checks the certificate.
fn checks(own: Language, other: Language, wrong: Wrong, is_of_client: bool) -> &'static str {
    match (own, wrong) {
        _ if is_of_client && is_withheld(other, own, wrong) => {
            "presented no certificate: it has none, or none of an authority that this side trusts; give it one, with its key"
        }
        (Language::Rust | Language::C, Wrong::Stranger) => {
            "the certificate of the other side was not issued by an authority that this side trusts"
        }
        (Language::Rust | Language::C, Wrong::Expired) => {
            "the certificate of the other side has expired"
        }
        (Language::Rust | Language::C, Wrong::Elsewhere) => {
            "the certificate of the other side is not for the expected name"
        }
        (Language::Scala, Wrong::Stranger) => {
            "the peer's certificate is not signed by an authority that this side trusts"
        }
        (Language::Scala, Wrong::Expired) => "the peer's certificate has expired",
        (Language::Scala, Wrong::Elsewhere) => "the peer's certificate is not valid",
    }
}

/// What is reported by the side whose certificate it is. In Scala every alert has the same text, and every certificate the same alert.
fn is_refused(own: Language, other: Language, wrong: Wrong, is_of_client: bool) -> &'static str {
    match (own, other) {
        (_, Language::Rust) if is_of_client && is_withheld(own, other, wrong) => {
            "the peer requires a certificate, and this side has none of an authority that the peer trusts"
        }
        // A server in Scala cannot read the alert of a client in C, and says so.
        (Language::Scala, _) => "does not accept this side's certificate",
        (_, Language::Scala) => "the other side does not accept the certificate of this side",
        _ => match wrong {
            Wrong::Stranger => {
                "the other side does not trust the authority that issued the certificate of this side"
            }
            Wrong::Expired => {
                "the other side reports that the certificate of this side has expired"
            }
            Wrong::Elsewhere => "the other side does not accept the certificate of this side",
        },
    }
}

/// A client connects with a certificate, and both sides report that there is no session.
fn refused(
    (connecting, client): (Language, &mut Player),
    (listening, server): (Language, &mut Player),
    address: &str,
    wrong: Wrong,
    is_of_client: bool,
) {
    let party = match is_of_client {
        true => wrong.party("client"),
        false => "client".to_owned(),
    };
    client.begin("client", "oneshot", address, &format!("as={party}"));
    let (client_says, server_says) = match is_of_client {
        true => (
            is_refused(connecting, listening, wrong, true),
            checks(listening, connecting, wrong, true),
        ),
        false => (
            checks(connecting, listening, wrong, false),
            is_refused(listening, connecting, wrong, false),
        ),
    };
    let outcome = client.outcome();
    let run = format!("{connecting:?} client, {listening:?} server, {wrong:?}, {is_of_client}");
    assert_eq!(outcome.code, Some(1), "{run}: {outcome:?}");
    assert!(
        outcome.errors.contains(client_says),
        "{run}: the client\n{outcome:?}\nexpected: {client_says}"
    );
    let reported = server.error_line();
    assert!(
        reported.contains(server_says),
        "{run}: the server\n{reported}\nexpected: {server_says}"
    );
}

/// Each server first has a certificate that is wrong, and then a right one, with which it serves in the end.
fn check(listening: Language, clients: &mut [(Language, Player)], certificates: &Path) {
    for wrong in [Wrong::Stranger, Wrong::Expired, Wrong::Elsewhere] {
        let mut server = Player::start(listening, Some(certificates));
        let party = format!("as={}", wrong.party("server"));
        server.begin("server", "oneshot", "tls://127.0.0.1:0", &party);
        let address = server.address();
        for (connecting, client) in clients.iter_mut() {
            let server = (listening, &mut server);
            refused((*connecting, client), server, &address, wrong, false);
        }
    }
    let mut server = Player::start(listening, Some(certificates));
    server.begin("server", "oneshot", "tls://127.0.0.1:0", "");
    let address = server.address();
    for (connecting, client) in clients.iter_mut() {
        for wrong in [Wrong::Stranger, Wrong::Expired] {
            let server = (listening, &mut server);
            refused((*connecting, client), server, &address, wrong, true);
        }
    }
    let (connecting, client) = &mut clients[0];
    client.begin("client", "oneshot", &address, "");
    for outcome in [client.outcome(), server.outcome()] {
        let run = format!("{connecting:?} client, {listening:?} server");
        assert_eq!(outcome.code, Some(0), "{run}: {outcome:?}");
    }
}

#[test]
#[ignore = "with OpenSSL"]
fn wrong_certificates_are_reported_in_every_language() {
    let certificates = Sockets::new();
    crate::rust::write_certificates(&certificates.0);
    let clients = LANGUAGES
        .iter()
        .map(|one| (*one, Player::start(*one, Some(&certificates.0))));
    let mut clients: Vec<(Language, Player)> = clients.collect();
    for listening in &LANGUAGES {
        check(*listening, &mut clients, &certificates.0);
    }
}

/// Less than half of the longest record, and in no proportion to it: the end of a record comes with the beginning of the next one.
const PIECE: usize = 7_001;

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
            let (proxy, address) = Proxy::before(address, Fault::Pieces(PIECE));
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
            proxy.traffic();
        }
    }
}
