//! The compiler as WebAssembly, the playground, and the server of `duologue play`.

pub mod server;

use crate::doc::browser::{axe, dumped, seen_with};
use crate::support::program::{Scratch, run};
use crate::support::{copy, repository, succeed};
use crate::web::server::Server;
use duologue_site::play::server::{Site, serve};
use duologue_site::play::{self, Compiler};
use insta::assert_snapshot;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

/// The compiler as WebAssembly, built once for all tests.
fn module() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let module = Path::new(env!("CARGO_TARGET_TMPDIR")).join("duologue.wasm");
        let mut build = Command::new(repository().join("tools/editors/wasm/build"));
        build.arg(&module).env_remove("RUSTC_WRAPPER");
        done(&mut build);
        module
    })
}

/// A page in one file. Its module is compressed, as in packages.
fn page(scratch: &Scratch, arguments: &str) -> String {
    scratch.write("module.gz", compressed(module()));
    done(&mut scratch.duologue(&format!("play {arguments} -o page.html --module module.gz")));
    scratch.read("page.html")
}

fn compressed(path: &Path) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    gzip.arg("-9nc").arg(path);
    run(gzip, b"").stdout
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
    compare.arg(module()).arg(scratch.path(""));
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
    let request = read("tools/site/src/play/request.rs");
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

/// What a browser loads. The size only grows on purpose: then the number here changes.
#[test]
#[ignore = "nightly: wasm"]
fn a_page_in_one_file_is_small() {
    let scratch = Scratch::new("web-small");
    page(&scratch, "");
    let size = compressed(&scratch.path("page.html")).len();
    assert!(size < LIMIT, "{size} bytes, and at most {LIMIT}");
    assert!(size > 500_000, "{size} bytes are too few for a compiler");
}

const LIMIT: usize = 900_000;

/// A program from a copy of the repository has no module: it names the command that builds one.
#[test]
fn a_page_in_one_file_needs_the_module() {
    let scratch = Scratch::with(
        "web-module",
        &[("a.proto", "proto! p { s:send { m -> ! } }\n")],
    );
    let output = run(scratch.duologue("play a.proto -o page.html"), b"");
    let said = String::from_utf8_lossy(&output.stderr);
    if repository().join("cli/module/duologue.wasm.gz").is_file() {
        assert!(output.status.success(), "{said}");
        assert!(scratch.read("page.html").contains("a.proto"));
    } else {
        assert_eq!(output.status.code(), Some(3), "{said}");
        let (_, command) = said.split_once('`').expect("it names a command");
        let program = command.split(' ').next().expect("it has a program");
        assert!(repository().join(program).is_file(), "{said}");
    }
}

/// The links of the playground: what is written can be read.
#[test]
#[ignore = "with node"]
fn links_can_be_read_again() {
    assert_eq!(done(&mut node("link.mjs")), "ok\n");
}

/// A page to which scripts are added, which its policy does not allow.
fn with_scripts(page: &str, scratch: &Scratch, script: &str) -> String {
    let script = repository().join("tests/web").join(script);
    let scripts = [axe(scratch), script].map(|path| {
        let text = fs::read_to_string(path).expect("it is there");
        format!("<script>{text}</script>\n")
    });
    let (start, policy) = page.split_once("'sha256-").expect("it has a policy");
    let (_, rest) = policy.split_once('\'').expect("it is closed");
    let (body, end) = rest.rsplit_once("</body>").expect("it has a body");
    format!(
        "{start}'unsafe-inline'{body}{}</body>{end}",
        scripts.concat()
    )
}

/// The address of a playground that opens the bank, and to which a script is added. It is served until the test ends.
fn served(scratch: &Scratch, script: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it has an address").port();
    let bank = repository().join("protocols/bank.proto");
    let bank = fs::read_to_string(bank).expect("it is there");
    let opened = serde_json::json!({ "files": { "mine.proto": bank } });
    let site = Site {
        port,
        key: "0123456789abcdef".to_owned(),
        page: with_scripts(&play::page(&Compiler::Server, None), scratch, script),
        opened: opened.to_string(),
        answer: play::answer,
    };
    let address = format!("http://127.0.0.1:{port}/#key={}", site.key);
    thread::spawn(move || serve(&listener, &site));
    address
}

/// The playground of `duologue play`: plays a session with values, makes mistakes and repairs them.
#[test]
#[ignore = "with chromium"]
fn the_playground_works_in_a_browser() {
    let scratch = Scratch::new("web-chromium");
    let seen = clicked(&scratch, &served(&scratch, "clicks.js"));
    assert_snapshot!("clicks_in_the_playground", seen);
}

/// The page in one file, from a disk and without a network, does the same.
#[test]
#[ignore = "nightly: wasm"]
fn a_page_in_one_file_works_in_a_browser() {
    let scratch = Scratch::new("web-one-file");
    copy(
        &repository().join("protocols/bank.proto"),
        &scratch.path("mine.proto"),
    );
    let page = page(&scratch, "mine.proto");
    scratch.write("clicks.html", with_scripts(&page, &scratch, "clicks.js"));
    let address = format!("file://{}", scratch.path("clicks.html").display());
    let seen = clicked(&scratch, &address);
    // What is said about its link depends on where the page is.
    let is_about_link = |line: &&str| line.starts_with("a copied link");
    let [one, other] = [&clicked(&scratch, &served(&scratch, "clicks.js")), &seen].map(|seen| {
        let lines = seen.lines().filter(|line| !is_about_link(line));
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(one, other);
    assert!(
        seen.contains("a copied link: true, false; Copied. The link works on this machine. For others, put this page on a server."),
        "{seen}"
    );
}

/// Without changes, so that the policy of the page allows what it does.
#[test]
#[ignore = "with chromium"]
fn the_page_of_play_runs_under_its_policy() {
    let scratch = Scratch::with(
        "web-policy",
        &[("mine.proto", "proto! p { s:send { m -> x } }\n")],
    );
    let server = Server::of(scratch.duologue("play mine.proto"));
    runs(&scratch, &server.address);
}

#[test]
#[ignore = "nightly: wasm"]
fn a_page_in_one_file_runs_under_its_policy() {
    let scratch = Scratch::with(
        "web-alone",
        &[("mine.proto", "proto! p { s:send { m -> x } }\n")],
    );
    page(&scratch, "mine.proto");
    let address = format!("file://{}", scratch.path("page.html").display());
    runs(&scratch, &address);
}

/// A page shows what is wrong with the file that it has opened.
fn runs(scratch: &Scratch, address: &str) {
    let page = dumped(scratch, &OPTIONS, address);
    for words in [
        "mine.proto",
        "1 error, 0 warnings.",
        "there is no state `x` in `p`",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

/// The picture and the stepper are visible together; on a phone, messages come first, and nothing is wider than the screen.
#[test]
#[ignore = "with chromium"]
fn the_playground_fits_the_screen() {
    for (size, expected) in [("1280,800", "wide"), ("390,844", "narrow")] {
        for (scheme, setting) in [("dark", 0), ("light", 1)] {
            let scratch = Scratch::new(&format!("web-{expected}-{scheme}"));
            let size = format!("--window-size={size}");
            let colors = format!("--blink-settings=preferredColorScheme={setting}");
            let options = [&OPTIONS[..], &[&size, &colors]].concat();
            let seen = seen_with(&scratch, &options, &served(&scratch, "layout.js"));
            assert_eq!(seen, format!("{expected}, {scheme}: fits, no violations"));
        }
    }
}

const OPTIONS: [&str; 2] = [
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--virtual-time-budget=60000",
];

/// What the script in a page has seen.
fn clicked(scratch: &Scratch, address: &str) -> String {
    let options = [&OPTIONS[..], &["--window-size=1300,900"]].concat();
    seen_with(scratch, &options, address)
}
