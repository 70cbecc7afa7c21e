//! Values with a bound that are stored inline: `--c-inline-bounds`. Devices with such values are in `firmware`.

use super::driver::{ADDRESS, Build};
use super::processes::BARE;
use super::{SMALL, generate_with, quiet};
use crate::support::c::{Program, runtime, scratch, sources_in};
use crate::support::repository;
use std::path::PathBuf;

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
