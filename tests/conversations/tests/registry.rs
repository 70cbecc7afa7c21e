//! Sessions within the process in a registry: what their sides wait for, and deadlocks.

use conversations::LONG;
use conversations::protocols::bank::{self, Login, LoginResponse};
use conversations::protocols::numbers;
use duologue::observe::{Registry, Side, Snapshot, adopt, named};
use duologue::{Closed, Endpoint, Select, observed};
use std::future::Future;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

type Server = bank::server::Login;
type Client = bank::client::Login;

fn session(registry: &Registry) -> (Server, Client) {
    observed(bank::init(), Arc::new(registry.clone()))
}

fn login(client: Client) -> Result<bank::client::LoginResponse, Closed> {
    Ok(client.login(String::new(), String::new())?)
}

fn take(server: Server) -> Result<bank::server::LoginResponse, Closed> {
    let Login::Login { next, .. } = server.recv()?;
    Ok(next)
}

/// Looks at the registry until this holds.
fn until(registry: &Registry, holds: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let deadline = Instant::now() + LONG;
    loop {
        let seen = registry.snapshot();
        if holds(&seen) {
            return seen;
        }
        assert!(
            Instant::now() < deadline,
            "it does not come to this:\n{seen}"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// The registry goes on to say this for a moment.
fn stays(registry: &Registry, holds: impl Fn(&Snapshot) -> bool) {
    for _ in 0..10 {
        let seen = registry.snapshot();
        assert!(holds(&seen), "{seen}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn is_waiting(seen: &Snapshot, session: usize, side: Side) -> bool {
    let sides = &seen.sessions[session].sides;
    sides
        .iter()
        .any(|one| one.side == side && one.waits.is_some())
}

/// Two threads, each of which waits in one session for what the other one has to send before it waits in the other session.
#[test]
fn a_deadlock_across_two_sessions_is_named_with_its_cycle() -> Result<(), Closed> {
    let registry = Registry::new();
    let (first_server, first_client) = session(&registry);
    let (second_server, second_client) = session(&registry);
    // What the second thread does not do, and what ends the deadlock when it is dropped.
    let kept = Arc::new(Mutex::new(None));
    let first = move || {
        let second = take(second_server)?.invalid()?;
        let waiting = login(first_client)?;
        let answer = waiting.recv().map(drop);
        drop(second);
        answer
    };
    let keeps = Arc::clone(&kept);
    let second = move || {
        let LoginResponse::Invalid(second) = login(second_client)?.recv()? else {
            panic!("it is invalid")
        };
        *keeps.lock().expect("nobody panics") = Some(take(first_server)?);
        login(second)?.recv().map(drop)
    };
    let first = thread::Builder::new().name("first".to_owned()).spawn(first);
    let second = thread::Builder::new()
        .name("second".to_owned())
        .spawn(second);
    let seen = until(&registry, |seen| !seen.deadlocks.is_empty());
    stays(&registry, |seen| seen.deadlocks.len() == 1);

    let [one] = &seen.deadlocks[..] else {
        panic!("{seen}")
    };
    let mut named: Vec<_> = one.waits.iter().collect();
    named.sort_by_key(|blocked| blocked.session.clone());
    let [a, b] = named[..] else { panic!("{seen}") };
    assert!(a.owner.starts_with("thread first #"), "{seen}");
    assert!(b.owner.starts_with("thread second #"), "{seen}");
    assert_eq!((&a.awaited, &b.awaited), (&b.owner, &a.owner));
    assert_eq!((a.side, b.side), (Side::Client, Side::Client));
    assert_eq!(a.state, Some("bank.login_response"));
    assert_ne!(a.session, b.session);
    let text = seen.to_string();
    let line = text.lines().next().unwrap_or_default();
    let cycle = [
        format!("deadlock: {} -> {} -> {}", a.owner, b.owner, a.owner),
        format!("deadlock: {} -> {} -> {}", b.owner, a.owner, b.owner),
    ];
    assert!(cycle.iter().any(|cycle| cycle == line), "{text}");

    let json: serde_json::Value = serde_json::from_str(&seen.json()).expect("it is JSON");
    let waits = json["deadlocks"][0]["waits"].as_array().expect("a list");
    assert_eq!(waits.len(), 2);
    assert_eq!(waits[0]["awaited"], waits[1]["owner"]);
    let sides = json["sessions"][0]["sides"].as_array().expect("a list");
    assert_eq!(sides[0]["side"], "client");
    assert_eq!(
        (&sides[0]["for"], &sides[0]["in_flight"]),
        (&"message".into(), &0.into())
    );
    // The second thread has received the login, but the other thread's second one is not received.
    assert_eq!(json["sessions"][1]["sides"][1]["in_flight"], 1);

    drop(kept.lock().expect("nobody panics").take());
    for thread in [first, second] {
        let result = thread.expect("it begins").join().expect("no panic");
        assert!(result.is_err(), "the session is closed");
    }
    assert!(registry.sessions().is_empty());
    Ok(())
}

/// A thread that has both sides, and waits for itself.
#[test]
fn a_thread_that_waits_for_itself_is_a_deadlock() -> Result<(), Closed> {
    let registry = Registry::new();
    let (mut server, client) = session(&registry);
    let (tell, told) = mpsc::channel();
    let alone = thread::spawn(move || {
        adopt(&mut server);
        tell.send(()).expect("it is awaited");
        let result = login(client)?
            .within(Duration::from_secs(2))
            .recv()
            .map(drop);
        drop(server);
        result
    });
    told.recv().expect("it begins");
    let seen = until(&registry, |seen| !seen.deadlocks.is_empty());
    let waits = &seen.deadlocks[0].waits;
    assert_eq!(waits.len(), 1, "{seen}");
    assert_eq!(waits[0].owner, waits[0].awaited);
    assert!(alone.join().expect("no panic").is_err());
    Ok(())
}

/// Waiting is no deadlock while something can still happen: the other side does something else, was not used, has sent, or has left, or a thread
/// waits for several sessions.
#[test]
fn what_may_go_on_is_no_deadlock() -> Result<(), Closed> {
    let registry = Registry::new();
    let (server, client) = session(&registry);
    let waiting = thread::spawn(move || login(client)?.recv().map(drop));
    let waits = |seen: &Snapshot| is_waiting(seen, 0, Side::Client) && seen.deadlocks.is_empty();
    until(&registry, waits);
    let owner = registry.snapshot().sessions[0].sides[1].owner.clone();
    assert_eq!(owner, None);
    let server = take(server)?;
    let owner = registry.snapshot().sessions[0].sides[1].owner.clone();
    assert!(owner.is_some_and(|owner| owner.starts_with("thread ")));
    stays(&registry, waits);
    drop(server);
    assert!(waiting.join().expect("no panic").is_err());

    // Each waits for the other, but one of them also for a third.
    let (mut one_server, one_client) = session(&registry);
    let (other_server, other_client) = session(&registry);
    let (third_server, third_client) = session(&registry);
    let selects = thread::spawn(move || {
        adopt(&mut one_server);
        let mut other = login(other_client)?;
        let mut third = third_server;
        let ready = Select::from_iter([&mut other as &mut dyn Endpoint, &mut third]).ready();
        drop((one_server, other));
        take(third).map(|_| ready)
    });
    let waits = thread::spawn(move || {
        let other = take(other_server)?;
        let closed = login(one_client)?.recv().map(drop);
        drop(other);
        closed
    });
    let both = |seen: &Snapshot| {
        is_waiting(seen, 0, Side::Client)
            && is_waiting(seen, 1, Side::Client)
            && is_waiting(seen, 2, Side::Server)
    };
    until(&registry, both);
    stays(&registry, |seen| both(seen) && seen.deadlocks.is_empty());
    drop(login(third_client)?);
    assert_eq!(selects.join().expect("no panic")?, Ok(1));
    assert!(waits.join().expect("no panic").is_err());
    Ok(())
}

/// The states of both sides differ while messages are in flight, and a wait that is given up is none.
#[test]
fn messages_in_flight_are_counted() -> Result<(), Closed> {
    let registry = Registry::new();
    let (server, client) = observed(numbers::init(), Arc::new(registry.clone()));
    let mut client = client;
    for number in 0..5 {
        client = client.send(number)?;
    }
    let numbers::Stream::Send(0, server) = server.recv()? else {
        panic!("a number")
    };
    let seen = registry.snapshot();
    let [of_client, of_server] = &seen.sessions[0].sides[..] else {
        panic!("{seen}")
    };
    assert_eq!((of_client.in_flight, of_server.in_flight), (0, 4));
    assert_eq!(of_server.state, Some("stream.Stream"));
    let mut server = server;
    for expected in 1..5 {
        let numbers::Stream::Send(number, next) = server.recv()?;
        assert_eq!(number, expected);
        server = next;
    }
    let Err(duologue::TryRecvError::Empty(server)) = server.recv_timeout(Duration::from_millis(20))
    else {
        panic!("nothing is sent")
    };
    assert!(!is_waiting(&registry.snapshot(), 0, Side::Server));
    drop(client);
    let seen = registry.snapshot();
    assert!(seen.sessions[0].sides[0].has_left, "{seen}");
    drop(server);
    Ok(())
}

/// Tasks with names, and without.
#[test]
fn tasks_wait_under_their_names() -> Result<(), Closed> {
    let registry = Registry::new();
    let (mut first_server, first_client) = session(&registry);
    let (mut second_server, second_client) = session(&registry);
    let mut a = pin!(named("a", async move {
        adopt(&mut second_server);
        let _kept = second_server;
        login(first_client)?.recv_async().await.map(drop)
    }));
    let mut b = pin!(named("b", async move {
        adopt(&mut first_server);
        let _kept = first_server;
        login(second_client)?.recv_async().await.map(drop)
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(a.as_mut().poll(&mut context), Poll::Pending));
    assert!(registry.snapshot().deadlocks.is_empty());
    assert!(matches!(b.as_mut().poll(&mut context), Poll::Pending));
    let seen = registry.snapshot();
    assert_eq!(seen.deadlocks.len(), 1, "{seen}");
    let mut owners: Vec<_> = seen.deadlocks[0].waits.iter().collect();
    owners.sort_by_key(|blocked| blocked.owner.clone());
    assert!(owners[0].owner.starts_with("task a #"), "{seen}");
    assert!(owners[1].owner.starts_with("task b #"), "{seen}");

    // Polled again, a task has still waited since it began.
    let waits = |seen: &Snapshot| seen.sessions[0].sides[0].waits.expect("it waits");
    thread::sleep(Duration::from_millis(5));
    assert!(matches!(a.as_mut().poll(&mut context), Poll::Pending));
    assert!(waits(&registry.snapshot()) >= waits(&seen) + Duration::from_millis(5));

    let (server, client) = session(&registry);
    let mut receiving = pin!(server.recv_async());
    assert!(receiving.as_mut().poll(&mut context).is_pending());
    let seen = registry.snapshot();
    let side = &seen.sessions[2].sides[1];
    assert!(
        side.owner
            .as_ref()
            .is_some_and(|owner| owner.starts_with("task 0x")),
        "{seen}"
    );
    drop(client);
    Ok(())
}

/// Clients that do not read get their documents when they do, and do not hold up another one.
#[cfg(unix)]
#[test]
fn slow_clients_hold_up_no_other() -> std::io::Result<()> {
    let path = std::env::temp_dir().join(format!("duologue-slow-{}", std::process::id()));
    let registry = Registry::new();
    // More than the system keeps for a client that does not read.
    let all: Vec<_> = (0..4000).map(|_| session(&registry)).collect();
    let serving = registry.serve(&path)?;
    let slow = [(); 4].map(|()| UnixStream::connect(&path));
    let read = |mut client: UnixStream| -> std::io::Result<usize> {
        let mut text = String::new();
        client.set_read_timeout(Some(LONG))?;
        client.read_to_string(&mut text)?;
        let document: serde_json::Value = serde_json::from_str(&text)?;
        Ok(document["sessions"].as_array().map_or(0, Vec::len))
    };
    assert_eq!(read(UnixStream::connect(&path)?)?, all.len());
    for client in slow {
        assert_eq!(read(client?)?, all.len());
    }
    drop(serving);
    Ok(())
}

/// Each connection gets the registry as it is, and the socket is gone with the server.
#[cfg(unix)]
#[test]
fn a_registry_is_served_at_a_socket() -> std::io::Result<()> {
    let path = std::env::temp_dir().join(format!("duologue-registry-{}", std::process::id()));
    let registry = Registry::new();
    let read = || -> std::io::Result<serde_json::Value> {
        let mut text = String::new();
        let mut client = UnixStream::connect(&path)?;
        client.set_read_timeout(Some(LONG))?;
        client.read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    };
    // What an earlier process has left.
    drop(std::os::unix::net::UnixListener::bind(&path)?);
    let serving = registry.serve(&path)?;
    assert!(registry.serve(&path).is_err(), "it is in use");
    assert_eq!(read()?["sessions"], serde_json::json!([]));
    let both = session(&registry);
    let seen = read()?;
    assert_eq!(seen["format"], 1);
    assert_eq!(seen["process"], std::process::id());
    assert_eq!(seen["sessions"][0]["state"], "bank.login");
    drop(both);
    drop(serving);
    assert!(!path.exists());
    // Something else is not replaced.
    std::fs::write(&path, "mine")?;
    assert!(registry.serve(&path).is_err());
    assert_eq!(std::fs::read(&path)?, b"mine");
    std::fs::remove_file(&path)
}
