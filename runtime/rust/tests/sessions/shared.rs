//! One endpoint, many senders.

use std::task::Poll;

use duologue::generated::{session, Slot};
use duologue::{Capacity, SharedSender, TrySendError};

use crate::golden::stream::{self, state, Stream};
use crate::unpark::Unpark;

type Shared<T> = SharedSender<state::Stream<T>>;

fn init<T: Send>(capacity: Capacity) -> (stream::server::Stream<T>, Shared<T>) {
    let (sender, receiver) = session(Slot::new().fit::<T>(), capacity);
    (receiver, SharedSender::new(sender))
}

#[test]
fn a_full_ring_is_told_from_a_closed_session() {
    let (server, shared) = init::<u32>(Capacity::Bounded(2));
    assert!(shared.try_send::<0>(1).is_ok() && shared.try_send::<0>(2).is_ok());
    let Err(TrySendError::Full(3)) = shared.try_send::<0>(3) else {
        panic!("there is no room for 3")
    };
    drop(server);
    let Err(TrySendError::Closed(error)) = shared.try_send::<0>(4) else {
        panic!("nobody is there")
    };
    assert_eq!(error.closed().protocol(), "stream");
    assert_eq!(error.into_payload(), 4);
    assert_eq!(
        shared
            .clone()
            .send::<0>(5)
            .map_err(|error| error.into_payload()),
        Err(5)
    );
}

#[test]
fn a_sender_that_gives_up_takes_no_room_from_the_others() {
    let wakes = [0, 1].map(|_| Unpark::current());
    let (server, shared) = init::<u32>(Capacity::Bounded(1));
    shared.send::<0>(0).expect("receiver is open");
    let mut first = shared.send_async::<0>(1);
    let mut second = shared.send_async::<0>(2);
    assert!(wakes[0].poll(&mut first).is_pending());
    assert!(wakes[1].poll(&mut second).is_pending());
    drop(first);
    let server = server.recv().expect("0").sent_is(0);
    assert_eq!(wakes[0].woken(), 0);
    assert_eq!(wakes[1].woken(), 1);
    let polled = wakes[1].poll(&mut second);
    assert!(matches!(polled, Poll::Ready(Ok(()))));
    assert!(matches!(server.recv(), Ok(Stream::Send(2, _))));
}
