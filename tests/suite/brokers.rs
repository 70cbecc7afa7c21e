//! Sessions over NATS, in the package `tests/brokers`. Nothing else compiles the client of NATS.

#[cfg(target_os = "linux")]
use crate::support::c::Watch;
use crate::support::program::Scratch;
use crate::support::{repository, succeed};
use duologue::talk::{Fate, Link, Packet, PacketKind, name_problem, process_of_side};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The tests that also use the bank in C.
const OVER_NATS: [&str; 10] = [
    "--features",
    "nats",
    "--test",
    "nats",
    "--test",
    "rejects",
    "--test",
    "soak",
    "--test",
    "discovery",
];

/// Runs tests of the package.
fn test(arguments: &[&str]) {
    test_with(arguments, None);
}

/// Runs tests of the package with a bank of another language.
fn test_with(arguments: &[&str], bank: Option<&Path>) {
    let bank = bank.map(|program| ("DUOLOGUE_BANK", program.as_os_str().to_owned()));
    test_in(arguments, bank.as_slice());
}

/// Runs tests of the package with these variables of the environment.
fn test_in(arguments: &[&str], variables: &[(&str, OsString)]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository());
    cargo.args(["test", "--quiet", "--locked", "--package", "brokers"]);
    cargo.args(arguments);
    cargo.envs(variables.iter().map(|(name, value)| (name, value)));
    let printed = succeed(&mut cargo).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{printed}");
}

fn require_nats() {
    let found = Command::new("nats-server").arg("--version").output();
    assert!(
        found.is_ok(),
        "nats-server is missing: apt-get install nats-server"
    );
}

#[test]
#[ignore = "with nats-server"]
fn sessions_over_nats() {
    require_nats();
    test(&OVER_NATS);
}

/// The same bank in C: its customers are in Rust and in C, and those in C also use the bank in Rust.
#[test]
#[ignore = "with nats-server"]
#[cfg(target_os = "linux")]
fn sessions_over_nats_in_c() {
    for watch in [Watch::Address, Watch::Thread] {
        let program = crate::c::nats_program(watch);
        test_with(&OVER_NATS, Some(&program));
    }
}

/// A rolling upgrade at three NATS servers, with servers and clients in the three languages.
#[test]
#[ignore = "with nats-server"]
#[cfg(target_os = "linux")]
fn a_rolling_upgrade_at_a_cluster_of_nats_servers() {
    let mut desks = Vec::new();
    let program = crate::c::desk_program();
    desks.push(("DUOLOGUE_DESK_C", program.into_os_string()));
    let command = crate::scala::desk_command().join("\n");
    desks.push(("DUOLOGUE_DESK_SCALA", command.into()));
    let arguments = [
        "--features",
        "nats",
        "--test",
        "cluster",
        "--",
        "--nocapture",
    ];
    test_in(&arguments, &desks);
}

/// What the command prints is what a server and a client need.
#[test]
#[ignore = "with nats-server"]
fn the_permissions_that_are_printed_are_those_that_are_needed() {
    let scratch = Scratch::with("permissions", &[]);
    let bank = repository().join("protocols/bank.proto");
    let mut print = scratch.duologue("nats-permissions");
    let printed = succeed(print.arg(bank).arg("--discoverable"))
        .unwrap_or_else(|failure| panic!("{failure}"));
    scratch.write("permissions.conf", printed);
    let file = scratch.path("permissions.conf").into_os_string();
    let arguments = ["--features", "nats", "--test", "permissions"];
    let mut variables = vec![("DUOLOGUE_PERMISSIONS", file)];
    #[cfg(target_os = "linux")]
    {
        let program = crate::c::nats_program(Watch::Plain).into_os_string();
        variables.push(("DUOLOGUE_BANK", program));
    }
    test_in(&arguments, &variables);
}

/// The lines of `tests/wire/brokers.txt` that begin with this word, each as the words after it.
fn lines(kind: &str) -> Vec<Vec<String>> {
    let path = repository().join("tests/wire/brokers.txt");
    let text = std::fs::read_to_string(path).expect("it is there");
    let words = text.lines().map(|line| line.split(' ').map(str::to_owned));
    let all = words.map(Iterator::collect::<Vec<_>>);
    let all = all.filter(|words| words[0] == kind);
    let all: Vec<Vec<String>> = all.map(|words| words[1..].to_vec()).collect();
    assert!(!all.is_empty(), "there is no {kind}");
    all
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = (0..text.trim_start_matches('-').len()).step_by(2);
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    digits.map(byte).collect()
}

/// The compiler reads and writes the messages of brokers as the runtimes do.
#[test]
fn messages_of_brokers_are_those_of_the_format() {
    for line in lines("packet") {
        let part = |key: &str| {
            let mut parts = line.iter().filter_map(|word| word.split_once('='));
            parts.find(|(name, _)| *name == key).expect("it is there").1
        };
        let number = |key| part(key).parse::<u64>().expect("a number");
        let message = unhex(&line[1]);
        let packet = Packet::decode(&message).expect("it is right");
        assert_eq!(packet.kind.word(), line[0]);
        assert_eq!(packet.number, number("number"), "{line:?}");
        assert_eq!(packet.received, number("received"), "{line:?}");
        assert_eq!(packet.read, number("read"), "{line:?}");
        assert_eq!(packet.window, number("window"), "{line:?}");
        assert_eq!(packet.bytes, unhex(part("bytes")), "{line:?}");
        assert_eq!(packet.encode(), message, "{line:?}");
    }
    for line in lines("bad") {
        assert_eq!(Packet::decode(&unhex(&line[1])), None, "{line:?}");
    }
    for line in lines("address") {
        assert_eq!(process_of_side(&line[0]), Some(&line[1][..]), "{line:?}");
    }
    for line in lines("bad_address") {
        assert_eq!(process_of_side(&line[0]), None, "{line:?}");
    }
    for line in lines("name") {
        assert_eq!(name_problem(&line[0]), None, "{line:?}");
    }
    for line in lines("bad_name") {
        assert!(name_problem(&line[0]).is_some(), "{line:?}");
    }
}

/// The address of a server's side, and what it sends first.
const SERVER: &str = "duo.at.s.00000000000000000000000000000001";

/// A session of the command line that a server has begun, with a credit of 1,000.
fn link() -> Link {
    let mut link = Link::new(
        "c",
        "00000000000000000000000000000002",
        "duo.bank.f".to_owned(),
    );
    link.open(b"hello");
    let sent = link.take_outgoing();
    assert_eq!((&sent[0].subject[..], sent.len()), ("duo.bank.f", 1));
    assert_eq!(sent[0].reply.as_deref(), Some(link.address()));
    assert_eq!(link.write(b"early", 1_000), 0, "nothing before the answer");
    link.arrived(&packet(PacketKind::Accept, 1, b"answer"), Some(SERVER));
    assert_eq!(link.peer(), Some(SERVER));
    link
}

fn packet(kind: PacketKind, number: u64, bytes: &[u8]) -> Packet {
    Packet {
        number,
        received: 1,
        window: 1_000,
        ..Packet::plain(kind, bytes)
    }
}

/// What a session publishes, by kind.
fn kinds(link: &mut Link) -> Vec<PacketKind> {
    let sent = link.take_outgoing();
    let kind = |body: &[u8]| Packet::decode(body).expect("it is right").kind;
    sent.iter().map(|message| kind(&message.body)).collect()
}

#[test]
fn a_session_of_the_command_line_keeps_the_order_and_the_credit() {
    let mut link = link();
    // 1,000 without what each message and the hello cost.
    assert_eq!(link.write(&[1; 2_000], 700), 700);
    assert_eq!(
        link.write(&[1; 2_000], 700),
        0,
        "less than a quarter is left"
    );
    let returned = Packet {
        read: 69 + 764,
        ..packet(PacketKind::Answer, 1, &[])
    };
    link.arrived(&returned, None);
    assert_eq!(link.write(&[1; 2_000], 5_000), 936);
    assert_eq!(kinds(&mut link), [PacketKind::Data, PacketKind::Data]);
    link.arrived(&packet(PacketKind::Data, 2, b" and more"), None);
    link.arrived(&packet(PacketKind::Data, 2, b"repeated"), None);
    let mut bytes = [0; 100];
    let count = link.read(&mut bytes);
    assert_eq!(&bytes[..count], b"answer and more");
    link.arrived(&packet(PacketKind::Ask, 2, &[]), None);
    assert_eq!(kinds(&mut link), [PacketKind::Answer]);
    // The second server that got the hello.
    let other = "duo.at.t.00000000000000000000000000000001";
    link.arrived(&packet(PacketKind::Accept, 1, b"answer"), Some(other));
    let sent = link.take_outgoing();
    assert_eq!(sent[0].subject, other);
    assert_eq!(link.fate(), None);
    link.arrived(&packet(PacketKind::End, 3, &[]), None);
    assert!(link.has_ended());
    link.forget();
    assert_eq!(kinds(&mut link), [PacketKind::End, PacketKind::Answer]);
}

#[test]
fn a_session_of_the_command_line_notices_losses() {
    let wrong = [
        packet(PacketKind::Data, 3, b"x"),
        packet(PacketKind::Data, 2, &[0; 17_000]),
        packet(PacketKind::Ask, 2, &[]),
        Packet {
            received: 2,
            ..packet(PacketKind::Answer, 1, &[])
        },
        Packet {
            read: 70,
            ..packet(PacketKind::Answer, 1, &[])
        },
    ];
    for packet in wrong {
        let mut link = link();
        link.arrived(&packet, None);
        assert_eq!(link.fate(), Some(Fate::Gap), "{packet:?}");
        assert_eq!(kinds(&mut link), [PacketKind::Lost]);
        // Until the other side has confirmed it, also later.
        assert_eq!(link.tick(), None);
        assert_eq!(kinds(&mut link), [PacketKind::Lost]);
    }
    let mut link = link();
    link.arrived(&Packet::plain(PacketKind::Lost, &[]), Some(SERVER));
    assert_eq!(link.fate(), Some(Fate::Lost));
    assert_eq!(kinds(&mut link), [PacketKind::Gone]);
    let mut link = self::link();
    assert_eq!(link.tick(), Some("s"));
    assert_eq!(kinds(&mut link), []);
    for _ in 0..3 {
        let _process = link.tick();
    }
    assert_eq!(link.fate(), Some(Fate::Silent));
}

/// `talk` and `attack` use and attack a bank in Rust, and one in C.
#[test]
#[ignore = "with nats-server"]
fn the_commands_use_and_attack_servers_over_nats() {
    require_nats();
    let tests = ["--features", "nats", "--test", "commands"];
    let command = ("DUOLOGUE_COMMAND", env!("CARGO_BIN_EXE_duologue").into());
    test_in(&tests, std::slice::from_ref(&command));
    #[cfg(target_os = "linux")]
    {
        let program = crate::c::nats_program(Watch::Address).into_os_string();
        test_in(&tests, &[command, ("DUOLOGUE_BANK", program)]);
    }
}

/// Faults at random, for as many seconds as `DUOLOGUE_SOAK_SECONDS` says, or 60: those that a broker in memory can have, and those of
/// a NATS server and the connections to it.
#[test]
#[ignore = "nightly: soak"]
fn sessions_over_brokers_with_faults_for_a_long_time() {
    require_nats();
    test(&["--test", "memory", "--", "--nocapture", "soak"]);
    let tests = ["--features", "nats", "--test", "soak", "--", "--nocapture"];
    let program = cfg!(target_os = "linux").then(|| crate::c::nats_program(Watch::Address));
    test_with(&tests, program.as_deref());
}
