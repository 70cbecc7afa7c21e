//! The pages that are followed step by step, `docs/first-protocol.md` and then `docs/networking.md`: their files and commands, in an
//! empty folder.

#![cfg(target_os = "linux")]

use crate::scala::net;
use crate::support::program::{Scratch, path_with_compiler};
use crate::support::running::Running;
use crate::support::scala::{Scala, sources_in, tool};
use crate::support::steps::{blocks, edit, with_outputs};
use crate::support::{repository, succeed};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

fn page(name: &str) -> String {
    let page = repository().join("docs").join(name);
    fs::read_to_string(page).expect("the page is there")
}

/// A command of a page. Git fetches this repository, as it was committed, instead of the one at its address; what is installed is in
/// `installed`; and Cargo fetches nothing.
fn shell(scratch: &Scratch, commands: &str) -> Command {
    let installed = scratch.path("../installed");
    let path = std::env::var("PATH").expect("the tests have a PATH");
    let mut bash = Command::new("bash");
    bash.args([
        "-e",
        "-c",
        &format!("exec 2>&1; export LC_ALL=C.UTF-8; {commands}"),
    ])
    .current_dir(scratch.path(""))
    .env("PATH", format!("{}/bin:{path}", installed.display()))
    .env("GIT_CONFIG_COUNT", "1")
    .env(
        "GIT_CONFIG_KEY_0",
        format!("url.file://{}.insteadOf", repository().display()),
    )
    .env("GIT_CONFIG_VALUE_0", env!("CARGO_PKG_REPOSITORY"))
    .env("CARGO_INSTALL_ROOT", installed)
    .env("CARGO_NET_OFFLINE", "true")
    .env(
        "CARGO_TARGET_DIR",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("networking-target"),
    )
    .env_remove("RUSTFLAGS");
    bash
}

/// The program and the arguments of `sbt "runMain ..."`, if that is what the reader types.
fn arguments_of_sbt(command: &str) -> Option<impl Iterator<Item = &str>> {
    let (_, arguments) = command.split_once("$ cd scala && sbt \"runMain ")?;
    Some(arguments.trim_end().trim_end_matches('"').split(' '))
}

/// Compiles the programs in Scala, and runs the one that is named first in the folder of their build, as sbt does.
fn run_in_scala<'a>(scratch: &Scratch, mut arguments: impl Iterator<Item = &'a str>) -> String {
    let sources = sources_in(&scratch.path("scala/src"));
    let main = arguments.next().expect("the block names a program");
    let (path, out) = (net::class_path(Scala::Three), scratch.path("classes"));
    let compiled = Scala::Three.compile_with(&path, &sources, &out);
    compiled.unwrap_or_else(|failure| panic!("{failure}"));
    let mut program = tool("java");
    program.args(["-cp", &format!("{}:{path}", out.display()), main]);
    program.args(arguments).current_dir(scratch.path("scala"));
    succeed(&mut program).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Writes the project in Scala of the pages, with what is generated for it.
pub fn write_scala(scratch: &Scratch) {
    for page in [page("first-protocol.md"), page("networking.md")] {
        for block in blocks(&page) {
            let file = block
                .file
                .filter(|path| *path == "game.proto" || path.starts_with("scala/"));
            if let Some(path) = file {
                scratch.write(path, block.text);
            }
        }
    }
    let generate = "duologue gen game.proto --remote --scala scala/src/main/scala";
    assert!(page("networking.md").contains(&format!("\n{generate}\n")));
    let mut generate = shell(scratch, generate);
    succeed(generate.env("PATH", path_with_compiler()))
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// Somebody who does what a page says.
struct Reader {
    scratch: Scratch,
    server: Option<Running>,
}

impl Reader {
    /// Does everything on a page. Returns what its programs printed, as the page shows it.
    fn follow(&mut self, page: &str) -> Vec<String> {
        let mut undone = None;
        let mut shown = Vec::new();
        for (block, expected) in with_outputs(&blocks(page)) {
            let scratch = &self.scratch;
            if let Some(path) = block.file {
                // The scratch folder is below the repository's workspace; a reader's is not.
                let more = match path.ends_with("Cargo.toml") {
                    true => "\n[workspace]\n",
                    false => "",
                };
                scratch.write(path, format!("{}{more}", block.text));
            }
            match block.what.split_once(": ").unwrap_or((block.what, "")) {
                (kind @ ("edit" | "mistake"), path) => {
                    let old = scratch.read(path);
                    scratch.write(path, edit(&old, block.text));
                    undone = (kind == "mistake").then_some((path, old));
                }
                ("serve", _) => {
                    // A server that still runs has the address.
                    self.server = None;
                    let mut server = shell(scratch, &format!("exec {}", block.text));
                    let mut server = Running::start(&mut server);
                    let line = loop {
                        let line = server.line();
                        assert!(!line.is_empty(), "{} ends", block.text);
                        if line.starts_with("listening") {
                            break line;
                        }
                    };
                    assert_eq!(line, expected.trim_end());
                    self.server = Some(server);
                }
                ("run", _) => {
                    let printed = succeed(&mut shell(scratch, block.text));
                    let printed = printed.unwrap_or_else(|failure| panic!("{failure}"));
                    assert!(printed.ends_with(expected), "{printed}");
                    shown.push(expected.to_owned());
                }
                ("fails", _) => {
                    let printed = succeed(&mut shell(scratch, block.text)).expect_err(block.text);
                    assert!(printed.contains(expected), "{printed}");
                    let (path, old) = undone.take().expect("a mistake was made");
                    scratch.write(path, old);
                }
                _ => {
                    if let Some(arguments) = arguments_of_sbt(block.text) {
                        assert_eq!(run_in_scala(scratch, arguments), expected);
                        shown.push(expected.to_owned());
                    }
                }
            }
        }
        shown.retain(|text| !text.is_empty());
        shown
    }
}

#[test]
#[ignore = "nightly: recipes"]
fn what_the_pages_say_happens() {
    // The page's port may be in use here.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let free = free.expect("a port is free").port();
    let _outer = Scratch::new("networking");
    let mut reader = Reader {
        scratch: Scratch::new("networking/empty"),
        server: None,
    };
    let first = reader.follow(&page("first-protocol.md"));
    assert_eq!(
        first.last().map(String::as_str),
        Some("C found 42 with 7 guesses\n")
    );
    let then = reader.follow(&page("networking.md").replace(":7000", &format!(":{free}")));
    let game = |language| format!("{language} found 42 with 7 guesses\n");
    let mut all = vec![game("Scala"), "Serving\n".to_owned()];
    all.push("the protocol is not served there\n".to_owned());
    all.push(game("C"));
    assert_eq!(then, all);
}
