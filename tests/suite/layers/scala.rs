//! The layers of the Scala runtime and of its sessions over sockets. A file uses another one by naming a class, an object, a trait or a
//! type that is defined there at the top level, or in a package object. Functions of package objects are not taken into account.
//!
//! A new file of `runtime/scala/src/main` or `runtime/scala/net/src/main` goes into a layer below.

use super::listed::{Layer, Use, assert_none, circles, code, faults};
use crate::tidy::{files, relative, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const LIST: &str = "tests/suite/layers/scala.rs";

/// The folders of a package. What is in the second may use what is in the first.
const FOLDERS: [(&str, &str); 3] = [
    ("runtime/scala/src/main/java/duologue/", ""),
    ("runtime/scala/src/main/scala/duologue/", ""),
    ("runtime/scala/net/src/main/scala/duologue/net/", "net/"),
];

/// The folders of files with the names of a package. What is below has the package in its name, and what a layer lists has not.
const ROOMS: [&str; 10] = [
    "floor/",
    "wire/",
    "ring/",
    "link/",
    "core/",
    "typed/",
    "observe/",
    "many/",
    "transport/",
    "listen/",
];

/// The layers, from the lowest.
const LAYERS: &[Layer] = &[
    Layer {
        name: "floor",
        may_use: "",
        files: "Clock.java Doorbell.java FenceElision.java Padding.java Reason.java RecordFlag.java SessionNumber.java SharedFlags.java Tuples.scala U64.scala Utf8.java Waiter.java \
                strict/CanEqual.scala strict/Equality.scala",
    },
    Layer {
        name: "ring",
        may_use: "floor",
        files: "Segment.java",
    },
    Layer {
        name: "wire",
        may_use: "floor",
        files: "Ending.java Inbox.java MalformedPayload.java Outbox.java PayloadReader.java PayloadRefused.java PayloadWriter.java \
                SessionEvents.java Transport.java Wire.scala WireProtocol.java WireState.java",
    },
    // Also the far end of a session with another process, and the members of a set: see the first of the circles.
    Layer {
        name: "link",
        may_use: "floor ring wire",
        files: "Cursor.java EndpointPayload.java FarEnd.java FarEndLink.java FarEndWaiter.java Group.java Handle.java Lane.java Ownership.java \
                Pipe.java Ports.java Reaper.java Registered.java SenderQueue.java Side.java SideState.java SpinBudget.java Watch.java \
                YieldPolicy.java",
    },
    Layer {
        name: "typed",
        may_use: "floor wire link",
        files: "Endpoint.scala Handover.scala Recording.scala Registry.scala RegistryServer.scala \
                RegistrySnapshot.scala RegistryText.scala Role.scala Select.scala TimeLimit.scala Wait.scala Why.scala errors.scala",
    },
    Layer {
        name: "many",
        may_use: "floor wire link typed",
        files: "Duologue.scala PortSet.scala SharedSender.scala generated.scala package.scala",
    },
    Layer {
        name: "robots",
        may_use: "floor wire link typed many",
        files: "robots/Choices.scala robots/Coverage.scala robots/Ending.scala robots/Line.scala robots/Play.scala robots/Robot.scala \
                robots/Table.scala robots/Values.scala",
    },
    Layer {
        name: "net",
        may_use: "floor wire link typed many",
        files: "net/Accepting.scala net/Address.scala net/Buffers.scala net/ByteStream.scala net/Channel.scala \
                net/Connection.scala net/Dialogue.scala net/Handshake.scala net/Health.scala net/healthprotocol/health.scala \
                net/healthprotocol/healthTypes.scala net/Listener.scala net/Observer.scala net/Options.scala net/Peer.scala \
                net/Reactor.scala net/Reports.scala net/Secure.scala net/Selecting.scala net/Sessions.scala net/Silent.scala net/Sockets.scala \
                net/Tls.scala net/TraceContext.scala net/errors.scala net/package.scala",
    },
];

/// Files that use each other, and why they stay together.
const CIRCLES: &[(&[&str], &str)] = &[
    (
        &[
            "Cursor.java",
            "EndpointPayload.java",
            "FarEnd.java",
            "FarEndLink.java",
            "FarEndWaiter.java",
            "Handle.java",
            "Lane.java",
            "Ownership.java",
            "Pipe.java",
            "Ports.java",
            "Reaper.java",
            "Registered.java",
            "Side.java",
            "SideState.java",
            "SpinBudget.java",
            "Watch.java",
            "YieldPolicy.java",
        ],
        "the state of a side is one object: SideState inherits from Cursor, Lane, Ownership and Watch in turn, because that determines \
         the order of its fields in memory, and so which of them share a cache line",
    ),
    (
        &["Endpoint.scala", "Select.scala"],
        "`endpoint.on` makes a case of a select, which programs name `Select.Case`",
    ),
    (
        &[
            "Registry.scala",
            "RegistrySnapshot.scala",
            "RegistryText.scala",
        ],
        "what a snapshot consists of is part of `Registry`, by whose name programs find it",
    ),
    (
        &[
            "net/Channel.scala",
            "net/Connection.scala",
            "net/Reactor.scala",
        ],
        "a connection asks the reactor's thread to wait for its channel, and that thread calls the connection and lets go of a channel \
         that was closed",
    ),
    (
        &["net/Dialogue.scala", "net/Secure.scala"],
        "after a failed handshake of TLS the dialogue sends the alert; a handshake that is late fails like a dialogue",
    ),
];

/// The code of each file.
fn codes() -> BTreeMap<String, String> {
    let mut codes = BTreeMap::new();
    for (folder, prefix) in FOLDERS {
        for file in files(folder) {
            let mut name = relative(&file).replacen(folder, "", 1);
            for room in ROOMS {
                name = name.strip_prefix(room).unwrap_or(&name).to_owned();
            }
            let name = format!("{prefix}{name}");
            let text = fs::read_to_string(&file).expect("it can be read");
            codes.insert(name, code(&text));
        }
    }
    codes
}

/// The names of types that a file defines for other files. In a package object they are indented.
fn definitions(file: &str, code: &str) -> BTreeSet<String> {
    let kinds = [
        "class",
        "interface",
        "enum",
        "record",
        "object",
        "trait",
        "type",
    ];
    let indentation = if file.ends_with("package.scala") {
        "  "
    } else {
        ""
    };
    let lines = code.lines().filter_map(|line| {
        let line = line.strip_prefix(indentation)?;
        let is_indented = line.starts_with([' ', '*', '}']);
        let mut words = words(line).skip_while(|word| !kinds.contains(word)).skip(1);
        words.next().filter(|_| !is_indented).map(str::to_owned)
    });
    lines
        .filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))
        .collect()
}

/// The inner package of a file that other packages do not see; empty for all others.
fn package(file: &str) -> &str {
    match file.split_once('/') {
        Some((inner @ ("net" | "robots"), _)) => inner,
        _ => "",
    }
}

fn uses(codes: &BTreeMap<String, String>) -> Vec<Use> {
    let mut owners: BTreeMap<(&str, String), &str> = BTreeMap::new();
    for (file, code) in codes {
        for name in definitions(file, code) {
            owners.insert((package(file), name), file);
        }
    }
    let mut uses = Vec::new();
    for (file, code) in codes {
        let named: BTreeSet<&str> = words(code).collect();
        for name in named {
            // The names of an inner package hide those of `duologue`.
            let mut owner = [package(file), ""]
                .into_iter()
                .filter_map(|package| owners.get(&(package, name.to_owned())));
            let owner = owner.next().filter(|owner| **owner != file);
            uses.extend(owner.map(|owner| Use::new(file, name, owner)));
        }
    }
    uses
}

#[test]
fn no_file_of_the_scala_runtime_uses_a_higher_layer() {
    let codes = codes();
    let uses = uses(&codes);
    assert!(uses.len() > 150, "only {} uses are found", uses.len());
    let files = codes.keys().cloned().collect();
    assert_none(&faults(LAYERS, &files, &uses, LIST), LIST);
    for Use { file, name, of } in &uses {
        let is_java = of.ends_with(".java") || !file.ends_with(".java");
        assert!(
            is_java,
            "{file} uses {name} of {of}: a build may compile the sources in Java first"
        );
    }
    for (file, code) in codes.iter().filter(|(file, _)| !file.starts_with("net/")) {
        assert!(
            !code.contains("duologue.net"),
            "{file} uses `duologue.net`, which a program may not have"
        );
    }
}

#[test]
fn files_of_the_scala_runtime_use_each_other_only_where_it_is_listed() {
    assert_none(&circles(&uses(&codes()), CIRCLES), LIST);
}

#[test]
fn uses_of_classes_are_recognized() {
    let codes = [
        (
            "A.java",
            "package duologue;\nfinal class A {\n    private static final class Listener {}\n    B b;\n}\n",
        ),
        (
            "B.java",
            "public abstract class B extends Thread {\n    Listener ours;\n}\n",
        ),
        (
            "package.scala",
            "package object duologue {\n  type Bytes = Int\n  def of(a: A): Int = 0\n}\n",
        ),
        (
            "net/Listener.scala",
            "package duologue.net\nclass Listener(a: A, bytes: Bytes)\nobject Listener {\n  type Inner = Int\n}\n",
        ),
        (
            "net/Other.scala",
            "private[net] final case class Other(listener: Listener)\n",
        ),
    ];
    let codes = codes.map(|(file, code)| (file.to_owned(), code.to_owned()));
    let uses = uses(&BTreeMap::from(codes)).into_iter();
    let uses: Vec<String> = uses
        .map(|Use { file, name, of }| format!("{file} {name} {of}"))
        .collect();
    let expected = [
        "A.java B B.java",
        "net/Listener.scala A A.java",
        "net/Listener.scala Bytes package.scala",
        "net/Other.scala Listener net/Listener.scala",
        "package.scala A A.java",
    ];
    assert_eq!(uses, expected);
}
