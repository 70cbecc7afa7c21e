//! The script of the pages, in Node and in Chromium.

use super::examples;
use crate::support::program::{Scratch, run};
use crate::support::{copy, repository, succeed};
use insta::assert_snapshot;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn write(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for file in examples() {
        scratch.write(&format!("site/{}", file.path), file.text);
    }
    scratch
}

/// The logic of the stepper: every message of every example, and the transcripts of the conversations.
#[test]
#[ignore = "with node"]
fn the_stepper_plays_every_example() {
    let scratch = write("doc-node");
    let mut node = Command::new("node");
    node.arg(repository().join("tests/doc/stepper.mjs"))
        .arg(scratch.path("site"))
        .arg(repository().join("tests/run"));
    let said =
        succeed(&mut node).unwrap_or_else(|failure| panic!("{failure}\napt-get install -y nodejs"));
    let mut numbers = said.split(|letter: char| !letter.is_ascii_digit());
    let mut number = || numbers.find_map(|word| word.parse::<usize>().ok());
    assert_eq!(number(), Some(19), "{said}");
    assert!(
        number().is_some_and(|transcripts| transcripts >= 10),
        "{said}"
    );
    assert!(number().is_some_and(|moves| moves > 10_000), "{said}");
    assert!(number().is_some_and(|values| values > 40), "{said}");
}

/// Types of every kind.
const TYPED: &str = "\
extern type thing;
type name = str;
type short = str<3>;
type few = [u8; 2];
type pair = (str<2>, few?);
struct reply { code: u16, lines: [short], inside: [reply] }
enum problem { limit, frozen(money: f64), both(u8, reply) }
proto! typed {
    s:send {
        small(u8) -> s, signed(i8) -> s, large(u64) -> s, least(i64) -> s, real(f64) -> s, truth(bool) -> s,
        text(name) -> s, short(short) -> s, bytes(bytes<2>) -> s, list(few) -> s, option(u8?) -> s, pair(pair) -> s,
        reply(reply) -> s, problem(problem) -> s, thing(thing) -> s, two(a: u8, b: str) -> s,
        other(inner::client::s) -> s, none -> !
    }
}
proto! inner { s:send { m -> ! } }
";

/// Messages, of which many are wrong.
const VALUES: &str = r#"
small(0) | small(255) | small(256) | small(-1) | small(+7) | small() | small(1.0) | small(x) | small(1,2) | small( 1 ) | small(1
signed(-128) | signed(-129) | signed(127) | signed(128) | large(18446744073709551615) | large(18446744073709551616)
least(-9223372036854775808) | least(-9223372036854775809) | real(1) | real(-0.5e3) | real(1e) | real(.5) | real(5.) | real(.)
real(nan) | real(-inf) | real(Infinity) | real(1_0) | truth(true) | truth(yes) | truth(True) | text("") | text("a\"b\\c\n\t\r\u{e9}")
text("\u{d800}") | text("\u{110000}") | text("\x") | text("a | text(a) | text("a" "b") | short("abc") | short("abcd") | short("é")
short("éé") | short("  a") | short("   a") | bytes(<>) | bytes(<00Ff>) | bytes(<00 ff>) | bytes(<0>) | bytes(<000102>) | bytes(<0g>)
list([]) | list([1, 2]) | list([1,2,3]) | list([1,]) | list([256]) | list(1) | option(none) | option(some(1)) | option(some) | option(1)
option(some(300)) | pair(("ab", none)) | pair(("abc", none)) | pair(("ab", some([1]))) | pair(("ab", some([1,2,3]))) | pair(("ab"))
reply({code: 1, lines: [], inside: []}) | reply({lines: ["abc"], inside: [{code: 2, lines: [], inside: []}], code: 1})
reply({code: 1, lines: []}) | reply({code: 1, lines: ["abcd"], inside: []}) | reply({code: 1, code: 1, lines: [], inside: []})
reply({code: 1, lines: [], inside: [], more: 1}) | reply({}) | problem(limit) | problem(frozen(1)) | problem(frozen(money: 1))
problem(frozen(cash: 1)) | problem(frozen) | problem(limit(1)) | problem(other) | problem(both(1, {code: 1, lines: [], inside: []}))
problem(both(1)) | thing(anything) | thing(a(b,"),")c) | thing(a,b) | thing() | thing([) | thing("\") | two(1, "x") | two(a: 1, b: "x")
two(b: 1, a: "x") | two(1) | two("x", 1) | other(<inner.client.s>) | other(<inner.server.s>) | none | none() | none(1) | nothing
"#;

/// What can be typed in the stepper is what `talk` accepts.
#[test]
#[ignore = "with node"]
fn the_stepper_accepts_what_talk_accepts() {
    let scratch = Scratch::with("doc-values", &[("typed.proto", TYPED)]);
    let mut doc = scratch.duologue("doc typed.proto --no-against -o site");
    succeed(&mut doc).unwrap_or_else(|failure| panic!("{failure}"));
    let values = VALUES.trim().split(['|', '\n']).map(str::trim);
    let values: Vec<&str> = values.collect();
    let mut node = Command::new("node");
    node.arg(repository().join("tests/doc/values.mjs"));
    node.arg(scratch.path("site")).arg("typed");
    let said = run(node, values.join("\n").as_bytes());
    let said = String::from_utf8(said.stdout).expect("UTF-8");
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(said.len(), values.len());
    let mut accepted = 0;
    for (value, said) in values.iter().zip(said) {
        let talk = scratch.duologue("talk typed.proto#typed --script -");
        let talk = run(talk, value.as_bytes());
        let is_accepted = talk.status.success();
        assert_eq!(said, is_accepted.to_string(), "{value}: {talk:?}");
        accepted += usize::from(is_accepted);
    }
    let refused = values.len() - accepted;
    assert!(accepted > 40 && refused > 40, "{accepted}, {refused}");
}

/// The page itself, from a file and without a network.
#[test]
#[ignore = "with chromium"]
fn the_stepper_works_in_a_browser() {
    let scratch = write("doc-chromium");
    let page = scratch.read("site/bank.html");
    let clicks = fs::read_to_string(repository().join("tests/doc/clicks.js")).expect("it is there");
    scratch.write("site/clicks.js", clicks);
    let end = "</head>";
    let script = format!("<script src=\"clicks.js\" defer></script>\n{end}");
    scratch.write("site/clicks.html", page.replace(end, &script));
    let address = format!("file://{}", scratch.path("site/clicks.html").display());
    let seen = seen(&scratch, &[], &address);
    assert_snapshot!("clicks_in_a_browser", seen);
}

/// What the script in a page has seen, in a browser with these options and without a network.
fn seen(scratch: &Scratch, options: &[&str], address: &str) -> String {
    let alone = "--host-resolver-rules=MAP * ~NOTFOUND";
    let options = [&[alone, "--virtual-time-budget=20000"], options].concat();
    seen_with(scratch, &options, address)
}

/// What the script in a page has seen, in a browser with these options.
pub fn seen_with(scratch: &Scratch, options: &[&str], address: &str) -> String {
    let dump = dumped(scratch, options, address);
    let seen = dump.split_once("<pre id=\"seen\">");
    let (_, seen) = seen.unwrap_or_else(|| panic!("the script did not end: {dump}"));
    let seen = seen.split_once("</pre>").expect("it is closed").0;
    assert!(!seen.contains("failed:"), "{seen}");
    seen.trim().to_owned()
}

/// What a page has become, in a browser with these options. The clock of the browser does not wait for the compiler of the playground, so a
/// page that is still loading it is opened again.
pub fn dumped(scratch: &Scratch, options: &[&str], address: &str) -> String {
    const TRIES: usize = 30;
    let mut chromium = Command::new("chromium");
    let profile = format!("--user-data-dir={}", scratch.path("profile").display());
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", &profile]);
    chromium.args(options).args(["--dump-dom", address]);
    let mut dump = String::new();
    for _ in 0..TRIES {
        let dumped = succeed(&mut chromium);
        dump = dumped.unwrap_or_else(|failure| panic!("{failure}\napt-get install -y chromium"));
        if !dump.contains("role=\"status\">The compiler is loading.<") {
            break;
        }
    }
    dump
}

/// axe.
pub fn axe(scratch: &Scratch) -> PathBuf {
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--ignore-scripts"])
        .args(["--no-audit", "--no-fund", "--prefix"])
        .arg(scratch.path("axe"))
        .arg("axe-core@4.14.1");
    succeed(&mut npm).unwrap_or_else(|failure| panic!("{failure}\napt-get install -y nodejs npm"));
    scratch.path("axe/node_modules/axe-core/axe.min.js")
}

/// Everything that documentation can contain, a finding, and a change of which a client must be warned.
const NOTES: &str = "\
//! A file about [notes](https://example.org/notes).

/// A protocol with `code`, **bold** and *soft* words.
///
/// > A quotation.
///
/// | name | meaning |
/// |------|---------|
/// | a    | first   |
///
/// - one
/// - two
///
/// ```text
/// a block that is wider than the page, a block that is wider than the page, a block that is wider than the page, a block that is wider
/// ```
proto! notes {
    /// Starts.
    start:send {
        /// Writes a note.
        write(text: str) -> answer,
    }
    answer:recv { ok -> start, full -> !, moved -> lost }
    lost:send { again -> lost }
}
";

/// Pages of every kind have no violations of what axe checks, in light and in dark colors: also while a session is played, with results of
/// the search, and with the line or the message that a link leads to.
#[test]
#[ignore = "with chromium"]
fn everybody_can_use_the_pages() {
    let scratch = write("doc-axe");
    scratch.write("notes.proto", NOTES);
    scratch.write("old/notes.proto", NOTES.replace(", moved -> lost", ""));
    let mut doc = scratch.duologue("doc notes.proto --against old -o notes");
    succeed(&mut doc).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(scratch.read("notes/notes.html").contains("Since"));
    let axe = axe(&scratch);
    for site in ["site", "notes"] {
        copy(&axe, &scratch.path(&format!("{site}/axe.min.js")));
    }
    let script = repository().join("tests/doc/axe.js");
    copy(&script, &scratch.path("site/axe.js"));
    scratch.write("site/axe.html", "<script src=\"axe.js\"></script>\n");
    let pages = [
        ("index.html", ""),
        ("index.html", "smtp greet"),
        ("bank.html", ""),
        ("bank.html#play/login/ok/deposit", ""),
        ("bank.html#play/nonsense", ""),
        ("bank.connected.html", ""),
        ("bank.connected.html#m-quit", ""),
        ("acme.problem.html", ""),
        ("bank.proto.html#l5", ""),
        ("../notes/index.html", ""),
        ("../notes/notes.html", ""),
        ("../notes/notes.lost.html", ""),
        ("../notes/notes.proto.html", ""),
    ];
    let list = serde_json::to_string(&pages).expect("names are text");
    let address = format!("file://{}#{list}", scratch.path("site/axe.html").display());
    for (scheme, setting) in [("dark", 0), ("light", 1)] {
        let colors = format!("--blink-settings=preferredColorScheme={setting}");
        // Otherwise a page from a disk cannot see what is in its frames.
        let options = ["--allow-file-access-from-files", colors.as_str()];
        let seen = seen(&scratch, &options, &address);
        let line = |(page, query): &(&str, &str)| {
            let searching = if query.is_empty() { "" } else { ", search" };
            format!("{scheme}, {page}{searching}: no violations")
        };
        let expected: Vec<String> = pages.iter().map(line).collect();
        assert_eq!(seen.lines().collect::<Vec<_>>(), expected);
    }
}
