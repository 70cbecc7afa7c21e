//! The compiler as WebAssembly, the playground, and the server of `duologue play`.

pub mod server;

use crate::support::program::{Scratch, run};
use crate::support::{copy, repository, succeed};
use crate::web::server::Server;
use insta::assert_snapshot;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder of the playground, built once for all tests.
fn playground() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("playground");
        let mut build = Command::new(repository().join("tools/editors/web/build"));
        build.arg(&folder).env_remove("RUSTC_WRAPPER");
        succeed(&mut build).unwrap_or_else(|failure| panic!("{failure}"));
        folder
    })
}

fn node(script: &str) -> Command {
    let mut node = Command::new("node");
    node.arg(repository().join("tests/web").join(script));
    node
}

fn done(command: &mut Command) -> String {
    succeed(command).unwrap_or_else(|failure| panic!("{failure}\napt-get install -y nodejs"))
}

/// What the command line prints, with or without success.
fn printed(scratch: &Scratch, arguments: &str) -> String {
    let output = run(scratch.duologue(arguments), b"");
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

/// The module has the same answers as the program, byte for byte: for all examples in all languages, and for files with errors.
#[test]
#[ignore = "nightly: wasm"]
fn the_module_and_the_program_agree() {
    let scratch = Scratch::new("web-agree");
    copy(&repository().join("protocols"), &scratch.path("protocols"));
    copy(
        &repository().join("tests/beginners"),
        &scratch.path("beginners"),
    );
    for file in scratch.files("protocols") {
        let name = Path::new(&file).file_stem().and_then(|name| name.to_str());
        let name = name.expect("a UTF-8 name");
        let to = |what: &str| format!("expected/{name}/{what}");
        let dirs = ["rust", "c", "scala"].map(|target| format!("--{target} {}", to(target)));
        let output = run(
            scratch.duologue(&format!("gen {file} {}", dirs.join(" "))),
            b"",
        );
        assert!(output.status.success(), "{file}");
        scratch.write(
            &to("report.json"),
            printed(&scratch, &format!("check {file} --format json")),
        );
        scratch.write(
            &to("model.json"),
            printed(&scratch, &format!("model {file}")),
        );
        for format in ["svg", "dot", "promela"] {
            let text = fs::read_to_string(scratch.path(&file)).expect("it is there");
            let Some(protocol) = text.lines().find_map(|line| line.strip_prefix("proto! ")) else {
                continue;
            };
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            let end = protocol
                .find(|letter| !is_part(letter))
                .unwrap_or(protocol.len());
            let protocol = &protocol[..end];
            let text = printed(
                &scratch,
                &format!("graph {file}#{protocol} --format {format}"),
            );
            assert!(!text.is_empty(), "{file}#{protocol}");
            scratch.write(&to(&format!("{protocol}.{format}")), text);
        }
    }
    for file in scratch
        .files("beginners")
        .iter()
        .filter(|file| file.ends_with(".proto"))
    {
        scratch.write(
            &format!("expected-{file}.txt"),
            printed(&scratch, &format!("check {file} --ascii")),
        );
    }
    let old = "proto! p{a:send{m(u8)->!,n->a}}\n";
    scratch.write("versions/old.proto", old);
    scratch.write("versions/new.proto", old.replace("u8", "u16"));
    let dirs = ["rust", "c", "scala"].map(|target| format!("--{target} expected-options/{target}"));
    let options = "--remote --robots --c-shm --c-prefix x --scala-package y";
    done(&mut scratch.duologue(&format!(
        "gen protocols/bank.proto {} {options}",
        dirs.join(" ")
    )));
    let breaking = "breaking versions/new.proto --against versions/old.proto --format json";
    scratch.write("expected-breaking.json", printed(&scratch, breaking));
    scratch.write("expected-formatted.proto", old);
    done(&mut scratch.duologue("fmt expected-formatted.proto"));
    let mut compare = node("compare.mjs");
    compare
        .arg(playground().join("duologue.wasm"))
        .arg(playground().join("check.wasm"))
        .arg(scratch.path(""));
    let said = done(&mut compare);
    let counts: Vec<usize> = said
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert!(
        counts.len() == 3 && counts[0] > 145 && counts[1] > 80 && counts[2] > 80,
        "{said}"
    );
}

/// Each option for generated code is a field of a request, and is on the page of the module.
#[test]
fn the_module_has_the_options_of_the_program() {
    let scratch = Scratch::new("web-options");
    let help = printed(&scratch, "gen --help");
    let (_, options) = help.split_once("Generated code:\n").expect("a heading");
    let (options, _) = options.split_once("\n\n").expect("another heading");
    let words = options.split_whitespace();
    let options: Vec<String> = words
        .filter_map(|word| Some(word.strip_prefix("--")?.replace('-', "_")))
        .collect();
    assert!(options.len() > 8, "{options:?}");
    let read = |path: &str| fs::read_to_string(repository().join(path)).expect("it is there");
    let request = read("tools/editors/wasm/src/request.rs");
    let (_, fields) = request
        .split_once("struct Choices {\n")
        .expect("it is there");
    let (fields, _) = fields.split_once('}').expect("it is closed");
    let page = read("tools/editors/wasm/README.md");
    for option in options {
        assert!(fields.contains(&format!("    {option}: ")), "{option}");
        assert!(page.contains(&format!("`{option}`")), "{option}");
        assert!(
            request.contains(&format!("given.{option}")),
            "{option} is not used"
        );
    }
}

/// What a browser loads first. The sizes only grow on purpose: then the numbers here change.
#[test]
#[ignore = "nightly: wasm"]
fn the_playground_is_small() {
    let said = done(node("sizes.mjs").arg(playground()));
    let size: usize = said.trim().parse().expect("it prints a number");
    assert!(
        size < LIMIT,
        "the first load has {size} bytes with brotli, and may have {LIMIT}"
    );
    assert!(
        size > 100_000,
        "{size} bytes are too few for the playground"
    );
}

const LIMIT: usize = 550_000;

/// The links of the playground: what is written can be read.
#[test]
#[ignore = "with node"]
fn links_can_be_read_again() {
    assert_eq!(done(&mut node("link.mjs")), "ok\n");
}

/// The playground in a browser, without a network: plays a session to its end, makes a mistake and repairs it. First from files, then
/// from `duologue play`, where the policy of the page and the loading of the module are different.
#[test]
#[ignore = "nightly: wasm"]
fn the_playground_works_in_a_browser() {
    let scratch = Scratch::new("web-chromium");
    let site = scratch.path("site");
    copy(playground(), &site);
    copy(
        &repository().join("tests/web/clicks.js"),
        &site.join("clicks.js"),
    );
    let axe = "tools/editors/web/node_modules/axe-core/axe.min.js";
    copy(&repository().join(axe), &site.join("axe.min.js"));
    let page = scratch.read("site/index.html");
    let end = "</head>";
    let scripts = "<script src=\"axe.min.js\" defer></script>\n<script src=\"clicks.js\" defer></script>\n</head>";
    assert!(page.contains(end));
    scratch.write("site/clicks.html", page.replace(end, scripts));
    let seen = clicked(
        &scratch,
        &format!("file://{}", site.join("clicks.html").display()),
    );
    assert_snapshot!("clicks_in_the_playground", seen);

    // The server knows only the files of the page, so the scripts are added to that of the page.
    let scripts =
        ["play.js", "axe.min.js", "clicks.js"].map(|name| scratch.read(&format!("site/{name}")));
    scratch.write("site/play.js", scripts.join("\n"));
    copy(
        &repository().join("protocols/bank.proto"),
        &scratch.path("mine.proto"),
    );
    let server = Server::of(scratch.duologue("play --pages site mine.proto"));
    let served = clicked(&scratch, &server.address);
    assert!(served.contains("opened: mine.proto"), "{served}");
    assert_eq!(
        served.replace("opened: mine.proto", "opened: bank.proto"),
        seen
    );
}

/// What the script in a page has seen.
fn clicked(scratch: &Scratch, address: &str) -> String {
    let options = [
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--window-size=1300,900",
        "--virtual-time-budget=60000",
    ];
    crate::doc::browser::seen_with(scratch, &options, address)
}
