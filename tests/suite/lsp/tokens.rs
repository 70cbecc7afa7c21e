//! Every answer at every position of damaged texts: each example without each of its tokens, and examples after random edits.

use super::client::{Client, folder, uri};
use crate::support::choices::Choices;
use crate::support::rust::protocols_in;
use crate::support::stem;
use crate::support::texts::Texts;
use duologue::compile::{Input, Request};
use duologue_lsp::answer::{
    Elsewhere, Encoding, Item, ItemKind, Lines, Snapshot, complete, definition, fixes, folds,
    formatted, highlights, hints, hover, name_at, organized, outline, prepare, references,
    selections, semantic_tokens, state_at, transitions, type_definitions, unknown_names,
};
use gen_lsp_types::Position;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

fn examples() -> Vec<(PathBuf, String)> {
    let examples = protocols_in("protocols").into_iter().map(|path| {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        (PathBuf::from(format!("{}.proto", stem(&path))), text)
    });
    let examples: Vec<(PathBuf, String)> = examples.collect();
    assert!(examples.len() >= 19, "examples are not found");
    examples
}

fn request(path: &Path) -> Request {
    let mut request = Request::default();
    request.inputs = vec![Input::Path(path.to_path_buf())];
    request
}

fn snapshot(files: &Texts, path: &Path) -> Snapshot {
    Snapshot::of(&request(path), files).expect("the text is there")
}

/// Tokens, more roughly than the compiler has them: words, runs of whitespace, and other characters.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens: Vec<Range<usize>> = Vec::new();
    let mut last = ' ';
    for (at, letter) in text.char_indices() {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = at + letter.len_utf8();
        match tokens.last_mut() {
            Some(token) if is_word(last) && is_word(letter) => token.end = end,
            _ if letter.is_whitespace() => {}
            _ => tokens.push(at..end),
        }
        last = letter;
    }
    tokens
}

fn inside(text: &str, at: &Range<usize>, what: &str) {
    let is_inside = at.start <= at.end && text.get(at.clone()).is_some();
    assert!(is_inside, "{what}: {at:?} is not in the text:\n{text}");
}

fn items(text: &str, all: &[Item], within: &Range<usize>) {
    for item in all {
        inside(text, &item.at, "outline");
        inside(text, &item.head, "outline");
        inside(text, &item.name_at, "outline");
        assert_eq!(&text[item.name_at.clone()], item.name);
        let contains = |outer: &Range<usize>, inner: &Range<usize>| {
            outer.start <= inner.start && inner.end <= outer.end
        };
        assert!(
            contains(within, &item.at),
            "{:?} is not in {within:?}:\n{text}",
            item.at
        );
        assert!(contains(&item.at, &item.name_at));
        items(text, &item.children, &item.at);
    }
}

/// Asks everything that needs no position.
fn of_text(snapshot: &Snapshot, files: &Texts, path: &Path) {
    let text = snapshot.text();
    let whole = 0..text.len();
    items(text, &outline(text), &whole);
    for fold in folds(text) {
        inside(text, &fold.at, "fold");
    }
    let mut end = 0;
    for token in semantic_tokens(snapshot, &whole) {
        inside(text, &token.at, "semantic token");
        assert!(
            token.at.start >= end && !text[token.at.clone()].contains('\n'),
            "{text}"
        );
        end = token.at.end;
    }
    for hint in hints(snapshot, &whole) {
        inside(text, &(hint.at..hint.at), "hint");
    }
    let names = unknown_names(snapshot, &whole).into_iter();
    let elsewhere = names.map(|(name, _)| Elsewhere {
        kind: ItemKind::Alias,
        name,
        import: Some("other.proto".to_owned()),
    });
    let elsewhere: Vec<Elsewhere> = elsewhere.collect();
    for fix in fixes(snapshot, &whole, &request(path), files, &elsewhere) {
        for (at, _) in &fix.edits {
            inside(text, at, "fix");
        }
    }
    for (at, _) in organized(snapshot) {
        inside(text, &at, "import");
    }
    for item in outline(text) {
        for within in [&item.name_at, &(item.name_at.start..item.at.end)] {
            if let Ok(Some((at, _))) = formatted(snapshot, Some(within)) {
                inside(text, &at, "layout");
            }
        }
    }
}

/// Asks everything at a position.
fn at(snapshot: &Snapshot, offset: usize) {
    let text = snapshot.text();
    let paths = |_: &str| vec!["a.proto".to_owned()];
    for found in complete(snapshot, offset, &paths, &mut |_| Vec::new()) {
        let at = &found.replaced;
        inside(text, at, "completion");
        assert!(
            at.start <= offset && offset <= at.end,
            "{at:?} is not at {offset}:\n{text}"
        );
    }
    let span = |span: duologue::source::Span, what: &str| {
        let source = snapshot.compilation.sources.get(span.source);
        inside(source.text(), &span.range(), what);
    };
    if let Some((from, to)) = definition(snapshot, offset) {
        span(from, "definition");
        span(to, "definition");
    }
    for to in type_definitions(snapshot, offset) {
        span(to, "type definition");
    }
    if let Some((protocol, _)) = state_at(snapshot, offset) {
        for (.., message) in transitions(snapshot.program().protocol(protocol)) {
            span(message, "transition");
        }
    }
    for found in references(snapshot, offset) {
        span(found.span, "reference");
    }
    for found in highlights(snapshot, offset) {
        span(found.span, "highlight");
    }
    if let Some(found) = name_at(snapshot, offset) {
        span(found.span, "name");
    }
    let _ = prepare(snapshot, offset);
}

/// Hovering and selecting take longer, because they follow every way and every bracket.
fn at_length(snapshot: &Snapshot, offset: usize) {
    let text = snapshot.text();
    if let Some(found) = hover(snapshot, offset, &duologue::languages::Options::default()) {
        inside(text, &found.span.range(), "hover");
        assert!(!found.text.is_empty());
    }
    let mut last = offset..offset;
    for around in selections(text, &[offset]).concat() {
        inside(text, &around, "selection");
        assert!(around.start <= last.start && last.end <= around.end);
        last = around;
    }
}

/// Examples of which every position is asked about.
const SMALL: [&str; 3] = ["bank.proto", "feed.proto", "pingpong.proto"];

/// The small examples without each of their tokens, of which every position has an answer, and the others without each fourth: there every
/// position near the gap has one, and so has each eighth token elsewhere, others for each gap. All positions of all damaged texts take
/// minutes.
#[test]
#[ignore = "slow: positions"]
fn positions_of_every_example_without_a_token_have_an_answer() {
    for name in SMALL {
        let is_it = |(path, _): &(PathBuf, String)| path == Path::new(name);
        assert!(examples().iter().any(is_it), "{name} is not an example");
    }
    has_answers(|path| SMALL.iter().any(|name| path == Path::new(name)));
}

#[test]
#[ignore = "nightly: positions"]
fn all_positions_of_every_example_without_a_token_have_an_answer() {
    has_answers(|_| true);
}

/// Asks about every position of the examples that are small, and about some of the others.
fn has_answers(is_small: impl Fn(&Path) -> bool + Sync) {
    let examples = examples();
    let next = AtomicUsize::new(0);
    let asked = AtomicUsize::new(0);
    let work = || {
        let mut files = Texts::of(&examples);
        while let Some((path, text)) = examples.get(next.fetch_add(1, Ordering::Relaxed)) {
            asked.fetch_add(
                without_each_token(&mut files, path, text, is_small(path)),
                Ordering::Relaxed,
            );
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let asked = asked.into_inner();
    println!("{asked} positions of {} examples", examples.len());
    assert!(asked > 50_000, "only {asked} positions were asked about");
}

/// Asks about an example without each of its tokens; returns about how many positions.
fn without_each_token(files: &mut Texts, path: &Path, text: &str, is_small: bool) -> usize {
    let mut asked = 0;
    let step = if is_small { 1 } else { 4 };
    for (number, gap) in tokens(text).into_iter().enumerate().step_by(step) {
        let mut damaged = text.to_owned();
        damaged.replace_range(gap.clone(), "");
        files.set(path, damaged.clone());
        let snapshot = snapshot(files, path);
        of_text(&snapshot, files, path);
        if is_small {
            let offsets = 0..damaged.len() + 1;
            for offset in offsets.filter(|offset| damaged.is_char_boundary(*offset)) {
                at(&snapshot, offset);
                asked += 1;
            }
        }
        for (index, token) in tokens(&damaged).into_iter().enumerate() {
            let is_near = token.start.abs_diff(gap.start) < 12;
            let offsets = match is_near {
                _ if is_small => 0..0,
                true => token.start..token.end + 1,
                false if (index + number / step) % 8 == 0 => token.end..token.end + 1,
                false => 0..0,
            };
            for offset in offsets {
                if damaged.is_char_boundary(offset) {
                    at(&snapshot, offset);
                    asked += 1;
                }
            }
            if is_near || (index + number / step) % if is_small { 8 } else { 32 } == 0 {
                at_length(&snapshot, token.end);
            }
        }
    }
    files.set(path, text.to_owned());
    asked
}

#[test]
fn random_edits_are_survived_in_memory() {
    let examples = examples();
    let mut files = Texts::of(&examples);
    let mut random = Choices::new(0x2545_f491_4f6c_dd1d);
    for round in 0..80 {
        let (path, text) = &examples[random.below(examples.len())];
        let mut text = text.clone();
        for _ in 0..=random.below(12) {
            let mut ends = [random.below(text.len() + 1), 0];
            ends[1] = (ends[0] + random.below(20)).min(text.len());
            let [start, end] = ends.map(|mut at| {
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            });
            text.replace_range(start..end, random.piece());
        }
        files.set(path, text.clone());
        let snapshot = snapshot(&files, path);
        of_text(&snapshot, &files, path);
        let lines = Lines::of(&text);
        for _ in 0..40 {
            let mut offset = random.below(text.len() + 1);
            while !text.is_char_boundary(offset) {
                offset -= 1;
            }
            at(&snapshot, offset);
            at_length(&snapshot, offset);
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                let place = lines.place(&text, offset, encoding);
                let back = lines.offset(&text, place, encoding);
                let rest = &text[back.min(offset)..back.max(offset)];
                assert!(
                    rest.chars().all(|c| c == '\r' || c == '\n'),
                    "round {round}: {rest:?}"
                );
            }
            let place = Position {
                line: random.below(300) as u32,
                character: random.below(300) as u32,
            };
            let found = lines.offset(&text, place, Encoding::Utf16);
            assert!(text.is_char_boundary(found));
        }
    }
}

/// A text that a client edits bit by bit is the same for the server as for the client: its outline and tokens are those of the whole text.
#[test]
fn changes_bit_by_bit_are_the_whole_text() {
    let folder = folder("changes");
    let mut client = Client::open(&folder);
    let [one, other] = ["one.proto", "other.proto"].map(|name| uri(&folder.join(name)));
    let mut random = Choices::new(0x9e37_79b9_7f4a_7c15);
    for (round, (_, text)) in examples().into_iter().enumerate() {
        let mut text = text;
        client.did_open(&one, &text);
        for edit in 0..30 {
            let mut ends = [random.below(text.len() + 1), 0];
            ends[1] = (ends[0] + random.below(9)).min(text.len());
            let [start, end] = ends.map(|mut at| {
                // No position is between a carriage return and its line feed.
                while !text.is_char_boundary(at) || text[..at].ends_with('\r') {
                    at -= 1;
                }
                at
            });
            let lines = Lines::of(&text);
            let place = |offset| {
                let place = lines.place(&text, offset, Encoding::Utf16);
                json!({ "line": place.line, "character": place.character })
            };
            let piece = random.piece();
            let change =
                json!({ "range": { "start": place(start), "end": place(end) }, "text": piece });
            text.replace_range(start..end, piece);
            client.notify(
                "textDocument/didChange",
                json!({ "textDocument": { "uri": one, "version": edit + 2 }, "contentChanges": [change] }),
            );
        }
        client.did_open(&other, &text);
        for method in [
            "textDocument/documentSymbol",
            "textDocument/semanticTokens/full",
            "textDocument/foldingRange",
        ] {
            let [found, expected] = [&one, &other]
                .map(|uri| client.request(method, json!({ "textDocument": { "uri": uri } })));
            assert_eq!(found, expected, "round {round}, {method}:\n{text}");
        }
        for uri in [&one, &other] {
            client.notify(
                "textDocument/didClose",
                json!({ "textDocument": { "uri": uri } }),
            );
        }
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn all_ranges_of_answers_are_inside_the_text() {
    let folder = folder("ranges");
    let mut client = Client::open(&folder);
    let uri = uri(&folder.join("a.proto"));
    let mut random = Choices::new(77);
    for (_, text) in examples() {
        let mut text = text;
        let at = tokens(&text);
        text.replace_range(at[random.below(at.len())].clone(), "\u{1f600}");
        client.did_open(&uri, &text);
        let lines: Vec<usize> = text
            .split('\n')
            .map(|line| line.encode_utf16().count())
            .collect();
        let place = json!({ "line": random.below(lines.len()), "character": random.below(30) });
        let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": lines.len(), "character": 0 } });
        let asked = json!({
            "textDocument": { "uri": uri }, "position": place, "positions": [place], "range": whole,
            "context": { "diagnostics": [], "includeDeclaration": true }, "newName": "renamed",
        });
        for method in super::hostile::METHODS {
            let answer = client.response(method, asked.clone());
            ranges(&answer, &mut |range| {
                for end in ["start", "end"] {
                    let [line, column] = ["line", "character"]
                        .map(|name| range[end][name].as_u64().expect("a number") as usize);
                    let is_inside = lines.get(line).is_some_and(|length| column <= *length);
                    assert!(is_inside, "{method}: {range}\n{text}");
                }
            });
        }
    }
    assert_eq!(client.end(), Some(0));
}

/// Calls `visit` for every range in an answer.
fn ranges(value: &Value, visit: &mut impl FnMut(&Value)) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("start") && fields.contains_key("end") {
                visit(value);
            }
            fields.values().for_each(|value| ranges(value, visit));
        }
        Value::Array(list) => list.iter().for_each(|value| ranges(value, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
