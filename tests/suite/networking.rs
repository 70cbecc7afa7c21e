//! The tutorial in `docs/networking.md`: its files and commands, in a folder of their own.

#![cfg(target_os = "linux")]

use crate::scala::net;
use crate::support::program::{Scratch, path_with_compiler};
use crate::support::running::Running;
use crate::support::scala::sources_in;
use crate::support::{is_tested, repository, succeed};
use std::fs;
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
        let comment = before.rsplit('\n').next().unwrap_or_default();
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

/// Replaces the lines with `-` by those with `+`.
fn edit(text: &str, difference: &str) -> String {
    let with = |sign: char| -> String {
        let lines = difference.lines();
        let lines = lines.filter_map(|line| line.strip_prefix(sign));
        lines.map(|line| format!("{line}\n")).collect()
    };
    assert!(text.contains(&with('-')), "nothing to edit in:\n{text}");
    text.replace(&with('-'), &with('+'))
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

#[test]
fn the_tutorial_is_what_happens() {
    if !is_tested("rust") || !is_tested("c") {
        return;
    }
    let page = repository().join("docs/networking.md");
    let page = fs::read_to_string(page).expect("the page is there");
    // The repository is next to the folder of the tutorial.
    let outer = Scratch::new("networking");
    std::os::unix::fs::symlink(repository(), outer.path("duologue")).expect("a link can be made");
    let scratch = Scratch::new("networking/game");
    let lock = fs::read(repository().join("Cargo.lock")).expect("the lock file is there");
    scratch.write("server/Cargo.lock", lock);
    let blocks = blocks(&page);
    let expected = |at: usize| blocks.get(at + 1).map_or("", |block| block.text);
    let mut server = None;
    let mut games = 0;
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
                if block.text.contains("unix:game.sock") {
                    assert!(printed.ends_with(expected(at)), "{printed}");
                    games += 1;
                }
            }
            _ if block.text.contains("sbt \"runMain ") && is_tested("scala") => {
                let sources = sources_in(&scratch.path("scala/src"));
                let mut words = block.text.split_whitespace();
                let main = words.find(|word| *word == "\"runMain").and(words.next());
                let main = main.expect("the block names a program");
                let mut player = net::program(&sources, &scratch.path("classes"), main);
                let address = "unix:game.sock";
                let printed = succeed(player.arg(address).current_dir(scratch.path("")));
                let printed = printed.unwrap_or_else(|failure| panic!("{failure}"));
                assert_eq!(printed, expected(at));
                games += 1;
            }
            _ => {}
        }
    }
    assert!(server.is_some(), "the page starts a server");
    assert!(
        games >= 4,
        "the page plays games, and asks for the server's health"
    );
}
