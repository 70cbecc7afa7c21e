//! Values with a bound that are stored inline: `--c-inline-bounds`. Devices with such values are in `firmware`.

use super::driver::{ADDRESS, Build};
use super::processes::BARE;
use super::{SMALL, generate_with, quiet};
use crate::support::c::{Program, runtime, scratch, sources_in};
use crate::support::repository;
use std::path::PathBuf;
use std::process::Command;

fn proto() -> PathBuf {
    repository().join("tests/payloads/inline.proto")
}

#[test]
fn inline_values_arrive_or_are_refused() {
    arrive("inline", &[ADDRESS, SMALL]);
}

/// The same in these builds.
pub(super) fn arrive(name: &str, builds: &[Build]) {
    let generated = generate_with(name, &[proto()], &["--c-inline-bounds"]);
    let program = repository().join("tests/payloads/inline.c");
    let sources = [sources_in(&generated), vec![program]].concat();
    let includes = [generated.clone(), runtime().join("tests")];
    for build in builds {
        let program = Program {
            flags: build.flags,
            runtime: build.flags,
            ..quiet(build.watch, &sources, &includes, &generated)
        };
        if let Err(complaint) = program.run() {
            panic!("{build:?}:\n{complaint}");
        }
    }
}

/// Programs with inline values and programs with views exchange the same bytes.
#[cfg(target_os = "linux")]
#[test]
fn inline_values_leave_their_process() {
    leave("inline-processes", &[ADDRESS, BARE]);
}

/// The same in these builds.
#[cfg(target_os = "linux")]
pub(super) fn leave(name: &str, builds: &[Build]) {
    let folder = scratch(name);
    let remote = ["--c-shm", "--remote"];
    let prefixed = ["--c-inline-bounds", "--c-prefix", "in_"];
    let kinds = [("inline", &prefixed[..]), ("views", &[])];
    let mut sources = Vec::new();
    for (kind, options) in kinds {
        let options = [options, &remote].concat();
        let generated = generate_with(&format!("{name}/{kind}"), &[proto()], &options);
        sources.extend(sources_in(&generated));
    }
    let programs = repository().join("tests/processes");
    sources.extend(["inline.c", "views.c"].map(|program| programs.join(program)));
    let includes = [
        folder.clone(),
        programs,
        runtime().join("tests"),
        runtime().join("src"),
    ];
    for build in builds {
        let program = Program {
            flags: build.flags,
            runtime: build.flags,
            ..quiet(build.watch, &sources, &includes, &folder)
        };
        if let Err(complaint) = program.run() {
            panic!("{build:?}:\n{complaint}");
        }
    }
}

/// Messages, each with what `gen` reports about it; nothing if it needs no allocator.
const REPORTS: [(&str, &str); 9] = [
    (
        "ask(who: str, str<4>) -> !",
        "has text without a bound in `who`; without one, give it a bound, such as `str<32>` or `[u32; 10]`",
    ),
    (
        "ask(bytes<4>, many: [u8]) -> !",
        "has a list without a bound in `many`; without one, give it a bound, such as `str<32>` or `[u32; 10]`",
    ),
    (
        "ask([(str<4>, bytes)?; 3]) -> !",
        "has bytes without a bound in `value`; without one, give it a bound, such as `str<32>` or `[u32; 10]`",
    ),
    (
        "ask(wide) -> !",
        "has text of more than 65,535 bytes in field `text` of `wide`; without one, lower its bound",
    ),
    (
        "ask(tree) -> !",
        "has a list that is not stored inline in field `trees` of `tree`; without one, its items may take 65,535 bytes, and \
         contain neither values of their own type nor of the host",
    ),
    (
        "ask(items: [u64; 9000]) -> !",
        "has a list that is not stored inline in `items`; without one, its items may take 65,535 bytes, and contain \
         neither values of their own type nor of the host",
    ),
    (
        "ask(choice) -> !",
        "has text without a bound in `reason` of `choice`; without one, give it a bound, such as `str<32>` or `[u32; 10]`",
    ),
    (
        "ask(u8, held) -> !",
        "has values of the host type `held` in `held`; without one, send numbers, enums or structs of them",
    ),
    ("ask(str<8>, [alias; 2], u64?) -> !", ""),
];

const TYPES: &str = r#"
struct wide { short: str<8>, text: str<65536> }
struct tree { trees: [tree; 2] }
enum choice { yes, no(reason: str) }
type alias = str<3>;
extern type held { c = "struct held *" drop "held_drop"; }
"#;

/// The place that requires an allocator is named, in plain words.
#[test]
fn what_requires_an_allocator_is_noted() {
    let folder = scratch("inline-notes");
    let proto = folder.join("notes.proto");
    let notes = |text: String, options: &[&str]| {
        std::fs::write(&proto, &text).expect("it can be written");
        let mut generate = Command::new(env!("CARGO_BIN_EXE_duologue"));
        generate.arg("gen").arg(&proto).arg("--c").arg(&folder);
        let output = generate.args(options).output().expect("it runs");
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}\n{printed}");
        printed
    };
    let protocol = |message| format!("{TYPES}\nproto! wishes {{ begin:send {{ {message} }} }}\n");
    for (message, report) in REPORTS {
        let printed = notes(protocol(message), &["--c-inline-bounds"]);
        let start =
            "note C: sessions of `wishes` need an allocator: message `ask` of state `begin` ";
        let found = printed.lines().find_map(|line| line.strip_prefix(start));
        assert_eq!(found.unwrap_or_default(), report, "{message}\n{printed}");
    }
    // Without the option nothing is stored inline, and nothing is noted.
    for (message, _) in REPORTS {
        let printed = notes(protocol(message), &[]);
        assert!(!printed.contains("allocator"), "{printed}");
    }
}
