//! What a listener can ask about the certificate of a client before it admits it.

use conversations::certificates::Certificates;
use conversations::protocols::bank::{client, server};
use duologue_net::{Address, Connector, Error, Verdict};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::sync::mpsc;
use std::thread;

#[test]
fn admit_sees_the_certificate_of_a_client() {
    let files = Certificates::new();
    let (mut listener, address) = crate::tls::listener(files.tls("ca", "server"));
    let expected = CertificateDer::from_pem_file(files.path("named-client.pem"));
    let expected = expected.expect("the file is a certificate").to_vec();
    let (sender, seen) = mpsc::channel();
    listener.admit(move |peer| {
        let names = ["client.example", "127.0.0.1", "other.example", "not a name"];
        let _ = sender.send((
            peer.certificate == Some(&expected[..]),
            matches!(peer.address, Some(Address::Tls(_))),
            names.map(|name| peer.has_name(name)),
        ));
        peer.has_name("client.example")
    });
    let drain = listener.drain();
    let refused = thread::scope(|scope| {
        let clients = scope.spawn(|| {
            let connect = |party| {
                let connector = Connector::new().tls(files.tls("ca", party));
                connector.connect::<client::Login>(&address).map(drop)
            };
            let results = (connect("client"), connect("named-client"));
            drain.begin();
            results
        });
        drop(listener.accept::<server::Login>().expect("one is admitted"));
        let (other, named) = clients.join().expect("it does not panic");
        assert!(named.is_ok(), "{named:?}");
        other.expect_err("it has no name")
    });
    let Error::Refused { verdict, .. } = refused else {
        panic!("{refused}")
    };
    assert_eq!(verdict, Verdict::NotAdmitted);
    let none = [false; 4];
    assert_eq!(seen.recv(), Ok((false, true, none)));
    assert_eq!(seen.recv(), Ok((true, true, [true, true, false, false])));
}
