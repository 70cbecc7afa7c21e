//! The protocol with which clients ask a server about its health: the runtimes contain what the compiler generates for it.

use crate::support::program::{Scratch, run};
use crate::support::repository;
use std::fs;

/// The folder of the generated files in a runtime, and the options of the command that wrote them.
const GENERATED: &[(&str, &str)] = &[
    ("runtime/rust/net/src/health/protocol", "--rust"),
    ("runtime/c/src/health", "--c-prefix duologue_ --c"),
    (
        "runtime/scala/net/src/main/scala",
        "--scala-package duologue.net.healthprotocol --scala",
    ),
];

#[test]
fn the_runtimes_contain_what_the_compiler_generates() {
    let scratch = Scratch::new("health");
    let proto = repository().join("runtime/health.proto");
    let proto = fs::read_to_string(proto).expect("the protocol is there");
    scratch.write("health.proto", proto);
    for (folder, options) in GENERATED {
        let folder = repository().join(folder);
        let folder = folder.display();
        let command = format!("gen health.proto --remote --check {options} {folder}");
        let checked = run(scratch.duologue(&command), b"");
        let printed = String::from_utf8_lossy(&checked.stdout);
        assert!(
            checked.status.success(),
            "to update it: duologue gen runtime/health.proto --remote {options} {folder}\n{printed}"
        );
    }
}
