//! Whatever owns an endpoint for a while ends the side, or hands it over, on each way out.

use conversations::protocols::numbers::{self, Stream, client, server};
use conversations::{block_on, why};
use duologue::{Closed, Endpoint, Held, Outgoing, PortSet, Why, spawn_service, spawn_service_with};
use futures_util::{FutureExt, SinkExt, StreamExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// What is left of the field is kept, so that nothing else ends the side.
fn step(client: client::Stream, step: impl FnOnce() -> Result<(), Closed>) {
    let mut field = Held::new(client);
    let act = || field.with(|client| step().map(|()| (client, ())));
    assert!(!catch_unwind(AssertUnwindSafe(act)).is_ok_and(|result| result.is_ok()));
    std::mem::forget(field);
}

fn fails() -> Result<(), Closed> {
    let (other, client) = numbers::init();
    drop(other);
    client.send(1).map(drop).map_err(Closed::from)
}

fn full(mut client: client::Stream) -> client::Stream {
    while client.is_ready() {
        client = client.send(1).expect("it is open");
    }
    client
}

/// A way out, and what is done to an endpoint.
type Way<E> = (&'static str, fn(E));

const SENDERS: [Way<client::Stream>; 9] = [
    ("a field is dropped", |client| drop(Held::new(client))),
    ("a step fails", |client| step(client, fails)),
    ("a step panics", |client| step(client, || panic!("a step"))),
    ("a sink is dropped", |client| drop(Outgoing::new(client))),
    ("a sink is closed", |client| {
        let mut sink = Outgoing::new(client);
        block_on(sink.close()).expect("it is open");
        std::mem::forget(sink);
    }),
    ("a send is dropped", |client| {
        let mut sending = full(client).send_async(1);
        assert!((&mut sending).now_or_never().is_none());
        drop(sending);
    }),
    ("a send is given up", |client| {
        let mut sending = full(client).send_async(1);
        assert!((&mut sending).now_or_never().is_none());
        let (client, 1) = sending.into_inner().expect("it is not sent") else {
            panic!("the payload comes back")
        };
        drop(client);
    }),
    ("all that share it are dropped", |client| {
        let shared = client::SharedStream::from(client);
        drop((shared.clone(), shared));
    }),
    ("one that shares it panics", |client| {
        let shared = client::SharedStream::from(client);
        let other = thread::spawn(move || {
            let _shared = shared;
            panic!("a sharer")
        });
        assert!(other.join().is_err());
    }),
];

const RECEIVERS: [Way<server::Stream>; 8] = [
    ("a wait is dropped", |server| {
        let mut receiving = server.recv_async();
        assert!((&mut receiving).now_or_never().is_none());
        drop(receiving);
    }),
    ("a wait is given up", |server| {
        let mut receiving = server.recv_async();
        assert!((&mut receiving).now_or_never().is_none());
        drop(receiving.into_inner().expect("nothing has arrived"));
    }),
    ("a stream is dropped", |server| {
        let mut incoming = server.into_stream();
        assert!(incoming.next().now_or_never().is_none());
        drop(incoming);
    }),
    ("a set is dropped", |server| {
        drop(PortSet::from_iter([(server, ())]));
    }),
    ("it is removed from a set", |server| {
        let mut set = PortSet::new();
        let key = set.insert(server, ());
        drop(set.remove(key).expect("it is there"));
        std::mem::forget(set);
    }),
    ("a service returns", |server| {
        let ((), service) = spawn_service(|| (server, ()), drop);
        service.join().expect("it does not panic");
    }),
    ("a service panics", |server| {
        let serve = |_server: server::Stream| panic!("a service");
        let ((), service) = spawn_service(|| (server, ()), serve);
        assert!(service.join().is_err());
    }),
    ("the task of a service is dropped", |server| {
        let serve = |server: server::Stream| server.recv_async();
        let ((), ()) = spawn_service_with(drop, || (server, ()), serve);
    }),
];

#[test]
fn each_owner_ends_its_side() {
    for (way, act) in SENDERS {
        let (server, client) = numbers::init();
        act(client);
        let mut received = server.recv();
        while let Ok(Stream::Send(_, next)) = received {
            received = next.recv();
        }
        assert_eq!(why(received), Why::Left, "{way}");
    }
    for (way, act) in RECEIVERS {
        let (server, client) = numbers::init();
        act(server);
        assert_eq!(why(client.send(1)), Why::Left, "{way}");
    }
}

#[cfg(feature = "sockets")]
#[test]
fn a_handler_of_a_listener_ends_its_side() {
    let (mut listener, address) = conversations::sockets::listener("owners");
    listener.serve(|server: server::Stream| {
        let Ok(Stream::Send(number, _server)) = server.recv() else {
            panic!("it is sent")
        };
        assert_ne!(number, 7, "a handler");
    });
    conversations::sockets::serving(listener, || {
        for number in [6, 7] {
            let mut client: client::Stream =
                duologue_net::connect(&address).expect("it is accepted");
            let why = loop {
                client = match client.send(number) {
                    Ok(client) => client,
                    Err(error) => break error.closed().why(),
                };
            };
            assert_eq!(why, Why::Left, "{number}");
        }
    });
}
