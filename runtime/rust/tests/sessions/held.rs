//! Endpoints in fields.

use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::task::{Context, Waker};

use duologue::{Capacity, Closed, Endpoint, Held, Receive, TrySendError, Why};

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
fn a_full_ring_gives_the_payload_back_and_the_session_goes_on() {
    let (server, client) = stream::init_with(Capacity::Bounded(1));
    let mut out = Held::new(client);
    let mut sent = 0;
    let refused = loop {
        match out.try_send(sent, client::Stream::try_send) {
            Ok(()) => sent += 1,
            Err(TrySendError::Full(number)) => break number,
            Err(TrySendError::Closed(error)) => panic!("{error}"),
        }
    };
    assert_eq!(refused, sent);
    assert!(out.is_open());
    drop(server);
    for number in 0..2 {
        let error = out.try_send(number, client::Stream::try_send);
        let error = error.expect_err("closed");
        assert!(matches!(error, TrySendError::Closed(_)));
        assert_eq!(error.into_payload(), number);
    }
    let error = block_on(out.send_async(7, client::Stream::send)).expect_err("closed");
    assert_eq!(error.into_payload(), 7);
}

#[test]
fn a_task_sends_through_its_field_and_can_give_up() -> Result<(), Closed> {
    const MESSAGES: u32 = if cfg!(miri) { 100 } else { 20_000 };
    let (server, client) = stream::init_with(Capacity::Bounded(1));
    let mut out = Held::new(client);
    while out.try_send(0, client::Stream::try_send).is_ok() {}
    let mut sending = Box::pin(out.send_async(1, client::Stream::send));
    let mut context = Context::from_waker(Waker::noop());
    assert!(sending.as_mut().poll(&mut context).is_pending());
    drop(sending);
    assert!(out.is_open());

    let reading = std::thread::spawn(move || {
        let mut inbox = Held::new(server);
        let mut sum = 0;
        block_on(inbox.endpoint()?.ready());
        while let Some(number) = block_on(inbox.with_async(|inbox| async move {
            Ok(match inbox.recv_async().await? {
                Stream::Send(number, next) => (Some(next), Some(number)),
                Stream::Stop => (None, None),
            })
        }))? {
            sum += u64::from(number);
        }
        Ok::<u64, Closed>(sum)
    });
    block_on(async {
        for number in 0..MESSAGES {
            out.send_async(number, client::Stream::send).await?;
        }
        Ok::<(), Closed>(())
    })?;
    out.take().expect("the session is open").stop()?;
    let sum = reading.join().expect("no panic")?;
    assert_eq!(sum, (0..u64::from(MESSAGES)).sum());
    Ok(())
}

#[test]
fn a_step_that_is_given_up_closes_the_session() {
    let (server, client) = stream::init::<u32>();
    let mut inbox = Held::new(server);
    {
        let mut step = Box::pin(inbox.with_async(|inbox| async move {
            match inbox.recv_async().await? {
                Stream::Send(number, next) => Ok((next, number)),
                Stream::Stop => panic!("nothing was sent"),
            }
        }));
        let mut context = Context::from_waker(Waker::noop());
        assert!(step.as_mut().poll(&mut context).is_pending());
    }
    assert!(!inbox.is_open());
    assert!(client.send(1).is_err());
}

/// Adds what endpoints of any protocol receive, without the names of their states.
async fn messages<R: Receive + Send>(
    first: R,
    next: impl Fn(R::Message) -> Option<R>,
) -> Result<u32, Closed> {
    let mut endpoint = Some(first);
    let mut count = 0;
    while let Some(receiving) = endpoint {
        endpoint = next(receiving.receive_async().await?);
        count += 1;
    }
    Ok(count)
}

#[test]
fn generic_code_awaits_messages() -> Result<(), Closed> {
    let (server, mut client) = stream::init();
    let counting = std::thread::spawn(move || {
        block_on(messages(server, |message| match message {
            Stream::Send((), next) => Some(next),
            Stream::Stop => None,
        }))
    });
    for _ in 0..10 {
        client = client.send(())?;
    }
    client.stop()?;
    assert_eq!(counting.join().expect("no panic")?, 11);
    Ok(())
}
