//! Transports of a program's own that panic.

use conversations::protocols::numbers::client;
use duologue::transport::{Ahead, Driver, Encoder, FarEnd, Forwarded, Open, Why};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A transport that panics whenever it is to forward what was stored. The test moves the messages.
struct Panics(AtomicUsize);

impl Driver for Panics {
    fn wait(&self, is_ready: &dyn Fn() -> bool, _: Option<Instant>) -> bool {
        is_ready()
    }

    fn armed(&self, _: bool, _: bool) {}

    fn collected(&self, _: Ahead) {
        self.0.fetch_add(1, SeqCst);
        panic!("a transport that panics");
    }

    fn never_waits(&self) {}

    fn flush(&self) {}

    fn abandoned(&self) {}

    fn why(&self) -> Why {
        Why::Left
    }
}

/// The first panic makes the sender disconnect, and then the transport panics again. The program goes on, and the other side
/// finds everything that was sent, and the end.
#[test]
fn a_transport_that_panics_twice_ends_the_session() {
    let driver = Arc::new(Panics(AtomicUsize::new(0)));
    let far = Mutex::new(None);
    let mut client = client::Stream::open(|opened: FarEnd| {
        *far.lock().expect("nothing panics here") = Some(opened);
        Arc::<Panics>::clone(&driver)
    });
    let sent = AtomicUsize::new(0);
    let sending = catch_unwind(AssertUnwindSafe(|| {
        loop {
            client = client.send(1).expect("the far end stays");
            sent.fetch_add(1, SeqCst);
        }
    }));
    assert!(sending.is_err());
    assert_eq!(driver.0.load(SeqCst), 2);
    let far = far.into_inner().expect("nothing panics here");
    let mut far = far.expect("`open` calls this");
    let mut out = Encoder::new();
    let ended = loop {
        let (forwarded, _) = far.forward(&mut out, usize::MAX, usize::MAX);
        if forwarded != Forwarded::Message {
            break forwarded;
        }
    };
    assert_eq!(ended, Forwarded::Left);
    // A tag and eight bytes each.
    assert_eq!(out.bytes().len(), 9 * sent.load(SeqCst));
}
