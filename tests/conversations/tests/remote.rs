//! Sessions over sockets: every case of `tests/run` that can leave the process, and how sessions end.

use conversations::protocols::bank::{Connected, Login, LoginResponse, client, server};
use conversations::sockets::{listener, log_in, pair, path, serving, unhex};
use conversations::{case_test, protocols, remote_cases, why};
use duologue::{Closed, Why};
use duologue_net::{Error, Listener, Verdict};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

macro_rules! cases {
    ($($case:ident: $($protocol:ident)::+ $state:ident,)*) => {$(
        case_test!(
            $case,
            pair::<protocols::$($protocol)::+::server::$state, protocols::$($protocol)::+::client::$state>(stringify!($case))
        );
    )*};
}

remote_cases!(cases);

#[test]
fn a_side_that_is_dropped_has_left() {
    let (server, client): (server::Login, client::Login) = pair("left");
    drop(server);
    assert_eq!(why(log_in(client)), Why::Left);
}

#[test]
fn the_wrong_side_is_refused() {
    let (mut listener, address) = listener("wrong");
    listener.serve(|_: server::Login| {});
    let refused = serving(listener, || {
        duologue_net::connect::<server::Login>(&address)
    });
    let verdict = Verdict::SameSide;
    assert!(matches!(refused, Err(Error::Refused { verdict: of, .. }) if of == verdict));
}

/// The lines of `session whole` in `tests/wire/streams.txt`: whether the client writes it, and the bytes.
pub fn whole() -> Vec<(bool, Vec<u8>)> {
    let text = include_str!("../../wire/streams.txt");
    let lines = text.split("session whole\n").nth(1).expect("it is there");
    let lines = lines.lines().take_while(|line| !line.is_empty());
    let line = |line: &str| {
        let mut words = line.split(' ');
        let is_client = words.next() == Some(">");
        (is_client, unhex(words.next().unwrap_or_default()))
    };
    lines.map(line).collect()
}

/// Plays one side by hand and byte by byte, up to this many bytes of it, and compares what the other writes.
fn play(mut raw: UnixStream, is_client: bool, mut limit: usize) {
    for (of_client, bytes) in whole() {
        if of_client == is_client {
            let count = bytes.len().min(limit);
            for byte in &bytes[..count] {
                raw.write_all(&[*byte]).expect("it is read");
            }
            limit -= count;
            if limit == 0 {
                return;
            }
        } else {
            let mut read = vec![0; bytes.len()];
            raw.read_exact(&mut read).expect("it is written");
            assert_eq!(read, bytes);
        }
    }
    let mut rest = Vec::new();
    raw.read_to_end(&mut rest).expect("it ends");
    assert_eq!(rest, [0; 0]);
}

/// Serves one session as in the vectors, and returns why it was closed.
fn teller(mut login: server::Login) -> Result<(), Closed> {
    let mut connected = loop {
        let Login::Login { password, next, .. } = login.recv()?;
        match password == "1234" {
            true => break next.ok()?,
            false => login = next.invalid()?,
        }
    };
    loop {
        connected = match connected.recv()? {
            Connected::Deposit(_, next) => next,
            Connected::Withdrawal { amount, next } if amount < 100.0 => next.money(amount)?,
            Connected::Withdrawal { next, .. } => next.insufficient_funds()?,
            Connected::Quit => return Ok(()),
        };
    }
}

/// A client that is cut off after any byte is lost, and never holds its server up.
#[test]
fn a_session_that_is_cut_is_lost() {
    let length = whole().into_iter().filter(|(of_client, _)| *of_client);
    let length: usize = length.map(|(_, bytes)| bytes.len()).sum();
    let hello = whole()[0].1.len();
    // A client that is gone before it has its answer has no session.
    for cut in hello + 1..=length {
        let path = path("cut");
        let mut listener = Listener::bind(&format!("unix:{}", path.display())).expect("free");
        let raw = UnixStream::connect(&path).expect("it listens");
        let raw = thread::spawn(move || play(raw, true, cut));
        let outcome = teller(listener.accept().expect("the hello is whole"));
        let ended = outcome.map_err(|closed| closed.why());
        let expected = if cut < length { Err(Why::Lost) } else { Ok(()) };
        assert_eq!(ended, expected, "after {cut} bytes");
        raw.join().expect("it does not panic");
    }
}

/// A connection that is reset, because the client is gone and has not read everything.
#[test]
fn a_session_that_is_reset_is_lost() {
    let mut listener = Listener::bind("tcp://127.0.0.1:0").expect("a port is free");
    let address = listener.address().to_string();
    let address = address.strip_prefix("tcp://").expect("it is TCP");
    let mut raw = TcpStream::connect(address).expect("it listens");
    raw.write_all(&whole()[0].1).expect("it is read");
    raw.write_all(&whole()[2].1).expect("it is read");
    let serving = thread::spawn(move || teller(listener.accept().expect("the hello is whole")));
    raw.read_exact(&mut [0; 38]).expect("it is accepted");
    raw.peek(&mut [0]).expect("the login is answered");
    drop(raw);
    assert_eq!(why(serving.join().expect("no panic")), Why::Lost);
}

/// The client writes exactly the bytes of the vectors.
#[test]
fn the_bytes_are_those_of_the_vectors() {
    let path = path("bytes");
    let _stale = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("free");
    let raw = thread::spawn(move || {
        let (raw, _) = listener.accept().expect("it connects");
        play(raw, false, usize::MAX);
    });
    let login: client::Login =
        duologue_net::connect(&format!("unix:{}", path.display())).expect("it is accepted");
    let waiting = login.login("holk".into(), "wrong".into());
    let Ok(LoginResponse::Invalid(login)) = waiting.expect("it is open").recv() else {
        panic!("it is invalid")
    };
    let Ok(LoginResponse::Ok(connected)) = log_in(login) else {
        panic!("it is ok")
    };
    let connected = connected.deposit(100.0).expect("it is connected");
    let response = connected.withdrawal(30.0).expect("it is connected");
    let Ok(protocols::bank::WithdrawalResponse::Money(30.0, connected)) = response.recv() else {
        panic!("there is money")
    };
    let response = connected.withdrawal(500.0).expect("it is connected");
    let Ok(protocols::bank::WithdrawalResponse::InsufficientFunds(connected)) = response.recv()
    else {
        panic!("there is no money")
    };
    connected.quit().expect("it is connected");
    raw.join().expect("it does not panic");
    let _removed = std::fs::remove_file(&path);
}

/// The program of `docs/targets/rust-sockets.md`.
#[test]
fn the_documented_program_runs() {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_over_sockets")).output();
    let run = run.expect("it can be started");
    assert!(run.status.success(), "{run:?}");
    assert!(run.stderr.is_empty(), "{run:?}");
}
