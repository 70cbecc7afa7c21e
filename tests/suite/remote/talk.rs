//! `duologue talk --connect`: the command line as the client of a server in another process, and what it says of peers that are wrong.

use super::programs::Language;
use super::{Sockets, cases, expected, unix};
use crate::support::program::{Scratch, run};
use crate::support::repository;
use crate::support::running::Running;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Output;
use std::thread;

/// The file of a case, and the protocol or instance in it.
fn protocol(case: &str) -> String {
    let file = match case {
        "seller" => "negotiation.proto#seller",
        "future" | "future_broken" => "future.proto#future_text",
        "oneshot" => "oneshot.proto#oneshot_bytes",
        "relay" => "relay.proto#relay_text",
        "stream" => "stream.proto#numbers",
        "word_count" => "word_count.proto#word_count",
        other => return format!("{}/{other}.proto", repository().join("protocols").display()),
    };
    format!("{}/{file}", repository().join("protocols").display())
}

fn play_with(language: Language) {
    let scratch = Scratch::new(&format!("talk-with-{}", language.name()));
    // The transcript of `long_words` has the sizes of words instead of the words.
    for case in cases().into_iter().filter(|case| case != "long_words") {
        let sockets = Sockets::new();
        let address = unix(&sockets.path("s"));
        let mut server = Running::start(language.command().args(["server", &case, &address]));
        let listening = server.line();
        assert!(listening.starts_with("listening "), "{case}: {listening}");
        let script = repository().join(format!("tests/run/{case}/expected.txt"));
        let transcript = fs::read_to_string(&script).expect("every case has a transcript");
        let mut command = scratch.duologue("talk --connect");
        command.arg(&address).arg("--script").arg(&script);
        command.arg(protocol(&case));
        let output = run(command, b"");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case}: {errors}");
        assert_eq!(output.stdout, transcript.as_bytes(), "{case}");
        let outcome = server.end();
        assert_eq!(outcome.code, Some(0), "{case}: {}", outcome.errors);
        assert_eq!(outcome.lines, expected(&case, "server"), "{case}");
    }
}

#[test]
fn the_command_line_is_a_client_of_rust() {
    play_with(Language::Rust);
}

#[test]
fn the_command_line_is_a_client_of_c() {
    play_with(Language::C);
}

/// The answer of a server that begins a session of the bank.
fn accepted() -> Vec<u8> {
    let mut answer = b"duologue\x01\x00\x1a\x00".to_vec();
    answer.extend([0; 16]);
    answer.extend(1_048_576_u32.to_le_bytes());
    answer.extend([0; 6]);
    answer
}

/// Lets `talk` play the client of a protocol with a server that answers `bytes` to the hello, and the rest to what follows. Returns what
/// the client has sent as well.
fn with_server(protocol: &str, bytes: Vec<u8>, then: Vec<u8>, lines: &str) -> (Output, Vec<u8>) {
    let sockets = Sockets::new();
    let scratch = Scratch::with("talk-hostile-peer", &[("p.proto", protocol)]);
    let path = sockets.path("s");
    let listener = UnixListener::bind(&path).expect("the folder is ours");
    let server = thread::spawn(move || serve(&listener, &bytes, &then));
    let mut command = scratch.duologue("talk p.proto --timeout 1 --connect");
    command.arg(unix(&path));
    let output = run(command, lines.as_bytes());
    (output, server.join().expect("the server does not panic"))
}

/// Returns what the client has sent after its hello.
fn serve(listener: &UnixListener, answer: &[u8], then: &[u8]) -> Vec<u8> {
    let (mut socket, _): (UnixStream, _) = listener.accept().expect("a client connects");
    let mut hello = [0; 12];
    socket.read_exact(&mut hello).expect("there is a hello");
    let mut rest = vec![0; usize::from(u16::from_le_bytes([hello[10], hello[11]]))];
    socket.read_exact(&mut rest).expect("the hello is complete");
    // A client that has ended reads nothing more.
    let _ = socket.write_all(answer);
    let mut sent = vec![0; 1024];
    let length = socket.read(&mut sent).unwrap_or(0);
    sent.truncate(length);
    let _ = socket.write_all(then);
    // Until the client closes the connection.
    let _ = socket.read_to_end(&mut sent);
    sent
}

const BANK: &str = include_str!("../../../protocols/bank.proto");
const LOGIN: &str = "login(\"holk\", \"1234\")\n";

#[test]
fn peers_that_are_wrong_are_reported_with_the_reason() {
    // The answer to the hello (`-` begins a session), what follows the login, the exit code, what the client sends last, and words of the report.
    let cases = [
        "485454502f312e3120343030 - 3 - the other side does not speak this format",
        "64756f6c6f6775650110040000000000 - 3 - does not serve this protocol",
        "64756f6c6f67756501120400f4010000 - 3 - the other side is full; try again in 500 ms",
        "64756f6c6f6775650163040000000000 - 3 - with verdict 99",
        "64756f6c6f6775650100ffff - 3 - malformed answer",
        "64756f6c6f67756501 - 3 - no answer in time",
        // A tag that the state does not have, a count that is too long, an unknown control frame.
        "- 09 3 000301 a message that its state does not have",
        "- 8100 3 000301 longer than necessary",
        "- 0009 3 000301 an unknown control frame",
        // Ends of the session, with and without a reason.
        "- 000300 0 - the server left early",
        "- 000302 3 - it says that this side was late",
        "- 000303 3 - larger than this side accepts",
        // It is alive, but sends no message.
        "- 00010001 3 000302 has sent nothing for 1 s",
        // The first message is read, and then nothing is left for the client to say.
        "- 01 0 000300 unfinished in the state `connected`",
        "- 0205 0 000300 unfinished in the state `login`",
    ];
    let bytes = |hex: &str| -> Vec<u8> {
        let digits = (0..hex.len() & !1).step_by(2);
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
        digits.map(byte).collect()
    };
    for case in cases {
        let [answer, then, code, last, words] = case.splitn(5, ' ').collect::<Vec<_>>()[..] else {
            panic!("{case}")
        };
        let answer = match answer {
            "-" => accepted(),
            refused => bytes(refused),
        };
        let (output, sent) = with_server(BANK, answer, bytes(then), LOGIN);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(words), "{words}: {errors}");
        assert_eq!(output.status.code(), code.parse().ok(), "{case}: {errors}");
        assert!(sent.ends_with(&bytes(last)), "{case}: {sent:?}");
    }
}

/// What `talk` says of a peer that sends the first message of a protocol, with this payload.
fn hear(protocol: &str, frames: &[u8]) -> Output {
    let bytes = [&accepted(), frames].concat();
    with_server(protocol, bytes, Vec::new(), "").0
}

#[test]
fn payloads_of_peers_are_checked_before_they_take_memory() {
    let nothing = "struct nothing {}\nproto! p { a:recv { x([[nothing]]) -> ! } }\n";
    // 300,000 lists of 65,535 items that take no bytes.
    let mut lists = vec![0xe0, 0xa7, 0x12];
    lists.extend([0xff, 0xff, 3].repeat(300_000));
    let mut frame = vec![1, 0xa3, 0xf7, 0x36];
    frame.extend(&lists);
    let deep = "enum tree { leaf, node([tree]) }\nproto! p { a:recv { x(tree) -> ! } }\n";
    let mut nested = vec![1, 0xd8, 0x04];
    nested.extend([1, 1].repeat(300));
    let bounded = "proto! p { a:recv { x(str<3>) -> ! } }\n";
    let text = "proto! p { a:recv { x(str) -> ! } }\n";
    for (protocol, frames, words) in [
        (nothing, &frame[..], "a payload has too many values"),
        (deep, &nested, "nested too deeply"),
        (bounded, b"\x01\x05\x04abcd", "longer than its bound"),
        (text, b"\x01\x02\x01\xff", "a text is not UTF-8"),
        (text, b"\x01\x03\x01aa", "bytes left over"),
        (text, b"\x01\x81\x80\x40", "larger than this side accepts"),
    ] {
        let output = hear(protocol, frames);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{words}: {errors}");
        assert!(errors.contains(words), "{words}: {errors}");
    }
    let output = hear(bounded, b"\x01\x04\x03abc");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"client <- x(\"abc\")\n");
}

#[test]
fn a_peer_that_differs_from_the_script_is_reported() {
    let script = format!("{LOGIN}client <- invalid\n");
    let (output, _) = with_server(BANK, accepted(), b"\x01".to_vec(), &script);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let words = "standard input:2:11: expected this, but the server did: client <- ok";
    assert!(errors.contains(words), "{errors}");
}
