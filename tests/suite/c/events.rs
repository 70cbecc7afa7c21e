//! Endpoints in any state, and callbacks: `--c-events`. Names as texts are tested there too.

use super::{generate_with, quiet};
use crate::support::c::{Compiler, Program, Watch, runtime, scratch, sources_in};
use crate::support::{repository, succeed};
use std::path::PathBuf;
use std::process::Command;

/// The test's protocol, compiled with a small ring, so that its unbounded run fills it.
fn desk(name: &str) -> PathBuf {
    let proto = repository().join("tests/events/events.proto");
    generate_with(name, &[proto], &["--c-events", "--c-ring", "2048"])
}

#[test]
fn a_loop_that_knows_no_state_serves_sessions() {
    let generated = desk("events");
    let program = repository().join("tests/events/desk.c");
    let sources = [sources_in(&generated), vec![program]].concat();
    let includes = [generated.clone(), runtime().join("tests")];
    for watch in [Watch::Address, Watch::Thread] {
        if let Err(complaint) = quiet(watch, &sources, &includes, &generated).run() {
            panic!("{watch:?}:\n{complaint}");
        }
    }
}

/// `duologue.hpp`: endpoints and messages that are closed and freed by their destructors; in C++20 also its spans.
#[test]
fn scopes_of_cpp_close_and_free() {
    let generated = desk("events-cpp");
    let main = repository().join("tests/events/desk.cpp");
    let sources = sources_in(&generated);
    let includes = [generated.clone()];
    for compiler in Compiler::all() {
        let library = Program {
            compiler,
            ..quiet(Watch::Address, &sources, &includes, &generated)
        };
        let objects = library
            .objects()
            .unwrap_or_else(|complaint| panic!("{complaint}"));
        for standard in ["-std=c++17", "-std=c++20"] {
            let folder = scratch(&format!("events-{standard}-{compiler:?}"));
            let program = Program {
                compiler,
                objects: &objects,
                flags: &[standard],
                ..quiet(
                    Watch::Address,
                    std::slice::from_ref(&main),
                    &includes,
                    &folder,
                )
            };
            if let Err(complaint) = program.run() {
                panic!("{compiler:?} {standard}:\n{complaint}");
            }
        }
    }
}

/// A program that includes the header and does not use it has the same code as one that does not include it.
#[test]
fn callbacks_that_are_not_used_cost_nothing() {
    let generated = desk("events-unused");
    let folder = scratch("events-unused-code");
    let code = |header: &str| {
        let source = folder.join("main.c");
        let text = format!(
            "#include \"{header}\"\n\nduo_status leave(desk_client_asking_t client);\n\n\
             duo_status leave(desk_client_asking_t client)\n{{\n    return desk_client_asking_send_bye(client);\n}}\n"
        );
        std::fs::write(&source, text).expect("it can be written");
        let object = folder.join("main.o");
        let mut compile = Compiler::Gcc.strict(false);
        compile
            .args(["-Os", "-c"])
            .arg(&source)
            .arg("-o")
            .arg(&object);
        compile.arg("-I").arg(runtime().join("include"));
        compile.arg("-I").arg(&generated);
        succeed(&mut compile).unwrap_or_else(|complaint| panic!("{complaint}"));
        let mut dump = Command::new("objdump");
        let code = succeed(dump.args(["-d", "-r", "--no-show-raw-insn"]).arg(&object));
        code.expect("objdump comes with gcc")
    };
    let with = code("desk_events.h");
    assert!(with.contains("<leave>"), "{with}");
    assert_eq!(code("desk.h"), with);
}

/// Callbacks and conversions are as strict as everything else: each of these lines is rejected, and without it the program compiles.
#[test]
fn callbacks_that_are_wrong_do_not_compile() {
    let generated = desk("events-misuse");
    let folder = scratch("events-misused");
    let lines = [
        // A callback of another message.
        ("handlers.asking.bye = asked;", "incompatible pointer type"),
        // A callback that returns an endpoint in a certain state.
        (
            "handlers.asking.ask = certain;",
            "incompatible pointer type",
        ),
        // A message that does not arrive in this state.
        ("handlers.asking.answer = asked;", "has no member named"),
        // The other side.
        (
            "any = desk_client_asking_any(asking);",
            "incompatible type for argument 1",
        ),
        ("any = asking;", "incompatible types when assigning"),
        (
            "status = desk_client_dispatch(&any, 0, NULL, NULL);",
            "incompatible pointer type",
        ),
        // An endpoint in a state that may not be the present one.
        ("asking = any;", "incompatible types when assigning"),
        (
            "desk_server_asking_from(any, &asking);",
            "ignoring return value",
        ),
        // A table in which the last callback of a state is forgotten.
        (
            "desk_server_handlers_t other = {{asked, NULL, NULL, NULL, NULL}, NULL, NULL}; handlers = other;",
            "missing initializer for field 'bye'",
        ),
    ];
    let wrong = lines
        .into_iter()
        .enumerate()
        .map(|(number, (line, reason))| {
            let source = folder.join(format!("{number}.c"));
            let line = format!("\n#ifndef RIGHT\n{line}\n#endif\n");
            std::fs::write(&source, MISUSE.replace("HERE", &line)).expect("it can be written");
            (source, reason.to_owned())
        });
    super::check_misuse(&generated, &wrong.collect::<Vec<_>>());
}

const MISUSE: &str = r#"
#include "desk_events.h"

desk_server_any_t asked(duo_str question, uint64_t number, desk_server_answering_t next, void *context);
desk_server_asking_t certain(duo_str question, uint64_t number, desk_server_answering_t next, void *context);
duo_status misuse(desk_server_asking_t asking, desk_server_handlers_t handlers);

duo_status misuse(desk_server_asking_t asking, desk_server_handlers_t handlers)
{
    duo_status status = DUO_OK;
    desk_server_any_t any = desk_server_asking_any(asking);
    HERE
    if (status == DUO_OK) status = desk_server_dispatch(&any, DUO_FOREVER, &handlers, NULL);
    return status;
}
"#;
