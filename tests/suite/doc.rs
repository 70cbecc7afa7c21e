//! `duologue doc`: the pages are complete and well formed, hostile comments do nothing, and the stepper plays what the protocols allow.

pub mod browser;
mod command;
pub mod markup;

use crate::support::rust::{Checked, GROUPS, checked_with_sources, protocols_in};
use duologue::compile::{Input as Text, Request, compile};
use duologue::files::Disk;
use duologue::languages::{Options, OutputFile};
use duologue_site::doc::{Input, MARKER, site};
use insta::assert_snapshot;
use markup::{Page, read};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn site_of(checked: &Checked) -> Vec<OutputFile> {
    site(&Input {
        title: "Protocols",
        checked: &checked.program,
        sources: &checked.sources,
        options: &Options::default(),
        findings: &[],
        versions: None,
    })
}

fn examples() -> Vec<OutputFile> {
    site_of(&checked_with_sources(&protocols_in("protocols")))
}

/// The site about a text.
fn site_of_text(text: &str) -> Vec<OutputFile> {
    let mut request = Request::default();
    request.inputs = vec![Text::Text {
        path: PathBuf::from("text.proto"),
        bytes: text.as_bytes().to_vec(),
    }];
    let compiled = compile(&request, &Disk).expect("it is in memory");
    let program = compiled.checked.expect("it has no errors");
    site_of(&Checked {
        program,
        sources: compiled.sources,
    })
}

fn pages(files: &[OutputFile]) -> BTreeMap<&str, Page> {
    let pages = files.iter().filter(|file| file.path.ends_with(".html"));
    let read = |file: &OutputFile| {
        read(&file.text).unwrap_or_else(|wrong| panic!("{}: {wrong}", file.path))
    };
    pages.map(|file| (file.path.as_str(), read(file))).collect()
}

/// Checks all pages of a site, and returns how many links they have.
fn check(files: &[OutputFile]) -> usize {
    let pages = pages(files);
    let mut links = 0;
    for (path, page) in &pages {
        assert_eq!(page.headings.first(), Some(&1), "{path}");
        let steps = page.headings.windows(2);
        let skipped = steps.filter(|pair| pair[1] > pair[0] + 1).count();
        assert_eq!(skipped, 0, "{path}: a level of headings is skipped");
        let one = page.headings.iter().filter(|level| **level == 1).count();
        assert_eq!(one, 1, "{path}: headings of the first level");
        let has = |name: &str| page.elements.iter().any(|(found, _)| found == name);
        assert!(has("main") && has("header") && has("nav"), "{path}");
        let policy = "default-src 'none';script-src 'self' file:;style-src 'self' file:;base-uri 'none';form-action 'none'";
        assert!(
            page.values("content").any(|found| found == policy),
            "{path}"
        );
        assert_eq!(page.values("lang").next(), Some("en"), "{path}");
        for link in page.values("href").chain(page.values("src")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { path } else { file };
            assert!(
                files.iter().any(|other| other.path == file),
                "{path} links to {link}"
            );
            // The stepper reads addresses of this form.
            if !anchor.is_empty() && !anchor.starts_with("play/") {
                assert!(pages[file].ids.contains(anchor), "{path} links to {link}");
            }
            links += 1;
        }
    }
    for file in files {
        let first = file.text.lines().next().unwrap_or_default();
        assert!(first.contains(MARKER), "{}", file.path);
    }
    // What is wide scrolls, and a table stays one: with another `display` some browsers do not tell screen readers that it is a table.
    let style = files.iter().find(|file| file.path == "duologue.css");
    let style = &style.expect("there is a style sheet").text;
    let rules = |of: &str| {
        let found = style.lines().find(|line| line.starts_with(of));
        found.unwrap_or_else(|| panic!("there are no rules for {of}"))
    };
    assert!(rules("main{").contains("overflow-x:auto"));
    assert!(!rules("table{").contains("display"));
    let script = files.iter().find(|file| file.path == "duologue.js");
    let script = &script.expect("there is a script").text;
    assert_eq!(script.lines().nth(1), Some("\"use strict\";"));
    links
}

#[test]
fn the_site_of_the_examples_is_small() {
    let files = examples();
    let size: usize = files.iter().map(|file| file.text.len()).sum();
    assert!(size < 400_000, "{size} bytes");
    assert!(files.len() > 100, "only {} files", files.len());
    let links = check(&files);
    assert!(links > 1_000, "only {links} links are found");
}

#[test]
fn every_site_is_well_formed() {
    for group in GROUPS.into_iter().chain(["tests/events"]) {
        let checked = checked_with_sources(&protocols_in(group));
        let files = site_of(&checked);
        check(&files);
        assert_eq!(files, site_of(&checked), "{group}: a second run differs");
    }
}

#[test]
fn pages_of_a_protocol_a_state_and_a_type() {
    let files = examples();
    let page = |path: &str| {
        let found = files.iter().find(|file| file.path == path);
        let text = &found.unwrap_or_else(|| panic!("there is no {path}")).text;
        text.split_once("<main")
            .expect("it has a main part")
            .1
            .to_owned()
    };
    assert_snapshot!("page_of_a_protocol", page("oneshot.html"));
    assert_snapshot!("page_of_a_state", page("bank.connected.html"));
    assert_snapshot!("page_of_a_type", page("acme.problem.html"));
    assert_snapshot!("page_of_a_file", page("oneshot.proto.html"));
}

/// Comments cannot add elements, run scripts, or make a page request anything.
#[test]
fn hostile_comments_are_inert() {
    let text = r##"//! <script src="https://evil.example/x.js"></script> </main>

/// <img src=x onerror=alert(1)> ![picture](https://evil.example/track.png "title")
/// [a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](vbscript:x) [e](file:///etc/passwd) [f](//evil.example)
/// [g](other.md) [h](#play) <https://good.example/?a=1&b="2"> [[i](https://one.example)](https://two.example)
/// <style>*{display:none}</style>
///
/// <iframe src="https://evil.example"></iframe>
///
/// # A heading
///
/// | a | b |
/// |---|---|
/// | <b> | `</td>` |
///
/// > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > > deep
proto! hostile {
    /// </script><script>alert(1)</script> --> ]]> & &amp; "quoted" 'x' \u{202e}turned
    first:send {
        /// <a href="x" onclick="alert(1)">y</a>
        go(a: str /* </td><script> */) -> !
    }
}
"##;
    let files = site_of_text(&text.replace("\\u{202e}", "\u{202e}"));
    assert!(files.iter().all(|file| !file.text.contains('\u{202e}')));
    let pages = pages(&files);
    let known = "!DOCTYPE a blockquote body br circle code dd defs details div dl dt g h1 h2 head header html li link main marker meta \
         nav ol p path rect script section small strong summary svg table tbody td text th thead title tr ul wbr";
    let known: Vec<&str> = known.split(' ').collect();
    let mut outside = Vec::new();
    for (path, page) in &pages {
        for (name, attributes) in &page.elements {
            assert!(known.contains(&name.as_str()), "{path} has <{name}>");
            for (attribute, value) in attributes {
                assert!(!attribute.starts_with("on"), "{path}: {attribute}");
                assert!(attribute != "style", "{path}: {value}");
                let requests = ["src", "srcset", "href", "action", "data", "poster"];
                let is_link = name == "a" && attribute == "href";
                if requests.contains(&attribute.as_str()) && value.contains(':') {
                    assert!(is_link, "{path} requests {value}");
                    outside.push(value.clone());
                }
            }
        }
        let scripts = page.elements.iter().filter(|(name, _)| name == "script");
        let expected = if *path == "hostile.html" { 2 } else { 1 };
        assert_eq!(scripts.count(), expected, "{path}");
    }
    outside.sort();
    outside.dedup();
    let allowed = [
        "https://evil.example/track.png",
        "https://good.example/?a=1&amp;b=%222%22",
        "https://one.example",
    ];
    let is_expected = |link: &String| {
        let plain = link.replace("&quot;", "%22");
        allowed.contains(&plain.as_str())
    };
    assert!(
        outside.iter().all(is_expected) && outside.len() == 3,
        "{outside:?}"
    );
}

/// Names that would be the same file where upper case does not count: a type and the first page, a state and the file.
#[test]
fn every_page_has_its_own_file() {
    let text = "struct INDEX { coin: u8 } enum coins { none, one(INDEX) }
proto! text { index:send { go(coins) -> PROTO } PROTO:recv { stop -> !, again -> index } }";
    let files = site_of_text(text);
    let mut names: Vec<String> = files
        .iter()
        .map(|file| file.path.to_ascii_lowercase())
        .collect();
    names.sort();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all, "{names:?}");
    for name in ["index-2.html", "text.proto-2.html"] {
        assert!(names.iter().any(|found| found == name), "{names:?}");
    }
    check(&files);
}

/// The time and size of a site grow with the protocols, even if a dialogue is long.
#[test]
fn long_protocols_have_short_pages() {
    use std::fmt::Write as _;
    let mut text = String::from("proto! long {\n");
    for state in 0..1500 {
        let _ = writeln!(text, "s{state}:send {{ m -> s{} }}", state + 1);
    }
    text += "s1500:send { m -> ! }\n}\n";
    let files = site_of_text(&text);
    let state = files.iter().find(|file| file.path == "long.s1400.html");
    let state = &state.expect("there is a page").text;
    assert!(state.len() < 5_000, "{} bytes", state.len());
    assert!(
        state.contains("1388 messages before these are not shown"),
        "{state}"
    );
    let size: usize = files.iter().map(|file| file.text.len()).sum();
    assert!(size < 7_000_000, "{size} bytes");
    check(&files);
}

/// The pages of states repeat the messages before and after them, but not all of a long payload.
#[test]
fn long_payloads_are_not_repeated() {
    use std::fmt::Write as _;
    let entries: Vec<String> = (0..20)
        .map(|entry| format!("{}{entry}: u8", "a".repeat(90)))
        .collect();
    let payload = entries.join(", ");
    let mut text = String::from("proto! long {\n");
    for state in 0..30 {
        let _ = writeln!(text, "s{state}:send {{ m({payload}) -> s{} }}", state + 1);
    }
    text += "s30:send { short(a: [u8]) -> ! }\n}\n";
    let files = site_of_text(&text);
    let page = |path: &str| {
        let found = files.iter().find(|file| file.path == path);
        found.expect("there is a page").text.as_str()
    };
    let last = page("long.s30.html");
    let start = format!("<code>m({}\u{2026})</code>", &payload[..200]);
    assert_eq!(last.matches(&start).count(), 12, "{last}");
    assert!(
        last.contains("client: <code>short(<wbr>a: [u8])</code>"),
        "{last}"
    );
    // The message itself is shown whole, once.
    let first = page("long.s0.html");
    assert_eq!(first.matches(&payload).count(), 1, "{first}");
    check(&files);
}

/// The page of a long name does not depend on what else is in the program.
#[test]
fn pages_of_long_names_stay_where_they_are() {
    let [protocol, state] = ["p", "s"].map(|letter| letter.repeat(60));
    let states = format!("{state}1:send {{ m -> {state}2 }} {state}2:send {{ m -> ! }}");
    let long = format!("proto! {protocol} {{ {states} }}");
    let names = |text: &str| {
        let files = site_of_text(text);
        check(&files);
        let names = files.into_iter().map(|file| file.path);
        let names: Vec<String> = names.filter(|name| name.starts_with("pppp")).collect();
        names
    };
    let alone = names(&long);
    assert_eq!(alone.len(), 3, "{alone:?}");
    let more = format!("proto! {protocol}2 {{ {states} }} {long}");
    let with_more = names(&more);
    assert_eq!(with_more.len(), 6, "{with_more:?}");
    assert!(alone.iter().all(|name| with_more.contains(name)));
}
