//! Sessions over sockets at their limits: messages that take too much memory, waits with a limit, and what is written at once.

use conversations::protocols::bank::{LoginResponse, client, server};
use conversations::protocols::{numbers, pingpong};
use conversations::sockets::{
    ANSWER, HELLO, Hooked, accepted, listener, log_in, over, socket_pair, unhex,
};
use conversations::{LONG, why};
use duologue::{Closed, Endpoint, Select, TryRecvError, Why};
use duologue_net::{Connector, Error, Listener, Socket, Stream, Verdict};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_message_that_takes_too_much_memory_ends_the_session_for_both_sides() {
    let (mut listener, address) = listener("memory");
    listener.max_memory(7);
    let (server, client): (server::Login, client::Login) = accepted(&mut listener, &address);
    let waiting = client
        .login("holk".into(), "1234".into())
        .expect("it is open");
    // It takes 8 bytes.
    assert_eq!(why(server.recv()), Why::TooLarge);
    let closed = waiting.recv().map(drop).expect_err("it was refused");
    assert_eq!(closed.why(), Why::TooLarge);
    let text = "the session was closed in state `bank.login_response`: a message was too large for its receiver";
    assert_eq!(closed.to_string(), text);
}

#[test]
fn accepting_has_a_limit_and_keeps_sessions_of_others() {
    let (mut listener, address) = listener("accept");
    let none = listener.accept_within::<server::Login>(Duration::ZERO);
    assert!(matches!(none, Err(Error::TimedOut)));
    let none = listener.accept_within::<server::Login>(Duration::from_millis(20));
    assert!(matches!(none, Err(Error::TimedOut)));

    // A connection that begins too late for one caller is there for the next one that wants the same side.
    let path = address.strip_prefix("unix:").expect("a Unix socket");
    let mut raw = UnixStream::connect(path).expect("it listens");
    let none = listener.accept_within::<server::Login>(Duration::from_millis(50));
    assert!(matches!(none, Err(Error::TimedOut)));
    raw.write_all(&unhex(HELLO)).expect("it is read");
    let other = listener.accept_within::<pingpong::server::Ping>(Duration::from_millis(50));
    assert!(matches!(other, Err(Error::TimedOut)));
    let mut answer = [0; 38];
    raw.read_exact(&mut answer).expect("the session begins");
    let server: server::Login = listener.accept_within(LONG).expect("it has begun");
    drop(server);
    let mut rest = Vec::new();
    raw.read_to_end(&mut rest).expect("it ends");
    assert_eq!(rest, [0, 3, 0]);
}

/// Over a Unix socket a listener sees whose process has connected; over TCP it sees an address.
#[test]
fn admit_sees_the_user_of_a_peer() {
    let user = std::fs::metadata("/proc/self")
        .expect("this is Linux")
        .uid();
    let (mut unix, _) = listener("user");
    let mut tcp = Listener::bind("tcp://127.0.0.1:0").expect("a port is free");
    let refused = |listener: &mut Listener| {
        let address = listener.address().to_string();
        thread::scope(|scope| {
            let connecting = scope.spawn(|| duologue_net::connect::<client::Login>(&address).err());
            let accepted = listener.accept_within::<server::Login>(Duration::from_millis(500));
            (accepted.is_ok(), connecting.join().expect("no panic"))
        })
    };
    unix.admit(move |peer| peer.user == Some(user) && peer.address.is_none());
    assert!(matches!(refused(&mut unix), (true, None)));
    unix.admit(move |peer| peer.user != Some(user));
    assert!(matches!(
        refused(&mut unix),
        (
            false,
            Some(Error::Refused {
                verdict: Verdict::NotAdmitted,
                ..
            })
        )
    ));
    tcp.admit(|peer| peer.user.is_none() && peer.address.is_some());
    assert!(matches!(refused(&mut tcp), (true, None)));
}

/// Connects and logs in.
fn connected(stream: impl Stream) -> client::Connected {
    let login = Connector::new().connect_over(stream);
    let Ok(LoginResponse::Ok(connected)) = log_in(login.expect("it is accepted")) else {
        panic!("it is ok")
    };
    connected
}

#[test]
fn flushing_writes_at_once() {
    let (socket, mut raw) = UnixStream::pair().expect("there are descriptors");
    raw.write_all(&unhex(ANSWER)).expect("it is read");
    raw.write_all(&[1]).expect("it is read");
    let connected = connected(Socket::of(socket.into()));
    let mut connected = connected.deposit(1.0).expect("it is open");
    connected.flush();
    raw.set_nonblocking(true).expect("it is a socket");
    let mut written = [0; 1_024];
    let count = raw.read(&mut written).expect("it is there");
    assert_eq!(written[count - 9..count], *b"\x01\0\0\0\0\0\0\xf0\x3f");
    drop(connected);

    // Within a process it does nothing, and takes no message from anybody.
    let (_server, mut client) = numbers::init();
    client.flush();
}

/// Sends two deposits and a withdrawal, and receives the money. Returns how many writes that took.
fn writes_of_a_run() -> usize {
    let (socket, mut raw) = UnixStream::pair().expect("there are descriptors");
    let answering = thread::spawn(move || {
        raw.write_all(&unhex(ANSWER)).expect("it is read");
        raw.write_all(&[1]).expect("it is read");
        let mut hello_and_login = vec![0; unhex(HELLO).len() + 12];
        raw.read_exact(&mut hello_and_login).expect("it is written");
        let mut run = [0; 27];
        raw.read_exact(&mut run).expect("it is written");
        raw.write_all(b"\x01\0\0\0\0\0\0\xf0\x3f")
            .expect("it is read");
    });
    let writes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&writes);
    let connected = connected(Hooked {
        socket: Socket::of(socket.into()),
        hook: move || {
            counted.fetch_add(1, SeqCst);
        },
    });
    let before = writes.load(SeqCst);
    let connected = connected.deposit(1.0).expect("it is open");
    let connected = connected.deposit(2.0).expect("it is open");
    let waiting = connected.withdrawal(1.0).expect("it is open");
    // To leave takes another one.
    let _connected = waiting.recv().expect("there is money");
    let count = writes.load(SeqCst) - before;
    answering.join().expect("it does not panic");
    count
}

#[test]
fn a_run_is_one_write() {
    // A thread that is interrupted for milliseconds within the run has its first messages written by another one.
    let counts: Vec<usize> = (0..50).map(|_| writes_of_a_run()).collect();
    assert!(counts.contains(&1), "{counts:?}");
}

/// Another thread reads a stream without a descriptor. The waits of this one end nevertheless.
#[test]
fn waits_are_limited_though_another_thread_reads() -> Result<(), Closed> {
    let [socket, other] = socket_pair();
    let stream = Hooked {
        socket,
        hook: || (),
    };
    let (mut server, client): (numbers::server::Stream, numbers::client::Stream) =
        over(&Connector::new(), other, stream);
    let (mut local, say) = numbers::init();
    // Later, so that the first side is waited for as well.
    let saying = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        say.send(1)
    });
    let mut select = Select::new();
    let _read_by_a_thread = select.add(&mut server);
    let ready = select.add(&mut local);
    assert_eq!(select.ready(), Ok(ready));
    drop(select);
    let (done, is_done) = mpsc::channel();
    let waiting = thread::spawn(move || {
        let Err(TryRecvError::Empty(server)) = server.try_recv() else {
            panic!("nothing was sent")
        };
        let limit = Duration::from_millis(20);
        let Err(TryRecvError::Empty(server)) = server.recv_timeout(limit) else {
            panic!("nothing was sent")
        };
        done.send(()).expect("it is awaited");
        let numbers::Stream::Send(number, _) = server.recv()?;
        Ok::<u64, Closed>(number)
    });
    is_done.recv_timeout(LONG).expect("the waits have an end");
    let client = client.send(7)?;
    drop(client);
    assert_eq!(waiting.join().expect("no panic")?, 7);
    drop((local, saying.join().expect("no panic")?));
    Ok(())
}

/// A peer that accepts, and then says without end that it is there.
struct Chatty(Mutex<usize>);

impl Stream for Chatty {
    fn read(&self, to: &mut [u8], _: Option<Instant>) -> io::Result<usize> {
        let answer = unhex(ANSWER);
        let mut at = self.0.lock().expect("no panic");
        for byte in &mut *to {
            let after = at.wrapping_sub(answer.len()) % 2;
            *byte = answer.get(*at).copied().unwrap_or(after as u8);
            *at += 1;
        }
        Ok(to.len())
    }

    fn write(&self, bytes: &[u8], _: Option<Instant>) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn close(&self) {}
}

#[test]
fn waits_are_limited_though_signs_of_life_arrive() -> Result<(), Closed> {
    let login: client::Login = Connector::new()
        .connect_over(Chatty(Mutex::new(0)))
        .expect("it is accepted");
    let waiting = login.login("holk".into(), "1234".into())?;
    let Err(TryRecvError::Empty(waiting)) = waiting.try_recv() else {
        panic!("there is no answer")
    };
    let Err(TryRecvError::Empty(waiting)) = waiting.recv_timeout(Duration::from_millis(20)) else {
        panic!("there is no answer")
    };
    drop(waiting);
    Ok(())
}
