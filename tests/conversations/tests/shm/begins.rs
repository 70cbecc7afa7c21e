//! How sessions in shared memory begin: regions, names, sockets, protocols and options.

use conversations::protocols::{bank, pingpong};
use conversations::regions::pair_of;
use conversations::{block_on, why};
use duologue::Why;
use duologue_shm::{Attach, Error, Fingerprint, Region, attach};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(20);

/// A name that no other test uses, and the file that it names. Removed when this is dropped.
struct Name(String);

impl Name {
    fn new(name: &str) -> Name {
        Name(format!("/duologue-{}-{name}", std::process::id()))
    }

    fn file(&self) -> PathBuf {
        Path::new("/dev/shm").join(&self.0[1..])
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.file());
    }
}

fn ping(server: pingpong::server::Ping, client: pingpong::client::Ping) {
    let waiting = client.ping().expect("it is open");
    let Ok(pingpong::Ping::Ping(answer)) = server.recv() else {
        panic!("the ping arrives")
    };
    drop(answer.pong().expect("it is open"));
    assert!(waiting.recv().is_ok());
}

#[test]
fn a_side_is_taken_once() {
    let region = Region::create().expect("there is memory");
    let (server, client) = pair_of(&region, &Attach::new(), &Attach::new());
    let taken = attach::<pingpong::client::Ping>(&region);
    assert!(matches!(taken, Err(Error::Taken)));
    // That has not disturbed the session.
    ping(server, client);
    let taken = attach::<pingpong::server::Ping>(&region);
    assert!(matches!(taken, Err(Error::Taken)));
}

#[test]
fn a_side_whose_peer_does_not_come_gives_up() {
    let region = Region::create().expect("there is memory");
    let late = Attach::new().timeout(SOON);
    let result = late.attach::<pingpong::client::Ping>(&region);
    assert!(matches!(result, Err(Error::TimedOut)));
    // The peer learns it at once, although it waits indefinitely.
    let result = attach::<pingpong::server::Ping>(&region);
    assert!(matches!(result, Err(Error::PeerLeft)));
}

#[test]
fn a_peer_that_ends_without_attaching_is_noticed() {
    let region = Region::create().expect("there is memory");
    let mut child = Command::new("sleep").arg("0.05").spawn().expect("it runs");
    let options = Attach::new().peer(child.id());
    let result = options.attach::<pingpong::client::Ping>(&region);
    assert!(matches!(result, Err(Error::PeerLeft)));
    child.wait().expect("it is a child");
    let region = Region::create().expect("there is memory");
    let result = options.attach::<pingpong::client::Ping>(&region);
    assert!(matches!(result, Err(Error::PeerLeft)));
}

/// One thread waits for many sides, which come one after the other.
#[test]
fn tasks_wait_for_their_peers() {
    let regions: Vec<Region> = (0..20)
        .map(|_| Region::create().expect("there is memory"))
        .collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            for region in regions.iter().rev() {
                thread::sleep(Duration::from_millis(2));
                let client: pingpong::client::Ping = attach(region).expect("its side is free");
                drop(
                    client
                        .ping()
                        .expect("it is open")
                        .recv()
                        .expect("it is open"),
                );
            }
        });
        let serving = regions.iter().map(|region| async {
            let attaching = Attach::new().attach_async::<pingpong::server::Ping>(region);
            let server = attaching.expect("its side is free").await;
            let pinged = server.expect("the client attaches").recv_async().await;
            let Ok(pingpong::Ping::Ping(answer)) = pinged else {
                panic!("the client pings")
            };
            drop(answer.pong().expect("it is open"));
        });
        block_on(serving.collect::<FuturesUnordered<_>>().collect::<()>());
    });
}

#[test]
fn tasks_learn_why_no_session_begins() {
    let late = Attach::new().timeout(SOON);
    let other = |region: &Region| attach::<bank::server::Login>(region).map(drop);
    let region = || Region::create().expect("there is memory");

    let alone = region();
    let result = block_on(
        late.attach_async::<pingpong::client::Ping>(&alone)
            .expect("free"),
    );
    assert!(matches!(result, Err(Error::TimedOut)));

    let refused = region();
    let attaching = Attach::new().attach_async::<pingpong::client::Ping>(&refused);
    thread::scope(|scope| {
        scope.spawn(|| assert!(matches!(other(&refused), Err(Error::OtherProtocol))));
        let result = block_on(attaching.expect("its side is free"));
        assert!(matches!(result, Err(Error::OtherProtocol)));
    });

    // A side whose future is dropped is given up: before it is polled, while it waits, and when the peer is there.
    for polls in 0..2 {
        let region = region();
        let attaching = Attach::new().attach_async::<pingpong::client::Ping>(&region);
        let mut attaching = attaching.expect("its side is free");
        for _ in 0..polls {
            assert!((&mut attaching).now_or_never().is_none());
        }
        drop(attaching);
        let result = attach::<pingpong::server::Ping>(&region);
        assert!(matches!(result, Err(Error::PeerLeft)));
    }
    let region = region();
    let attaching = Attach::new().attach_async::<pingpong::client::Ping>(&region);
    let mut attaching = attaching.expect("its side is free");
    assert!((&mut attaching).now_or_never().is_none());
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let server = attach::<pingpong::server::Ping>(&region)?;
            Ok(server.recv().map(drop).map_err(|closed| closed.why()))
        });
        thread::sleep(SOON);
        drop(attaching);
        match server.join().expect("it does not panic") {
            Ok(ended) => assert_eq!(ended, Err(Why::Left)),
            Err(error) => assert!(matches!(error, Error::PeerLeft), "{error}"),
        }
    });
}

#[test]
fn other_protocols_are_refused_on_both_sides() {
    let region = Region::create().expect("there is memory");
    thread::scope(|scope| {
        let client = scope.spawn(|| attach::<bank::client::Login>(&region).map(drop));
        let server = attach::<pingpong::server::Ping>(&region).map(drop);
        assert!(matches!(server, Err(Error::OtherProtocol)));
        let client = client.join().expect("it does not panic");
        assert!(matches!(client, Err(Error::OtherProtocol)));
    });
}

/// The protocol file says it, for the side that it names.
#[test]
fn a_side_accepts_what_its_protocol_file_names() {
    use conversations::wire::versions::{first, second, talkative};
    let region = Region::create().expect("there is memory");
    thread::scope(|scope| {
        let client = scope.spawn(|| attach::<first::client::Asking>(&region).map(drop));
        let server = attach::<second::server::Asking>(&region).map(drop);
        assert!(server.is_ok() && client.join().expect("it does not panic").is_ok());
    });
    let region = Region::create().expect("there is memory");
    thread::scope(|scope| {
        let client = scope.spawn(|| attach::<first::client::Asking>(&region).map(drop));
        let server = attach::<talkative::server::Asking>(&region).map(drop);
        assert!(matches!(server, Err(Error::OtherProtocol)));
        assert!(client.join().expect("it does not panic").is_err());
    });
}

/// Which combinations are sound is not this crate's business: here nothing is sent.
#[test]
fn one_side_that_accepts_is_enough() {
    let older = Fingerprint([7; 16]);
    let bank: Fingerprint = "6b4021487a63e0618d274211e3ebd7c9"
        .parse()
        .expect("it is one");
    for (server, client, begins) in [
        (
            Attach::new().accepts(older).accepts(bank),
            Attach::new(),
            true,
        ),
        (Attach::new().accepts(older), Attach::new(), false),
    ] {
        let region = Region::create().expect("there is memory");
        thread::scope(|scope| {
            let client = scope.spawn(|| client.attach::<bank::client::Login>(&region).map(drop));
            let server = server.attach::<pingpong::server::Ping>(&region).map(drop);
            assert_eq!(server.is_ok(), begins);
            assert_eq!(client.join().expect("it does not panic").is_ok(), begins);
        });
    }
}

#[test]
fn only_memory_that_stays_is_a_region() {
    // A file that is not in memory, one that is too small, and one that other users may open.
    let path = std::env::temp_dir().join(format!("duologue-{}-region", std::process::id()));
    let file = File::create_new(&path).expect("the folder can be written");
    file.set_len(1 << 20).expect("there is space");
    let result = attach::<pingpong::client::Ping>(&Region::from(OwnedFd::from(file)));
    std::fs::remove_file(&path).expect("it is there");
    assert!(matches!(result, Err(Error::NotARegion)));

    let name = Name::new("open");
    let region = Region::open(&name.0).expect("the name is free");
    let everyone = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(name.file(), everyone).expect("it is ours");
    let result = attach::<pingpong::client::Ping>(&region);
    assert!(matches!(result, Err(Error::NotARegion)));
    assert!(matches!(Region::open(&name.0), Err(Error::ForeignName)));
}

#[test]
fn a_name_leads_to_one_region_until_its_session_is_over() {
    let name = Name::new("name");
    for _ in 0..3 {
        let server = Region::open(&name.0).expect("the name is free");
        let client = Region::open(&name.0).expect("it is there");
        thread::scope(|scope| {
            let server = scope.spawn(move || attach(&server).expect("its side is free"));
            let client = attach(&client).expect("its side is free");
            let again = Region::open(&name.0).expect("it is there");
            let taken = attach::<pingpong::client::Ping>(&again);
            assert!(matches!(taken, Err(Error::Taken)));
            ping(server.join().expect("it does not panic"), client);
        });
    }
    Region::unlink(&name.0).expect("it is there");
    assert!(matches!(Region::unlink(&name.0), Err(Error::Io { .. })));
    let no_name = Region::open("no/slash/first");
    assert!(matches!(no_name, Err(Error::Io { .. })));
}

/// Many threads open a name and take its sides again and again: each session has two sides, and no region is lost.
#[test]
fn a_name_that_many_open_at_once() {
    let name = Name::new("many");
    thread::scope(|scope| {
        for side in 0..4 {
            let name = &name.0;
            scope.spawn(move || {
                let mut begun = 0;
                while begun < 25 {
                    let region = Region::open(name).expect("it can be opened");
                    let soon = Attach::new().timeout(Duration::from_millis(200));
                    let result = match side % 2 {
                        0 => soon.attach::<pingpong::server::Ping>(&region).map(|end| {
                            let Ok(pingpong::Ping::Ping(end)) = end.recv() else {
                                return;
                            };
                            drop(end.pong());
                        }),
                        _ => soon.attach::<pingpong::client::Ping>(&region).map(|end| {
                            drop(end.ping().map(|end| end.recv()));
                        }),
                    };
                    match result {
                        Ok(()) | Err(Error::TimedOut | Error::PeerLeft) => begun += 1,
                        Err(Error::Taken) => thread::yield_now(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
}

#[test]
fn a_region_goes_over_a_socket() {
    let (here, there) = UnixStream::pair().expect("there are sockets");
    let late = Region::receive(&there, Some(SOON));
    assert!(matches!(late, Err(Error::TimedOut)));
    let region = Region::create().expect("there is memory");
    region.send(&here).expect("the socket is open");
    let received = Region::receive(&there, Some(Duration::from_secs(30))).expect("it was sent");
    thread::scope(|scope| {
        let server = scope.spawn(|| attach(&received).expect("its side is free"));
        let client = attach(&region).expect("its side is free");
        ping(server.join().expect("it does not panic"), client);
    });

    // A byte without a descriptor, a descriptor of something else, and the end.
    (&here).write_all(&[0]).expect("the socket is open");
    let none = Region::receive(&there, None);
    assert!(matches!(none, Err(Error::NoRegion)));
    let other = here.as_fd().try_clone_to_owned().expect("it is open");
    Region::from(other).send(&here).expect("the socket is open");
    let none = Region::receive(&there, None);
    assert!(matches!(none, Err(Error::NoRegion)));
    drop(here);
    let none = Region::receive(&there, None);
    assert!(matches!(none, Err(Error::SocketClosed)));
}

/// A message larger than the peer accepts is not sent: the sender gets the reason, and the peer finds that it has left.
#[test]
fn a_message_that_is_too_large_ends_the_session() {
    use conversations::wire::payloads::{All, client, server};
    let region = Region::create().expect("there is memory");
    let (server, client): (server::All, client::All) =
        pair_of(&region, &Attach::new().max_payload(2000), &Attach::new());
    let client = client.str("x".repeat(1998)).expect("it is open");
    let client = client.u8(7).expect("it is open");
    // The first message after the turn of a segment finds that the session is over; until then they are accepted.
    let mut sent = client.str("x".repeat(1999));
    while let Ok(client) = sent {
        thread::sleep(Duration::from_millis(1));
        sent = client.str(String::new());
    }
    assert_eq!(why(sent), Why::TooLarge);
    let Ok(All::Str(text, server)) = server.recv() else {
        panic!("what was sent before arrives")
    };
    assert_eq!(text.len(), 1998);
    let Ok(All::U8(7, server)) = server.recv() else {
        panic!("what was sent before arrives")
    };
    assert_eq!(why(server.recv()), Why::Left);
}
