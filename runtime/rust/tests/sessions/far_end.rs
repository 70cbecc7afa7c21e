//! Sessions whose other side belongs to a transport that panics where it is to forward messages of a run.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use duologue::generated::{open_sender, Decoder, Driver, Encoder, FarEnd, Malformed, Size, Wire};
use duologue::transport::{Ahead, Forwarded, Why};
use duologue::{Receiver, Sender};

use crate::flow::{Answer, Flow};

/// A payload that counts how many of it there are. It is as large as several words, and owns memory.
struct Held {
    living: Arc<AtomicUsize>,
    _text: String,
    _number: u64,
}

impl Held {
    fn new(living: &Arc<AtomicUsize>) -> Held {
        living.fetch_add(1, SeqCst);
        Held {
            living: Arc::clone(living),
            _text: "text".to_owned(),
            _number: 1,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.living.fetch_sub(1, SeqCst);
    }
}

impl Wire for Held {
    const SIZE: Size = Size::exactly(0);

    fn put(&self, _: &mut Encoder) {}

    fn get(_: &mut Decoder<'_>) -> Result<Held, Malformed> {
        unreachable!("the transport only takes messages")
    }
}

/// A transport that panics when it is to forward what was stored. The test moves the messages.
struct Panics {
    calls: AtomicUsize,
}

impl Driver for Panics {
    fn wait(&self, is_ready: &dyn Fn() -> bool, _: Option<Instant>) -> bool {
        is_ready()
    }

    fn armed(&self, _: bool, _: bool) {}

    fn never_waits(&self) {}

    fn collected(&self, _: Ahead) {
        self.calls.fetch_add(1, SeqCst);
        panic!("a transport that panics");
    }

    fn flush(&self) {}

    fn abandoned(&self) {}

    fn why(&self) -> Why {
        Why::Left
    }
}

/// Opens a session, lets `send` send in it until the transport panics, and takes what was sent. `send` counts the
/// messages. Each payload is destroyed once.
fn panics(
    send: impl FnOnce(Sender<Flow<Held>>, &Arc<AtomicUsize>, &mut usize) -> Option<Receiver<Answer>>,
) {
    let living = Arc::new(AtomicUsize::new(0));
    let driver = Arc::new(Panics {
        calls: AtomicUsize::new(0),
    });
    let far = Mutex::new(None);
    let sender = open_sender::<Flow<Held>>(|opened: FarEnd| {
        *far.lock().expect("nothing panics here") = Some(opened);
        Arc::<Panics>::clone(&driver)
    });
    let mut sent = 0;
    let sending = catch_unwind(AssertUnwindSafe(|| send(sender, &living, &mut sent)));
    // Without the barrier every message is swapped, and the transport is not called.
    let has_panicked = driver.calls.load(SeqCst) > 0;
    assert_eq!(sending.is_err(), has_panicked);
    // The payload of the message that was not sent is destroyed by now, and no other.
    assert_eq!(living.load(SeqCst), sent);
    let far = far.into_inner().expect("nothing panics here");
    let mut far = far.expect("`open_sender` calls this");
    let mut out = Encoder::new();
    let ended = loop {
        match far.forward(&mut out, usize::MAX, usize::MAX).0 {
            Forwarded::Message => {}
            ended @ (Forwarded::Nothing | Forwarded::Left | Forwarded::TooLarge) => break ended,
        }
    };
    if has_panicked {
        // The first panic makes the sender disconnect, which the transport does not stop by a second one.
        assert_eq!(ended, Forwarded::Left);
    }
    drop((far, sending));
    assert_eq!(living.load(SeqCst), 0);
    // The far end has taken exactly these: a tag each.
    assert_eq!(out.bytes().len(), sent);
}

/// Sends this many messages, which are fewer than the ring has slots.
fn begins(
    mut sender: Sender<Flow<Held>>,
    living: &Arc<AtomicUsize>,
    sent: &mut usize,
    count: usize,
) -> Sender<Flow<Held>> {
    for _ in 0..count {
        sender = sender
            .send::<0>(Held::new(living))
            .expect("the far end stays");
        *sent += 1;
    }
    sender
}

#[test]
fn a_transport_that_panics_at_a_segment_a_turn_or_the_end_destroys_each_payload_once() {
    panics(|sender, living, sent| {
        // A segment has 32 lines, each for one of these.
        drop(begins(sender, living, sent, 40));
        None
    });
    panics(|sender, living, sent| {
        let sender = begins(sender, living, sent, 3);
        let waiting = sender.send::<1>(Held::new(living));
        *sent += 1;
        Some(waiting.expect("the far end stays"))
    });
    panics(|sender, living, sent| {
        let sender = begins(sender, living, sent, 3);
        let ended = sender.send::<2>(Held::new(living));
        ended.expect("the far end stays");
        *sent += 1;
        None
    });
}
