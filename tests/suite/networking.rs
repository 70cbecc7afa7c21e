//! The tutorial in `docs/networking.md`: its files and commands, in a folder of their own.

#![cfg(target_os = "linux")]

use crate::scala::net;
use crate::support::program::{Scratch, path_with_compiler};
use crate::support::running::Running;
use crate::support::scala::{Scala, sources_in, tool};
use crate::support::{repository, succeed};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// A block of the page.
struct Block<'p> {
    /// What the comment before it says: `file: PATH`, `edit: PATH`, `run` or `serve`; empty without one.
    what: &'p str,
    text: &'p str,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut rest = page;
    let mut blocks = Vec::new();
    while let Some((before, after)) = rest.split_once("\n```") {
        let (_, block) = after.split_once('\n').expect("a block has lines");
        let (text, after) = block.split_once("```\n").expect("a block is closed");
        let comment = before.lines().next_back().unwrap_or_default();
        let what = comment
            .strip_prefix("<!-- ")
            .and_then(|text| text.strip_suffix(" -->"));
        blocks.push(Block {
            what: what.unwrap_or_default(),
            text,
        });
        rest = after;
    }
    blocks
}

fn page() -> String {
    let page = repository().join("docs/networking.md");
    fs::read_to_string(page).expect("the page is there")
}

/// Replaces the lines with `-` by those with `+`. Lines that begin with a space stay, and an empty line separates two places.
fn edit(text: &str, difference: &str) -> String {
    let mut text = text.to_owned();
    for place in difference.split("\n\n") {
        let with = |sign: char| -> String {
            let lines = place.lines();
            let lines = lines.filter_map(|line| line.strip_prefix([' ', sign]));
            lines.map(|line| format!("{line}\n")).collect()
        };
        let (old, new) = (with('-'), with('+'));
        assert_ne!(old, new, "nothing changes");
        assert_eq!(text.matches(&old).count(), 1, "{old} is once in:\n{text}");
        text = text.replace(&old, &new);
    }
    text
}

/// A command of the page, with the repository where the page has it and the compiler in `PATH`.
fn shell(scratch: &Scratch, commands: &str) -> Command {
    let mut bash = Command::new("bash");
    bash.args(["-e", "-c", &format!("exec 2>&1; {commands}")]);
    bash.current_dir(scratch.path(""))
        .env("PATH", path_with_compiler());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("networking-target");
    bash.env("CARGO_TARGET_DIR", target).env_remove("RUSTFLAGS");
    bash.env("CARGO_NET_OFFLINE", "true");
    bash
}

/// Builds and starts the server, and waits until it prints `expected`.
fn serve(scratch: &Scratch, command: &str, expected: &str) -> Running {
    let build = command.replace("cargo run", "cargo build --quiet");
    let (build, address) = build
        .trim_end()
        .rsplit_once(' ')
        .expect("it has an address");
    succeed(&mut shell(scratch, build)).unwrap_or_else(|failure| panic!("{failure}"));
    // Not through Cargo: the process that is killed later must be the server.
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("networking-target/debug/server");
    let mut server = Command::new(program);
    let mut server = Running::start(server.arg(address).current_dir(scratch.path("")));
    assert_eq!(server.line(), expected.trim_end());
    server
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

/// Writes the project in Scala of the tutorial, with what is generated for it.
pub fn write_scala(scratch: &Scratch) {
    let page = page();
    for block in blocks(&page) {
        match block.what.split_once(": ") {
            Some(("file", path)) if path == "game.proto" || path.starts_with("scala/") => {
                scratch.write(path, block.text);
            }
            _ => {}
        }
    }
    let generate = "duologue gen game.proto --remote --scala scala/src/main/scala";
    assert!(page.contains(" --scala scala/src/main/scala\n"));
    succeed(&mut shell(scratch, generate)).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
#[ignore = "slow: the tutorial"]
fn the_tutorial_is_what_happens() {
    // The page's port may be in use here.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let free = free.expect("a port is free").port();
    let page = page().replace(":7000", &format!(":{free}"));
    // The repository is next to the folder of the tutorial.
    let outer = Scratch::new("networking");
    std::os::unix::fs::symlink(repository(), outer.path("duologue")).expect("a link can be made");
    let scratch = Scratch::new("networking/game");
    let lock = fs::read(repository().join("Cargo.lock")).expect("the lock file is there");
    scratch.write("server/Cargo.lock", lock);
    let blocks = blocks(&page);
    let expected = |at: usize| blocks.get(at + 1).map_or("", |block| block.text);
    let mut server = None;
    let mut outputs = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        match block.what.split_once(": ").unwrap_or((block.what, "")) {
            // The scratch folder is below the repository's workspace; a reader's is not.
            ("file", path) if path.ends_with("Cargo.toml") => {
                scratch.write(path, format!("{}\n[workspace]\n", block.text));
            }
            ("file", path) => scratch.write(path, block.text),
            ("edit", path) => {
                let changed = edit(&scratch.read(path), block.text);
                scratch.write(path, changed);
            }
            ("serve", _) => server = Some(serve(&scratch, block.text, expected(at))),
            ("run", _) => {
                let printed = succeed(&mut shell(&scratch, block.text));
                let printed = printed.unwrap_or_else(|failure| panic!("{failure}"));
                let programs = ["./player", "./check", "--example check"];
                if programs.iter().any(|program| block.text.contains(program)) {
                    assert!(printed.ends_with(expected(at)), "{printed}");
                    outputs.push(expected(at));
                }
            }
            _ => {
                if let Some(arguments) = arguments_of_sbt(block.text) {
                    let printed = run_in_scala(&scratch, arguments);
                    assert_eq!(printed, expected(at));
                    outputs.push(expected(at));
                }
            }
        }
    }
    assert!(server.is_some(), "the page starts a server");
    let game = [
        "C found 42 with 7 guesses\n",
        "Scala found 42 with 7 guesses\n",
    ];
    let mut all = game.to_vec();
    all.extend(["Rust: Serving\n", "C: serving\n", "Scala: Serving\n"]);
    all.push("the protocol is not served there\n");
    all.extend(game);
    assert_eq!(outputs, all);
}
