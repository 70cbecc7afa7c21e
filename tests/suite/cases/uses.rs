//! Programs with errors, and the table of what every name refers to.

use super::compile_text;
use crate::support::repository;
use crate::support::texts::findings;
use crate::syntax::leaves;
use crate::tidy::files;
use duologue::compile::{Compilation, Input, Request, compile};
use duologue::files::Disk;
use duologue::protocol::{Next, Referent, Type, Use};
use std::path::Path;

/// The words that begin declarations. They are no names where they do.
const KEYWORDS: [&str; 10] = [
    "package", "import", "type", "struct", "enum", "extern", "bound", "from", "drop", "proto",
];

/// The words of a text outside of comments and strings, with where they are. A unit may follow its number without a space.
fn words(text: &str) -> Vec<(usize, &str)> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut end = 0;
    let words = leaves(text).into_iter().filter_map(|leaf| {
        end += leaf.len();
        let tail = leaf.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let word = tail.split(|letter| !is_word(letter)).next()?;
        (!word.is_empty()).then_some((end - tail.len(), word))
    });
    words.collect()
}

/// Every word of every text is in the table exactly once, or a keyword; and nothing else is in it, except for imports.
fn hold(compilation: &Compilation) {
    let uses: Vec<&Use> = compilation.program.uses.iter().collect();
    for file in &compilation.program.files {
        let source = compilation.sources.get(file.source);
        let (text, name) = (source.text(), source.name());
        let mut own = uses
            .iter()
            .filter(|found| found.span.source == file.source)
            .peekable();
        let mut last = 0;
        for (at, word) in words(text) {
            while let Some(import) = own.next_if(|found| found.span.range().end <= at) {
                let is_import = matches!(import.referent, Referent::Import(_));
                let is_tail = import.span.range().end == last;
                assert!(is_import || is_tail, "{name}: {import:?} is no word");
            }
            let Some(found) = own.peek().filter(|found| found.span.range().start <= at) else {
                assert!(
                    KEYWORDS.contains(&word),
                    "{name}: `{word}` at byte {at} is missing"
                );
                continue;
            };
            let range = found.span.range();
            last = range.end;
            // The name of a rule is several words, and a fingerprint may begin with digits.
            let is_whole = range == (at..at + word.len());
            assert!(
                is_whole || matches!(found.referent, Referent::Rule | Referent::Fingerprint),
                "{name}: {found:?} is not `{word}`"
            );
            assert!(
                range.end >= at + word.len(),
                "{name}: {found:?} ends within `{word}`"
            );
        }
        assert!(
            own.all(|found| matches!(found.referent, Referent::Import(_))
                || found.span.range().end == last)
        );
    }
    for pair in uses.windows(2) {
        let [one, two] = [pair[0].span, pair[1].span];
        assert!(
            one.source < two.source || one.end <= two.start,
            "{one:?} and {two:?} overlap"
        );
    }
}

fn compiled(path: &Path) -> Compilation {
    let mut request = Request::default();
    request.inputs = vec![Input::Path(path.to_path_buf())];
    request.import_dirs = vec![repository().join("protocols")];
    compile(&request, &Disk).expect("it can be read")
}

#[test]
fn every_name_of_every_sound_file_is_in_the_table_exactly_once() {
    let mut sound = 0;
    for folder in ["protocols", "tests", "docs"] {
        for path in files(folder) {
            if !path
                .extension()
                .is_some_and(|ending| ending == "proto" || ending == "duo")
            {
                continue;
            }
            let compilation = compiled(&path);
            if compilation.checked.is_none() {
                continue;
            }
            sound += 1;
            hold(&compilation);
            let program = &compilation.program;
            let unknown =
                |found: &&Use| matches!(found.referent, Referent::Unknown | Referent::Import(None));
            assert_eq!(
                program.uses.iter().find(unknown),
                None,
                "{}",
                path.display()
            );
            assert!(program.protocols.iter().all(|protocol| protocol.is_known()));
            let types = program.types.iter().flat_map(|ty| ty.definition.parts());
            assert!(types.into_iter().all(|ty| !ty.has_error()));
        }
    }
    assert!(sound > 100, "only {sound} files");
}

/// What the names of a text refer to, one after the other.
fn table(text: &str) -> Vec<(String, String)> {
    let compilation = compile_text(text);
    let name = |found: &Use| text[found.span.range()].to_owned();
    let uses = compilation.program.uses.iter();
    uses.map(|found| {
        let kind = format!("{:?}", found.referent);
        let kind = kind.split('(').next().unwrap_or_default().to_owned();
        let declared = if found.is_declaration { " here" } else { "" };
        (name(found), kind + declared)
    })
    .collect()
}

#[test]
fn the_table_says_what_each_name_is() {
    let text = "
package a;
extern bound near { rust = \"N\"; }
struct item { x: u8 }
enum which { one, two(y: item) }
extern type date: clone;
#[dual_of(q)] #[allow(never-ends)] #[at_most(1 KiB)]
proto! p { s:send<T: near> { m(z: [T]?, which) -> s<T>, e(q::client::r, other) -> ! } }
proto! q { r:recv { m(date) -> r } }
proto! i = p<u8>;
";
    let found = table(text);
    let wanted = "a Package, near Bound here, rust Language, item Type here, x Field here, u8 Builtin, which Type here, \
        one Variant here, two Variant here, y Value here, item Type, date Type here, clone BuiltinBound, dual_of Attribute, q Protocol, \
        allow Attribute, never-ends Rule, at_most Attribute, KiB Unit, p Protocol here, s State here, send Direction, \
        T Parameter here, near Bound, m Message here, z Entry here, T Parameter, which Type, s State, T Parameter, e Message here, \
        q Protocol, client Side, r State, other Type, q Protocol here, r State here, recv Direction, m Message here, date Type, r State, \
        i Instance here, p Protocol, u8 Builtin";
    let found: Vec<String> = found
        .into_iter()
        .map(|(name, kind)| format!("{name} {kind}"))
        .collect();
    assert_eq!(found.join(", "), wanted);
}

#[test]
fn positions_lead_to_declarations_and_to_references() {
    let text = "proto! p { first:send { go -> second } second:recv { back -> first, end -> ! } }";
    let compilation = compile_text(text);
    let uses = &compilation.program.uses;
    let source = compilation.program.files[0].source;
    let arrow = text.find("-> second").expect("it is there") + 3;
    for position in [arrow, arrow + 3, arrow + 6] {
        let found = uses.at(source, position).expect("a name is there");
        let declared = uses.declaration(found.referent).expect("it is declared");
        assert_eq!(declared.range(), 39..45);
        assert_eq!(uses.of(found.referent).count(), 2);
    }
    assert_eq!(uses.at(source, arrow - 1), None);
    assert_eq!(uses.at(source, text.len() + 10), None);
}

/// A program with errors is there, with all that was understood, and the parts that were not are marked.
#[test]
fn a_program_survives_its_errors() {
    let text = "
type lost = q::client::a;
proto! p { a:send { m(q::client::a, u8) -> b, n([q::middle::a]) -> nowhere } b:recv { o -> a<u8> } }
proto! i = q<u8>;
";
    let compilation = compile_text(text);
    assert!(compilation.checked.is_none());
    let program = &compilation.program;
    let protocol = &program.protocols[0];
    assert!(!protocol.is_known() && !protocol.is_broken);
    let [m, n] = &protocol.states[0].messages[..] else {
        panic!("{protocol:?}")
    };
    assert_eq!(m.entries[0].ty, Type::Error);
    assert!(matches!(m.next, Next::State { .. }) && n.next == Next::Error);
    assert_eq!(n.entries[0].ty, Type::List(Box::new(Type::Error)));
    assert_eq!(protocol.states[1].messages[0].next, Next::Error);
    assert!(program.types[0].definition.parts()[0].has_error());
    let unknown = program
        .uses
        .iter()
        .filter(|found| found.referent == Referent::Unknown);
    let unknown: Vec<&str> = unknown.map(|found| &text[found.span.range()]).collect();
    assert_eq!(
        unknown,
        ["q", "a", "q", "a", "q", "middle", "a", "nowhere", "i", "q"],
        "{}",
        findings(&compilation)
    );
    hold(&compilation);
}
