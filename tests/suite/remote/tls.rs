//! TLS with C on either side: certificates that are wrong are reported by both sides, in whatever languages they are written.

use super::Sockets;
use super::programs::Language;
use crate::support::running::Running;
use crate::support::{is_named, is_tested};
use std::fs;
use std::path::Path;

/// Which side has the certificate of another party, and what is reported by the side that checks it and by the other one.
const WRONG: [(&str, &str, &str, &str); 5] = [
    ("client", "stranger-client", NO_ISSUER, NO_TRUST),
    ("server", "stranger-server", NO_ISSUER, NO_TRUST),
    ("client", "expired-client", EXPIRED, HAS_EXPIRED),
    ("server", "expired-server", EXPIRED, HAS_EXPIRED),
    ("server", "elsewhere-server", OTHER_NAME, NOT_ACCEPTED),
];

const NO_ISSUER: &str =
    "the certificate of the other side was not issued by an authority that this side trusts";
const NO_TRUST: &str =
    "the other side does not trust the authority that issued the certificate of this side";
const EXPIRED: &str = "the certificate of the other side has expired";
const HAS_EXPIRED: &str = "the other side reports that the certificate of this side has expired";
const OTHER_NAME: &str = "the certificate of the other side is not for the expected name";
const NOT_ACCEPTED: &str = "the other side does not accept the certificate of this side";

/// What a side must report. Java's TLS has other words, and one alert for whatever is wrong with a certificate.
fn expected(own: Language, other: Language, checks: bool, checked: &str, alerted: &str) -> String {
    let text = match (own, other) {
        (Language::Scala, _) => return String::new(),
        (_, Language::Scala) if !checks => NOT_ACCEPTED,
        _ if checks => checked,
        _ => alerted,
    };
    format!("TLS did not begin: {text}")
}

fn check(client: Language, server: Language, certificates: &Path) {
    for (side, party, checked, alerted) in WRONG {
        let folder = certificates.join(format!("{client:?}-{server:?}-{party}"));
        fs::create_dir(&folder).expect("it can be made");
        for file in [
            "ca.pem",
            "client.pem",
            "client.key",
            "server.pem",
            "server.key",
        ] {
            let of = file.replace(side, party);
            fs::copy(certificates.join(of), folder.join(file)).expect("it can be copied");
        }
        let [mut connecting, mut listening] = [client, server].map(|language| {
            let mut command = language.command();
            command.env("DUOLOGUE_TLS", &folder);
            command
        });
        let mut listener =
            Running::start(listening.args(["server", "oneshot", "tls://127.0.0.1:0"]));
        let line = listener.line();
        let address = line.strip_prefix("listening ").expect("it listens");
        let connected = Running::start(connecting.args(["client", "oneshot", address])).end();
        let pair = format!("{client:?} client, {server:?} server, {party}");
        let says = expected(client, server, side == "server", checked, alerted);
        assert!(
            connected.code == Some(1) && connected.errors.contains(&says),
            "{pair}: the client\n{connected:?}\nexpected: {says}"
        );
        let says = expected(server, client, side == "client", checked, alerted);
        if !says.is_empty() {
            let reported = listener.error_line();
            assert!(
                reported.contains(&says),
                "{pair}: the server\n{reported}\nexpected: {says}"
            );
        }
    }
}

#[test]
fn wrong_certificates_are_reported_in_every_language() {
    let all = [Language::Rust, Language::C, Language::Scala];
    if !is_named("tls") || !is_tested("c") {
        return;
    }
    let certificates = Sockets::new();
    crate::rust::write_certificates(&certificates.0);
    for other in all.into_iter().filter(|other| is_tested(other.name())) {
        check(Language::C, other, &certificates.0);
        if other != Language::C {
            check(other, Language::C, &certificates.0);
        }
    }
}
