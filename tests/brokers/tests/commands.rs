//! `duologue talk` and `duologue attack` over a NATS server. The test suite names the compiler in `DUOLOGUE_COMMAND`, and a bank in another language
//! in `DUOLOGUE_BANK`.
#![forbid(unsafe_code)]

use brokers::memory::until;
use brokers::nats::Server;
use brokers::process::{Process, bank_at};
use brokers::protocols::bank::client as bank_client;
use brokers::proxy::Proxy;
use duologue_net::connect;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The script in which a customer uses the bank.
fn script() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = folder.join("../run/bank/expected.txt");
    path.display().to_string()
}

/// Runs a command for the bank.
fn run(arguments: &[&str]) -> Output {
    let program = std::env::var_os("DUOLOGUE_COMMAND").expect("it names the compiler");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(program);
    command.arg(arguments[0]);
    command.arg(folder.join("../../protocols/bank.proto"));
    command.args(&arguments[1..]).stdin(Stdio::null());
    command.output().expect("the compiler was built")
}

/// What a command has printed, and its exit code.
fn printed(output: &Output) -> (String, Option<i32>) {
    let all = [&output.stdout[..], &output.stderr].concat();
    (
        String::from_utf8_lossy(&all).into_owned(),
        output.status.code(),
    )
}

/// Starts a bank in a process of its own, and waits until it serves. Through a proxy it has another address than its clients.
fn start(own: &str, address: &str) -> Process {
    let mut command = bank_at(own, env!("CARGO_BIN_EXE_teller"));
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let teller = Process::start(command);
    until("the bank to serve", || {
        connect::<bank_client::Login>(address).is_ok()
    });
    teller
}

fn talks(address: &str) {
    let output = run(&["talk", "--connect", address, "--script", &script()]);
    let expected = std::fs::read_to_string(script()).expect("it is there");
    assert!(output.status.success(), "{:?}", printed(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn a_bank_is_used_and_holds() {
    let server = Server::start();
    let address = server.address("bank");
    let (words, code) = printed(&run(&["talk", "--connect", &address, "--timeout", "5"]));
    assert_eq!(code, Some(3), "{words}");
    assert!(words.contains("no server has subscribed to"), "{words}");
    let _teller = start(&address, &address);
    talks(&address);
    // A line that says something else than the bank does.
    let folder = std::env::temp_dir().join(format!("duologue-talk-{}", std::process::id()));
    std::fs::write(&folder, "login(\"holk\", \"wrong\")\nclient <- ok\n").expect("it is ours");
    let path = folder.display().to_string();
    let (words, code) = printed(&run(&["talk", "--connect", &address, "--script", &path]));
    let _gone = std::fs::remove_file(&folder);
    assert_eq!(code, Some(1), "{words}");
    assert!(
        words.contains("expected this, but the server did: client <- invalid"),
        "{words}"
    );
    let kinds = "hello,frame,control,payload,turn,cut,end,legal,packet";
    let arguments = ["attack", "--connect", &address, "--script", &script()];
    let more = ["--only", kinds, "--format", "json"];
    let (words, code) = printed(&run(&[&arguments[..], &more].concat()));
    assert_eq!(code, Some(0), "{words}");
    assert!(words.contains("\"not_reached\":[]"), "{words}");
    for kind in kinds.split(',') {
        assert!(words.contains(&format!("\"{kind}\":")), "{kind}: {words}");
    }
    talks(&address);
}

/// A bank that does not say that something was lost, and one that gives another reason than it has.
#[test]
fn mistakes_of_a_bank_are_found() {
    let server = Server::start();
    let address = server.address("bank");
    type Change = fn(&mut [u8]);
    let flaws: [(&str, &str, Change); 2] = [
        ("packet", "observed  it does not do that in time", |bytes| {
            replace(bytes, b" 1\r\n\x06\r\n", b" 1\r\n\x09\r\n");
        }),
        (
            "control",
            "observed  it leaves with reason 0 (left)",
            |bytes| {
                replace(bytes, b"\x00\x03\x01\r\n", b"\x00\x03\x00\r\n");
            },
        ),
    ];
    for (kind, expected, change) in flaws {
        let proxy = Proxy::changing(server.port(), change).expect("a port is free");
        let own = format!("nats://127.0.0.1:{}/bank", proxy.port());
        let _teller = start(&own, &address);
        let arguments = ["attack", "--connect", &address, "--script", &script()];
        let more = ["--only", kind, "--findings", "1", "--timeout", "2"];
        let (words, code) = printed(&run(&[&arguments[..], &more].concat()));
        assert_eq!(code, Some(1), "{words}");
        assert!(words.contains(expected), "{words}");
    }
}

fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    for at in 0..bytes.len().saturating_sub(old.len() - 1) {
        let part = &mut bytes[at..at + old.len()];
        if part == old {
            part.copy_from_slice(new);
        }
    }
}

/// Users, tokens and prefixes are used, and passwords are not printed.
#[test]
fn a_user_logs_in() {
    let server = Server::with(
        "authorization { users: [
            { user: bank, password: deposit }
            { user: holk, password: secret, permissions: { publish: [\"duo.at.>\", \"duo.bank.*\"], subscribe: [\"duo.at.holk.>\"] } }
        ] }",
    );
    let talk = |login: &str, more: &[&str]| {
        let address = format!("nats://{login}{}/bank", server.host());
        let arguments = ["talk", "--connect", &address, "--timeout", "5"];
        printed(&run(&[&arguments[..], more].concat()))
    };
    for (login, more, expected) in [
        ("", &[][..], "Authorization Violation"),
        ("holk:wrong@", &[], "Authorization Violation"),
        (
            "holk:secret@",
            &[],
            "Permissions Violation for Subscription",
        ),
        (
            "holk:secret@",
            &["--nats-prefix", "holk"],
            "no server has subscribed to",
        ),
    ] {
        let (words, code) = talk(login, more);
        assert_eq!(code, Some(3), "{words}");
        assert!(words.contains(expected), "{words}");
        assert!(
            !words.contains("secret") && !words.contains("wrong"),
            "{words}"
        );
    }
    let (words, code) = printed(&run(&["talk", "--connect", "nats://127.0.0.1:4222"]));
    assert_eq!(code, Some(2), "{words}");
    assert!(
        words.contains("the name of the servers is missing"),
        "{words}"
    );
}
