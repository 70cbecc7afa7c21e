//! Messages arrive in order and with the right type, and empty is not the same as closed.

use std::time::Duration;
use std::{mem, thread};

use duologue::{spawn_service, Capacity, Endpoint, TryRecvError};

use crate::golden::{bank, stream};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

#[test]
fn receiving_after_ones_own_send_waits_for_the_slow_peer() -> Outcome {
    let (server, client) = bank::init();
    let client = client.login("holk".into(), "1234".into())?;
    let client = match client.try_recv() {
        Err(TryRecvError::Empty(client)) => client,
        other => panic!("received its own message: {other:?}"),
    };
    let slow = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        let bank::Login::Login {
            username: name,
            password,
            next: server,
        } = server.recv()?;
        assert_eq!((name.as_str(), password.as_str()), ("holk", "1234"));
        drop(server.ok()?);
        Ok::<_, duologue::Closed>(())
    });
    assert!(matches!(client.recv()?, bank::LoginResponse::Ok(_)));
    slow.join().expect("the server panicked")?;
    Ok(())
}

#[test]
fn empty_and_closed_are_different_answers() -> Outcome {
    let (server, client) = stream::init::<u32>();
    let Err(TryRecvError::Empty(server)) = server.try_recv() else {
        panic!("nothing was sent")
    };
    let Err(TryRecvError::Empty(server)) = server.recv_timeout(Duration::from_millis(5)) else {
        panic!("nothing was sent")
    };
    drop(client.send(7)?);
    let server = server
        .try_recv()
        .expect("what was sent is read first")
        .sent_is(7);
    let Err(TryRecvError::Closed(closed)) = server.try_recv() else {
        panic!("then it is closed")
    };
    assert_eq!((closed.protocol(), closed.state()), ("stream", "Stream"));
    assert_eq!(
        closed.to_string(),
        "the peer closed the session in state `stream.Stream`"
    );
    Ok(())
}

#[test]
fn a_timeout_that_never_ends_is_no_overflow() -> Outcome {
    let (server, client) = stream::init::<u32>();
    let sender = thread::spawn(move || client.send(1).map(drop));
    assert!(matches!(
        server.recv_timeout(Duration::MAX),
        Ok(stream::Stream::Send(1, _))
    ));
    sender.join().expect("the sender panicked")?;
    Ok(())
}

#[test]
fn payloads_without_size_and_with_large_alignment() -> Outcome {
    #[repr(align(256))]
    struct Aligned(u8);
    let (mut server, mut client) = stream::init::<Aligned>();
    for number in 0..200 {
        client = client.send(Aligned(number))?;
        let (Aligned(got), next) = server.recv()?.sent();
        assert_eq!(got, number);
        server = next;
    }
    let (server, client) = stream::init::<()>();
    client.send(())?.send(())?.stop()?;
    let ((), server) = server.recv()?.sent();
    let ((), server) = server.recv()?.sent();
    assert!(matches!(server.recv()?, stream::Stream::Stop));
    Ok(())
}

#[test]
fn payloads_may_borrow() -> Outcome {
    let text = String::from("a long line of text");
    let (server, client) = stream::init::<&str>();
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            text.split(' ')
                .try_fold(client, |client, word| client.send(word))
                .map(drop)
                .is_ok()
        });
        let mut words = Vec::new();
        let mut server = server;
        while let Ok(stream::Stream::Send(word, next)) = server.recv() {
            words.push(word);
            server = next;
        }
        assert_eq!(words.join(" "), text);
        // The thread sanitizer sees the end of a thread that is joined, but not that of a scope.
        assert!(sending.join().is_ok_and(|sent| sent));
    });
    Ok(())
}

#[test]
fn readiness_is_known_without_consuming_the_endpoint() -> Outcome {
    let (mut server, mut client) = stream::init_with::<u8>(Capacity::Bounded(2));
    assert!(!server.is_ready());
    assert!(!server.ready_within(Duration::from_millis(1)));
    client = client.send(1)?.send(2)?;
    assert!(server.ready_within(Duration::ZERO));
    assert!(!client.is_ready());
    assert!(!client.ready_within(Duration::from_millis(1)));
    let server = server.recv()?.sent_is(1);
    let server = server.recv()?.sent_is(2);
    assert!(client.is_ready());
    drop(server);
    assert!(client.send(3).is_err());
    Ok(())
}

#[test]
fn endpoints_are_small_and_shareable() {
    fn shareable<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    shareable::<bank::client::Login>();
    shareable::<bank::server::Login>();
    shareable::<stream::server::Stream<std::cell::Cell<u8>>>();
    assert!(mem::size_of::<bank::client::Login>() <= 2 * mem::size_of::<usize>());
    assert!(mem::size_of::<Option<bank::server::Login>>() <= 2 * mem::size_of::<usize>());
}

#[test]
fn a_service_on_a_thread() -> Outcome {
    let sum = |mut server: stream::server::Stream<u32>| {
        let mut sum = 0;
        while let stream::Stream::Send(number, next) = server.recv()? {
            sum += number;
            server = next;
        }
        Ok::<u32, duologue::Closed>(sum)
    };
    let (client, serving) = spawn_service(stream::init, sum);
    client.send(1)?.send(2)?.stop()?;
    assert_eq!(serving.join().expect("no panic")?, 3);
    Ok(())
}
