//! Sessions over sockets: every case of `tests/run` that can leave the process, and how sessions end.
#![forbid(unsafe_code)]

use conversations::protocols::bank::{Connected, Login, LoginResponse, client, server};
use conversations::{converse, protocols};
use duologue::Why;
use duologue_net::{Error, Listener, Verdict};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;

/// The path of a socket that no other test uses.
fn path(name: &str) -> PathBuf {
    let folder = std::env::temp_dir();
    folder.join(format!("duologue-{}-{name}.sock", std::process::id()))
}

/// Both endpoints of a session over a Unix socket.
fn pair<S, C>(name: &str) -> (S, C)
where
    S: duologue_net::Open,
    C: duologue_net::Open,
{
    let address = format!("unix:{}", path(name).display());
    let mut listener = Listener::bind(&address).expect("nobody else listens here");
    thread::scope(|scope| {
        let client = scope.spawn(|| duologue_net::connect(&address).expect("it is accepted"));
        let server = listener.accept().expect("it connects");
        (server, client.join().expect("it does not panic"))
    })
}

macro_rules! cases {
    ($($case:ident: $($protocol:ident)::+ $state:ident,)*) => {$(
        #[allow(missing_docs)]
        mod $case {
            pub mod client {
                include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../run/", stringify!($case), "/client.rs"));
            }
            pub mod server {
                include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../run/", stringify!($case), "/server.rs"));
            }
        }

        #[test]
        fn $case() {
            let expected =
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../run/", stringify!($case), "/expected.txt"));
            let session: (protocols::$($protocol)::+::server::$state, protocols::$($protocol)::+::client::$state) =
                pair(stringify!($case));
            converse(session, $case::server::run, $case::client::run, expected);
        }
    )*};
}

cases! {
    bank: bank Login,
    calculator: calculator Ready,
    file_server: acme::files::file_server Idle,
    pingpong: pingpong Ping,
    smtp: smtp Greeting,
    stream: numbers Stream,
    telemetry: telemetry Report,
    type_switch: type_switch Start,
    word_count: word_count Counting,
}

#[test]
fn a_side_that_is_dropped_has_left() {
    let (server, client): (server::Login, client::Login) = pair("left");
    drop(server);
    let error = client
        .login("holk".into(), "1234".into())
        .map(|end| end.recv());
    match error {
        Ok(Err(closed)) => assert_eq!(closed.why(), Why::Left),
        Err(error) => assert_eq!(error.closed().why(), Why::Left),
        Ok(Ok(_)) => panic!("nobody has answered"),
    }
}

#[test]
fn a_sender_that_is_dropped_has_left() {
    let (server, client): (server::Login, client::Login) = pair("sender");
    drop(client);
    assert_eq!(
        server.recv().map(drop).map_err(|closed| closed.why()),
        Err(Why::Left)
    );
}

#[test]
fn the_wrong_side_is_refused() {
    let address = format!("unix:{}", path("wrong").display());
    let mut listener = Listener::bind(&address).expect("nobody else listens here");
    let drain = listener.drain();
    let serving = thread::spawn(move || {
        listener.serve(|_: server::Login| {});
        listener.run()
    });
    let refused = duologue_net::connect::<server::Login>(&address);
    assert!(matches!(
        refused,
        Err(Error::Refused {
            verdict: Verdict::SameSide,
            ..
        })
    ));
    drain.begin();
    serving
        .join()
        .expect("it does not panic")
        .expect("it drains");
}

/// The bytes of `session whole` in `tests/wire/streams.txt`, as the two sides write them.
fn whole() -> (Vec<u8>, Vec<u8>) {
    let text = include_str!("../../wire/streams.txt");
    let lines = text.split("session whole\n").nth(1).expect("it is there");
    let (mut client, mut server) = (Vec::new(), Vec::new());
    for line in lines.lines().take_while(|line| !line.is_empty()) {
        let mut words = line.split(' ');
        let to = match words.next() {
            Some(">") => &mut client,
            _ => &mut server,
        };
        let hex = words.next().unwrap_or_default();
        let digits = (0..hex.len()).step_by(2);
        to.extend(digits.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")));
    }
    (client, server)
}

/// A client that was cut off after any byte is lost, and never holds its server up.
#[test]
fn a_session_that_is_cut_is_lost() {
    let (bytes, _) = whole();
    let hello = 44;
    for length in hello..bytes.len() {
        let path = path("cut");
        let mut listener = Listener::bind(&format!("unix:{}", path.display())).expect("free");
        let mut raw = UnixStream::connect(&path).expect("it listens");
        raw.write_all(&bytes[..length]).expect("it is read");
        raw.shutdown(std::net::Shutdown::Write).expect("it is open");
        let mut login: server::Login = listener.accept().expect("the hello is whole");
        let why = 'session: loop {
            let response = match login.recv() {
                Ok(Login::Login(_, password, response)) if password == "1234" => response,
                Ok(Login::Login(_, _, response)) => {
                    login = response.invalid().expect("the socket is open");
                    continue;
                }
                Err(closed) => break closed.why(),
            };
            let mut connected = response.ok().expect("the socket is open");
            loop {
                connected = match connected.recv() {
                    Ok(Connected::Deposit(_, next)) => next,
                    Ok(Connected::Withdrawal(money, response)) => {
                        response.money(money).expect("the socket is open")
                    }
                    Ok(Connected::Quit) => break 'session Why::Left,
                    Err(closed) => break 'session closed.why(),
                };
            }
        };
        assert_eq!(why, Why::Lost, "after {length} bytes");
    }
}

/// The client writes exactly the bytes of the vectors.
#[test]
fn the_bytes_are_those_of_the_vectors() {
    let (expected, answers) = whole();
    let path = path("bytes");
    let _stale = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("free");
    let raw = thread::spawn(move || {
        let (mut raw, _) = listener.accept().expect("it connects");
        raw.write_all(&answers).expect("it is read");
        let mut bytes = Vec::new();
        raw.read_to_end(&mut bytes).expect("it ends");
        bytes
    });
    let login: client::Login =
        duologue_net::connect(&format!("unix:{}", path.display())).expect("it is accepted");
    let Ok(Ok(LoginResponse::Invalid(login))) = login
        .login("holk".into(), "wrong".into())
        .map(|end| end.recv())
    else {
        panic!("it is invalid")
    };
    let Ok(Ok(LoginResponse::Ok(connected))) = login
        .login("holk".into(), "1234".into())
        .map(|end| end.recv())
    else {
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
    assert_eq!(raw.join().expect("it does not panic"), expected);
    let _removed = std::fs::remove_file(&path);
}
