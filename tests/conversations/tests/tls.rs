//! Sessions over TLS: they are as those over TCP, and whatever is wrong with a certificate or a peer is reported by both sides.

use conversations::certificates::Certificates;
use conversations::protocols::bank::{Login, client, server};
use conversations::protocols::numbers;
use conversations::sockets::{HELLO, unhex};
use conversations::{LONG, why};
use duologue::{Closed, Select, Why};
use duologue_net::{Connector, Error, Listener, Open, Tls};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A listener with these certificates, on a free port, and its address with a name.
pub fn listener(tls: Tls) -> (Listener, String) {
    let listener = Listener::bind_tls("tls://127.0.0.1:0", tls).expect("a port is free");
    let address = listener.address().to_string();
    (listener, address)
}

/// Both endpoints of a session that this listener accepts.
fn accepted<S: Open, C: Open>(
    listener: &mut Listener,
    connector: &Connector,
    address: &str,
) -> (S, C) {
    thread::scope(|scope| {
        let client = scope.spawn(|| connector.connect(address).expect("it is accepted"));
        let server = listener.accept().expect("it connects");
        (server, client.join().expect("it does not panic"))
    })
}

/// Both endpoints of a session over TLS.
pub fn pair<S: Open, C: Open>() -> (S, C) {
    let files = Certificates::new();
    let (mut listener, address) = listener(files.tls("ca", "server"));
    let connector = Connector::new().tls(files.tls("ca", "client"));
    accepted(&mut listener, &connector, &address)
}

/// What each side reports when a client acts on a listener that accepts no session: the client's result, and the listener's error.
fn reported<T: Send>(
    listener: &mut Listener,
    client: impl FnOnce() -> T + Send,
) -> (T, Option<String>) {
    let (sender, errors) = mpsc::channel();
    listener.on_failure(move |error| {
        // The test reads only the first error.
        let _ = sender.send(error.to_string());
    });
    let drain = listener.drain();
    thread::scope(|scope| {
        let client = scope.spawn(move || {
            let result = client();
            let error = errors.recv_timeout(Duration::from_secs(5)).ok();
            drain.begin();
            (result, error)
        });
        let none = listener.accept::<server::Login>();
        assert!(matches!(none, Err(Error::Drained)), "{none:?}");
        client.join().expect("it does not panic")
    })
}

/// What the two sides report, where the client trusts one authority and is one party, and the listener is another.
fn refused(listening: Tls, connecting: Tls) -> [String; 2] {
    let (mut listener, address) = listener(listening);
    let connector = Connector::new().tls(connecting);
    let connect = || connector.connect::<client::Login>(&address).map(drop);
    let (client, server) = reported(&mut listener, connect);
    let client = client.expect_err("it is refused").to_string();
    [client, server.expect("it is reported")]
}

#[test]
fn certificates_that_are_wrong_are_reported_by_both_sides() {
    let files = Certificates::new();
    let server = || files.tls("ca", "server");
    let client = || files.tls("ca", "client");
    let no_issuer = "TLS did not begin: the certificate of the other side was not issued by an authority that this side trusts";
    let no_trust = "TLS did not begin: the other side does not trust the authority that issued the certificate of this side";
    let expired = "TLS did not begin: the certificate of the other side has expired";
    let has_expired =
        "TLS did not begin: the other side reports that the certificate of this side has expired";

    let other_name =
        "TLS did not begin: the certificate of the other side is not for the expected name";
    let not_accepted =
        "TLS did not begin: the other side does not accept the certificate of this side";
    let party = |name| files.tls("ca", name);
    for (server, client, reports) in [
        (server(), party("stranger-client"), [no_trust, no_issuer]),
        (party("stranger-server"), client(), [no_issuer, no_trust]),
        (
            server(),
            files.tls("other-ca", "client"),
            [no_issuer, no_trust],
        ),
        (server(), party("expired-client"), [has_expired, expired]),
        (party("expired-server"), client(), [expired, has_expired]),
        (
            party("elsewhere-server"),
            client(),
            [other_name, not_accepted],
        ),
    ] {
        assert_eq!(refused(server, client), reports);
    }
}

#[test]
fn a_certificate_of_another_name_is_accepted_if_it_is_expected() {
    let files = Certificates::new();
    let (mut listener, address) = listener(files.tls("ca", "elsewhere-server"));
    let tls = files.tls("ca", "client");
    let named = tls.clone().expect_name("elsewhere.example");
    let named = Connector::new().tls(named.expect("it is a name"));
    let of_service = Connector::new().tls(tls).service("elsewhere.example");
    for connector in [named, of_service.clone()] {
        let ends: (server::Login, client::Login) = accepted(&mut listener, &connector, &address);
        drop(ends);
    }
    // The program that names the address must not choose that there is no TLS.
    let plain = of_service.connect::<client::Login>("tcp://127.0.0.1:1");
    assert!(matches!(plain, Err(Error::Tls { .. })), "{:?}", plain.err());
}

#[test]
fn hosts_are_checked_by_name_and_by_address() {
    let files = Certificates::new();
    let (mut listener, address) = listener(files.tls("ca", "server"));
    let address = address.replace("127.0.0.1", "localhost");
    let connector = Connector::new().tls(files.tls("ca", "client"));
    let ends: (server::Login, client::Login) = accepted(&mut listener, &connector, &address);
    drop(ends);
}

/// A peer with a TLS of its own.
pub struct Raw<'a> {
    pub files: &'a Certificates,
    pub has_certificate: bool,
    pub version: &'static SupportedProtocolVersion,
    pub alpn: &'a [&'a str],
}

impl Raw<'_> {
    pub fn connect(&self, address: &str) -> StreamOwned<ClientConnection, TcpStream> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certificate = |name| {
            CertificateDer::from_pem_file(self.files.path(name)).expect("the file is a certificate")
        };
        let mut roots = RootCertStore::empty();
        roots.add(certificate("ca.pem")).expect("it is one");
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[self.version])
            .expect("it is supported")
            .with_root_certificates(roots);
        let mut config = if self.has_certificate {
            let key = PrivateKeyDer::from_pem_file(self.files.path("client.key"));
            let key = key.expect("the file is a key");
            let config = config.with_client_auth_cert(vec![certificate("client.pem")], key);
            config.expect("they fit")
        } else {
            config.with_no_client_auth()
        };
        config.alpn_protocols = self
            .alpn
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let name = ServerName::try_from("localhost").expect("it is a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("it is complete");
        let host = address.strip_prefix("tls://").expect("it is TLS");
        let socket = TcpStream::connect(host).expect("it listens");
        StreamOwned::new(connection, socket)
    }

    /// What it finds, and what the listener reports.
    fn refused(&self) -> [String; 2] {
        let (mut listener, address) = listener(self.files.tls("ca", "server"));
        let (found, server) = reported(&mut listener, || {
            let mut stream = self.connect(&address);
            let written = stream.write_all(&unhex(HELLO));
            let read = written.and_then(|()| stream.read_exact(&mut [0; 12]));
            read.expect_err("it is refused").to_string()
        });
        [found, server.expect("it is reported")]
    }
}

#[test]
fn peers_that_do_something_else_are_reported() {
    let files = &Certificates::new();
    let other = "TLS did not begin: the other side speaks TLS, but did not negotiate `duologue/1`: check that it is a Duologue program";
    let none = "TLS did not begin: the other side presented no certificate: it has none, or none of an authority that this side trusts; give it one, with its key";
    let (new, old) = (&rustls::version::TLS13, &rustls::version::TLS12);
    for (has_certificate, version, alpn, alert, report) in [
        (false, new, &["duologue/1"][..], "CertificateRequired", none),
        (true, old, &["duologue/1"], "ProtocolVersion", NO_TLS_1_3),
        (true, new, &["h2"], "NoApplicationProtocol", other),
        (true, new, &[], "", other),
    ] {
        let raw = Raw {
            files,
            has_certificate,
            version,
            alpn,
        };
        let [client, server] = raw.refused();
        assert!(client.contains(alert), "{client}");
        assert_eq!(server, report);
    }
}

/// What is reported about a peer of TLS 1.2.
const NO_TLS_1_3: &str = "TLS did not begin: the other side does not support TLS 1.3";

/// A listener of TLS 1.2, as far as a client sees it: it answers with the alert that names the version.
#[test]
fn a_listener_without_tls_1_3_is_reported() {
    let files = Certificates::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = format!("tls://{}", listener.local_addr().expect("it is bound"));
    let answering = thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("it connects");
        peer.write_all(&[0x15, 3, 3, 0, 2, 2, 70])
            .expect("it reads");
        let _ = peer.read(&mut [0; 1024]);
    });
    let connector = Connector::new().tls(files.tls("ca", "client"));
    let error = connector.connect::<client::Login>(&address).map(drop);
    let error = error.expect_err("it is refused").to_string();
    assert_eq!(error, NO_TLS_1_3);
    answering.join().expect("it does not panic");
}

#[test]
fn plain_and_encrypted_sides_notice_each_other() {
    let files = Certificates::new();
    let (mut encrypted, address) = listener(files.tls("ca", "server"));
    let plain = address.replace("tls:", "tcp:");
    let (client, server) = reported(&mut encrypted, || {
        duologue_net::connect::<client::Login>(&plain).map(drop)
    });
    assert!(matches!(client, Err(Error::SpeaksTls)), "{client:?}");
    assert_eq!(
        server.as_deref(),
        Some(
            "TLS did not begin: the other side does not speak TLS: use a `tls://` address on both sides or on neither"
        )
    );

    let mut plain = Listener::bind("tcp://127.0.0.1:0").expect("a port is free");
    let address = plain.address().to_string().replace("tcp:", "tls:");
    let connector = Connector::new().tls(files.tls("ca", "client"));
    let (client, server) = reported(&mut plain, || {
        connector.connect::<client::Login>(&address).map(drop)
    });
    let client = client.expect_err("it is refused").to_string();
    assert!(client.contains("listens at a `tls://` address"), "{client}");
    let both = Error::SpeaksTls.to_string();
    assert_eq!(server, Some(both));
}

#[test]
fn missing_and_malformed_certificates_are_errors() {
    let missing = "`tls://127.0.0.1:0` requires certificates: pass them to `Connector::tls` or `Listener::bind_tls`";
    let error = Listener::bind("tls://127.0.0.1:0").map(drop);
    assert_eq!(error.expect_err("they are missing").to_string(), missing);
    let error = duologue_net::connect::<client::Login>("tls://127.0.0.1:0").map(drop);
    assert_eq!(error.expect_err("they are missing").to_string(), missing);

    let files = Certificates::new();
    let read = |name| std::fs::read(files.path(name)).expect("the file is there");
    let (ca, chain, key) = (read("ca.pem"), read("client.pem"), read("client.key"));
    let other = read("server.key");
    assert!(Tls::from_pem(&ca, &chain, &key).is_ok());
    let none = "there is no certificate in it";
    for (ca, chain, key, what, reason) in [
        (&b""[..], &chain, &key, "authorities", none),
        (&ca, &key, &key, "certificate", none),
        (&ca, &chain, &chain, "key", ""),
        (&ca, &chain, &other, "key", ""),
    ] {
        let error = Tls::from_pem(ca, chain, key).expect_err("it is wrong");
        let expected = format!("cannot use the text of the {what} for TLS: {reason}");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    let error = Tls::from_files(files.path("none.pem"), files.path("a"), files.path("b"));
    assert!(matches!(error, Err(Error::Io { .. })), "{error:?}");
}

/// Peers that stall in the handshake, or send a byte now and then, take no more than their time, and hold up nobody.
#[test]
fn a_handshake_that_stalls_holds_up_nobody_else() {
    let files = Certificates::new();
    let (mut listener, address) = listener(files.tls("ca", "server"));
    listener.hello_timeout(Duration::from_millis(1_500));
    listener.max_handshakes(4);
    let host = address
        .strip_prefix("tls://")
        .expect("it is TLS")
        .to_owned();
    let silent = TcpStream::connect(&host).expect("it listens");
    let mut slow = TcpStream::connect(&host).expect("it listens");
    // Its handshake begins before `accept` returns, and has its own thread.
    slow.write_all(&[0x16]).expect("it is open");
    let dripping = thread::spawn(move || {
        let began = Instant::now();
        // The rest of the beginning of a record of a handshake with many bytes.
        let bytes = [3, 1, 0x20, 0, 1, 0, 0x1f, 0xfc].into_iter();
        for byte in bytes.chain(std::iter::repeat(0)) {
            if slow.write_all(&[byte]).is_err() || began.elapsed() > LONG {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        began.elapsed()
    });
    let connector = Connector::new().tls(files.tls("ca", "client"));
    let ends: (server::Login, client::Login) = accepted(&mut listener, &connector, &address);
    drop(ends);
    assert!(dripping.join().expect("it does not panic") < LONG);
    // A connection that has sent nothing has no thread: the listener closes it when it waits for others.
    let nobody = listener.accept_within::<server::Login>(Duration::from_millis(1));
    let nobody = nobody.map(drop);
    assert!(matches!(nobody, Err(Error::TimedOut)), "{nobody:?}");
    silent.set_read_timeout(Some(LONG)).expect("it is not zero");
    let ended = (&silent).read(&mut [0; 16]).expect("it is closed");
    assert_eq!(ended, 0);
}

/// A listener that accepts the connection and says nothing.
#[test]
fn connecting_has_a_limit() {
    let files = Certificates::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = format!("tls://{}", listener.local_addr().expect("it is bound"));
    let connector = Connector::new().tls(files.tls("ca", "client"));
    let connector = connector.timeout(Duration::from_millis(100));
    let error = connector.connect::<client::Login>(&address).map(drop);
    assert!(matches!(error, Err(Error::TimedOut)), "{error:?}");
}

#[test]
fn a_side_that_is_dropped_has_left() {
    let (server, client): (server::Login, client::Login) = pair();
    drop(client);
    assert_eq!(why(server.recv()), Why::Left);
}

/// The end of the stream without `leave` is no end of a session, with `close_notify` or without.
#[test]
fn a_connection_that_ends_is_lost() {
    let files = &Certificates::new();
    for says_so in [true, false] {
        let (mut listener, address) = listener(files.tls("ca", "server"));
        let raw = Raw {
            files,
            has_certificate: true,
            version: &rustls::version::TLS13,
            alpn: &["duologue/1"],
        };
        let client = thread::scope(|scope| {
            let client = scope.spawn(|| {
                let mut stream = raw.connect(&address);
                let hello = unhex(HELLO);
                stream.write_all(&hello).expect("it is read");
                stream.read_exact(&mut [0; 38]).expect("it is answered");
                // A login, and the first byte of no further message.
                stream.write_all(b"\x01\x03\x01n\x00").expect("it is read");
                if says_so {
                    stream.conn.send_close_notify();
                }
                stream.flush().expect("it is read");
                stream
            });
            let server: server::Login = listener.accept().expect("it connects");
            drop(client.join().expect("it does not panic"));
            server
        });
        let Ok(Login::Login { username, next, .. }) = client.recv() else {
            panic!("what arrived before the end is delivered")
        };
        assert_eq!(username, "n");
        // The peer may be gone when this is sent, or a moment later.
        let ended = next.ok().map_err(Closed::from);
        assert_eq!(why(ended.and_then(|account| account.recv())), Why::Lost);
    }
}

/// How many numbers fit into what is collected before it is written.
const COUNT: u64 = 5_000;

/// Tasks, selects and port sets are served by the thread that watches sockets: it must find what TLS has read ahead.
#[test]
fn messages_that_arrive_in_one_piece_reach_those_that_wait_for_many() {
    let (server, client): (numbers::server::Stream, numbers::client::Stream) = pair();
    let (mut other, _other_client): (server::Login, client::Login) = pair();
    let mut client = client;
    // They are written together, in a few records. Nothing follows that could wake anybody.
    for value in 0..COUNT {
        client = client.send(value).expect("it is open");
    }
    let mut server = server;
    for count in 0..COUNT {
        let mut select = Select::new();
        let _chosen = select.add(&mut server);
        let _silent = select.add(&mut other);
        let ready = select.ready_within(LONG).expect("it has endpoints");
        assert_eq!(ready, Some(0), "after {count}");
        let Ok(numbers::Stream::Send(value, next)) = server.recv() else {
            panic!("after {count}")
        };
        assert_eq!(value, count);
        server = next;
    }
    drop(client);
}
