//! Endpoints in fields.

use std::panic::{catch_unwind, AssertUnwindSafe};

use duologue::{Closed, Endpoint, Held, Why};

use crate::futures::block_on;
use crate::golden::stream::{self, client, server, Stream};
use crate::golden::type_switch;

/// A side that keeps its endpoint.
struct Sender {
    out: Held<client::Stream<u32>>,
    sent: u32,
}

impl Sender {
    fn next(&mut self) -> Result<(), Closed> {
        self.out.send(self.sent, client::Stream::send)?;
        self.sent += 1;
        Ok(())
    }
}

struct Receiver {
    inbox: Held<server::Stream<u32>>,
}

impl Receiver {
    fn next(&mut self) -> Result<Option<u32>, Closed> {
        self.inbox.with(|inbox| match inbox.recv()? {
            Stream::Send(number, next) => Ok((Some(next), Some(number))),
            Stream::Stop => Ok((None, None)),
        })
    }
}

#[test]
fn messages_through_fields() -> Result<(), Closed> {
    let (server, client) = stream::init();
    let mut sender = Sender {
        out: Held::new(client),
        sent: 0,
    };
    let mut receiver = Receiver {
        inbox: server.into(),
    };
    for number in 0..1_000 {
        sender.next()?;
        assert_eq!(receiver.next()?, Some(number));
    }
    let last = sender.out.take().expect("the session is open");
    assert!(sender.out.take().is_none());
    last.stop()?;
    assert!(receiver.inbox.is_open());
    assert_eq!(receiver.next()?, None);
    assert!(!receiver.inbox.is_open());
    Ok(())
}

#[test]
fn a_question_and_its_answer_are_one_step() -> Result<(), Closed> {
    let (server, client) = type_switch::init();
    let mut asking = Held::new(client);
    let serving = std::thread::spawn(move || {
        let mut server = server;
        for number in 0..10 {
            let type_switch::Start::GetInt(answer) = server.recv()? else {
                panic!("an int was asked for")
            };
            server = answer.thing(number)?;
        }
        Ok::<(), Closed>(())
    });
    for number in 0..10 {
        let answer = asking.with(|client| {
            let type_switch::Wait::Thing(answer, next) = client.get_int()?.recv()?;
            Ok((next, answer))
        });
        assert_eq!(answer?, number);
    }
    serving.join().expect("no panic")
}

#[test]
fn a_closed_field_keeps_saying_so_and_gives_every_payload_back() {
    let (server, client) = stream::init();
    let mut out = Held::new(client);
    drop(server);
    for number in 0..3 {
        let error = out.send(number, client::Stream::send).expect_err("closed");
        let closed = error.closed();
        assert_eq!((closed.state(), closed.why()), ("Stream", Why::Left));
        assert_eq!(error.into_payload(), number);
        let step = out.with(|_| -> Result<(client::Stream<i32>, ()), Closed> {
            panic!("there is no endpoint for a step")
        });
        assert_eq!(step, Err(closed));
        assert_eq!(out.endpoint().expect_err("closed"), closed);
        assert!(out.take().is_none());
    }
    let (_server, client) = stream::init();
    out.put(client);
    assert!(out.send(1, client::Stream::send).is_ok());
}

#[test]
fn a_step_that_panics_closes_the_session() {
    let (server, client) = stream::init::<u32>();
    let mut out = Held::new(client);
    let panics = |out: &mut Held<client::Stream<u32>>| {
        catch_unwind(AssertUnwindSafe(|| {
            out.with(|_client| -> Result<(client::Stream<u32>, ()), Closed> { panic!("in a step") })
        }))
        .is_err()
    };
    assert!(panics(&mut out));
    assert!(server.recv().is_err());
    assert!(out.take().is_none());
    let again = catch_unwind(AssertUnwindSafe(|| out.endpoint().is_ok()));
    assert!(again.is_err());
}

#[test]
fn a_task_waits_for_its_field() -> Result<(), Closed> {
    const MESSAGES: u32 = if cfg!(miri) { 100 } else { 20_000 };
    let (server, client) = stream::init();
    let sending = std::thread::spawn(move || {
        let mut out = Held::new(client);
        block_on(async {
            for number in 0..MESSAGES {
                out.endpoint()?.ready().await;
                out.send(number, client::Stream::send)?;
            }
            Ok::<(), Closed>(())
        })
    });
    let mut inbox = Held::new(server);
    let sum = block_on(async {
        let mut sum = 0;
        for _ in 0..MESSAGES {
            inbox.endpoint()?.ready().await;
            sum += inbox.with(|inbox| match inbox.recv()? {
                Stream::Send(number, next) => Ok((next, u64::from(number))),
                Stream::Stop => panic!("not yet"),
            })?;
        }
        Ok::<u64, Closed>(sum)
    })?;
    assert_eq!(sum, (0..u64::from(MESSAGES)).sum());
    sending.join().expect("no panic")
}
