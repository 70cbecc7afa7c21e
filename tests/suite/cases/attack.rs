//! Deliberately broken texts. Whatever the bytes are, the result is a list of findings or a checked program.

use crate::support::choices::Choices;
use crate::support::rust::protocols_in;
use crate::support::texts::{compile_texts, fired};
use std::fs;

/// Compiles the bytes. Every finding must be located inside its text, and the result must be findings or a checked program.
fn survives(bytes: &[u8]) {
    let compilation = compile_texts(&[("main.proto", bytes)]);
    for found in &compilation.diagnostics {
        let labels = std::iter::once(&found.primary).chain(&found.related);
        for span in labels.map(|label| label.span) {
            let text = compilation.sources.get(span.source).text();
            assert!(
                text.get(span.range()).is_some(),
                "{span:?} is not inside {text:?}"
            );
        }
        assert!(
            !found.message.is_empty() && !found.message.contains('\n'),
            "{found:?}"
        );
    }
    assert!(compilation.checked.is_some() || !compilation.diagnostics.is_empty());
}

/// All `.proto` files of a folder of the repository, in order.
fn texts(folder: &str) -> Vec<Vec<u8>> {
    let paths = protocols_in(folder).into_iter();
    paths
        .map(|path| fs::read(path).expect("a protocol"))
        .collect()
}

#[test]
fn prefixes_of_a_protocol_are_handled() {
    for (number, text) in texts("protocols").into_iter().enumerate() {
        for end in (number % 3..text.len()).step_by(3) {
            survives(&text[..end]);
        }
    }
}

#[test]
fn changed_texts_are_handled() {
    let mut random = Choices::new(0x2012_0706);
    let texts: Vec<_> = ["protocols", "tests/corpus/literature", "tests/corpus/2012"]
        .iter()
        .flat_map(|folder| texts(folder))
        .collect();
    for _ in 0..2_000 {
        let mut text = texts[random.below(texts.len())].clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(text.len() + 1);
            let end = (at + random.below(12)).min(text.len());
            match random.below(5) {
                0 => drop(text.drain(at..end)),
                1 => drop(text.splice(at..at, random.piece().bytes())),
                2 => drop(text.splice(at..end, random.piece().bytes())),
                3 => {
                    let copy = text[at..end].to_vec();
                    let to = random.below(text.len() + 1);
                    drop(text.splice(to..to, copy));
                }
                _ => {
                    let byte = u8::try_from(random.below(256)).expect("a byte");
                    drop(text.splice(at..at, [byte]));
                }
            }
        }
        survives(&text);
    }
}

#[test]
fn random_bytes_and_random_words_are_handled() {
    let mut random = Choices::new(0x2013_0801);
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..random.below(60))
            .map(|_| u8::try_from(random.below(256)).expect("a byte"))
            .collect();
        survives(&bytes);
        let words: Vec<&str> = (0..random.below(40)).map(|_| random.piece()).collect();
        survives(words.join(random.one_of(&["", " "])).as_bytes());
    }
}

/// Runs on a thread with a stack of 256 KiB, which is small on any platform.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(work);
    thread.expect("a thread").join().expect("no panic");
}

#[test]
fn deep_nesting_is_handled_on_a_small_stack() {
    const DEPTH: usize = 5_000;
    let payload = |open: &str, inner: &str, close: &str| {
        let ty = format!("{}{inner}{}", open.repeat(DEPTH), close.repeat(DEPTH));
        format!("proto! p {{ s:send<T> {{ m({ty}) -> ! }} }}")
    };
    let texts = [
        payload("[", "u8", "]"),
        payload("(", "u8", ")"),
        payload("(u8, ", "u8", ")"),
        payload("~", "u8", ""),
        payload("", "u8", "?"),
        payload("p::client::s<", "u8", ">"),
        payload("[", "u8", ""),
        payload("(", "", ""),
        payload("p::client::s<", "", ""),
        format!(
            "proto! p {{ s:send<T> {{ m -> {}u8{} }} }}",
            "s<".repeat(DEPTH),
            ">".repeat(DEPTH)
        ),
        "proto! p { s:send { m -> ! } } ".to_owned() + &"/*".repeat(DEPTH) + &"*/".repeat(DEPTH),
        "/*".repeat(DEPTH),
        "{".repeat(DEPTH),
        "(".repeat(DEPTH),
        "proto! p {".repeat(DEPTH),
        "proto! p { s:send {".repeat(DEPTH),
        format!("type a = {}u8{};", "[".repeat(DEPTH), "]".repeat(DEPTH)),
        format!(
            "struct a {{ b: {}u8{} }}",
            "(".repeat(DEPTH),
            ")".repeat(DEPTH)
        ),
        format!(
            "enum a {{ b({}u8{}) }}",
            "[".repeat(DEPTH),
            "]".repeat(DEPTH)
        ),
        format!(
            "proto! q = p<{}u8{}>;",
            "[".repeat(DEPTH),
            "]".repeat(DEPTH)
        ),
        "#[allow(a)] ".repeat(DEPTH) + "proto! p { s:send { m -> ! } }",
        "#[".repeat(DEPTH),
    ];
    on_a_small_stack(move || texts.iter().for_each(|text| survives(text.as_bytes())));
}

#[test]
fn long_chains_of_declarations_are_handled_on_a_small_stack() {
    const LENGTH: usize = 5_000;
    let aliases: String = (0..LENGTH)
        .map(|n| format!("type a{n} = a{};\n", n + 1))
        .collect();
    let structs: String = (0..LENGTH)
        .map(|n| format!("struct a{n} {{ next: a{} }}\n", n + 1))
        .collect();
    let lists: String = (0..LENGTH)
        .map(|n| format!("struct a{n} {{ next: [a{}] }}\n", n + 1))
        .collect();
    let states: String = (0..LENGTH)
        .map(|n| format!("s{n}:send {{ m -> s{} }}\n", n + 1))
        .collect();
    let generic: String = (0..LENGTH)
        .map(|n| format!("s{n}:send<T: send> {{ m(T) -> s{}<T> }}\n", n + 1))
        .collect();
    let texts = [
        format!("{aliases} type a{LENGTH} = u8; proto! p {{ s:send {{ m(a0) -> ! }} }}"),
        format!("{aliases} type a{LENGTH} = a0; proto! p {{ s:send {{ m(a0) -> ! }} }}"),
        format!("{structs} type a{LENGTH} = u8; proto! p {{ s:send {{ m(a0) -> ! }} }}"),
        format!("{structs} type a{LENGTH} = a0; proto! p {{ s:send {{ m(a0) -> ! }} }}"),
        format!("{lists} type a{LENGTH} = a0; proto! p {{ s:send {{ m(a0) -> ! }} }}"),
        format!("proto! p {{ {states} s{LENGTH}:recv {{ m -> ! }} }}"),
        format!("proto! p {{ {states} s{LENGTH}:recv {{ m -> s0 }} }}"),
        format!("proto! p {{ {generic} s{LENGTH}:recv<T> {{ m(T) -> ! }} }} proto! q = p<u8>;"),
    ];
    on_a_small_stack(move || texts.iter().for_each(|text| survives(text.as_bytes())));
}

/// Texts that repeat one word. If compiling took quadratic time, this test would run for many minutes.
#[test]
fn long_repetitions_are_handled() {
    const SIZE: usize = 1 << 15;
    let words = [
        "~",
        "?",
        "(",
        ")",
        "[",
        "{",
        "}",
        "<",
        ">",
        "/*",
        "*/",
        "///\n",
        "//!\n",
        "// x\n",
        "a",
        "a ",
        "a, ",
        "a:b ",
        "a::",
        "->",
        "!",
        "\"",
        "#",
        "#[",
        "\n",
        "\r",
        "\\",
        "ö",
        "\0",
        ";",
        "proto! ",
        "proto! p ",
        "proto! p { } ",
        "import \"a\"; ",
        "type a = ",
        "s:send { m -> ! } ",
        "s:send { ",
        "m(",
    ];
    for word in words {
        survives(word.repeat(SIZE / word.len()).as_bytes());
    }
    for (before, word, after) in [
        ("proto! p { s:send { m(", "~", "u8) -> ! } }"),
        ("proto! p { s:send { m(", "a ", ") -> ! } }"),
        ("proto! p { s:send { m(", "u8, ", "u8) -> ! } }"),
        ("proto! p { s:send { ", "m -> !, ", "} }"),
        ("proto! p { ", "s:send { m -> ! } ", "}"),
        ("type ", "a", " = u8;"),
        ("proto! p { s:send { m -> ", "!", " } }"),
        ("proto! p { s:send { ", "/// x\n", "m -> ! } }"),
        ("proto! p { s:send { m -> ! } } // ", "x", ""),
        ("proto! p { s:send { m(", "[", ""),
        ("import \"", "a", "\";"),
    ] {
        let text = format!("{before}{}{after}", word.repeat(SIZE / word.len()));
        survives(text.as_bytes());
    }
}

/// Each state ends where the next one begins only for a search that has a limit. If there were none, this test would run for many
/// minutes.
#[test]
fn states_with_many_brackets_are_handled() {
    const SIZE: usize = 1 << 19;
    let state = format!("b {{ {}{} ", "{".repeat(200), "}".repeat(129));
    let text = format!("proto! p {{ {}", state.repeat(SIZE / state.len()));
    survives(text.as_bytes());
}

#[test]
fn type_arguments_that_change_places_are_handled() {
    let names: Vec<String> = (0..12).map(|n| format!("T{n}")).collect();
    let swapped = [&[names[1].clone(), names[0].clone()], &names[2..]]
        .concat()
        .join(", ");
    let turned = [&names[1..], &[names[0].clone()]].concat().join(", ");
    let all = names.join(", ");
    survives(
        format!("proto! p {{ s:send<{all}> {{ swap -> s<{swapped}>, turn -> s<{turned}>, m({all}) -> ! }} }}").as_bytes(),
    );
}

#[test]
fn a_protocol_with_errors_that_grows_without_bound_is_handled() {
    survives(
        b"extern type date { c: time_t }\n\
          proto! stream { open:send<T: clone> { next(T, date) -> open<T>, hand(stream::server::open<[T]>) -> ! } }\n\
          proto! dates = stream<date>;\n\
          proto! words { say:send { one(stream::client::open<str>) -> ! } }\n",
    );
}

/// The comparison of two protocols goes through the endpoints that they carry, into protocols that have errors and grow.
#[test]
fn duals_that_carry_protocols_with_errors_are_handled() {
    let grows = [
        ("a(T) -> s<[T]>", "b -> nosuch"),
        ("a(T) -> s<[T]>", "b(nosuch::client::z) -> !"),
        ("a(x::client::s<[T]>) -> !", "b -> nosuch"),
    ];
    for (grows, error) in grows {
        survives(
            format!(
                "proto! x {{ s:send<T> {{ {grows}, {error} }} }}\n\
                 proto! y {{ s:send<T> {{ {grows}, {error} }} }}\n\
                 #[dual_of(q)] proto! p {{ s:send {{ m(x::client::s<u8>) -> s, z -> ! }} }}\n\
                 proto! q {{ s:recv {{ m(y::client::s<u8>) -> s, z -> ! }} }}"
            )
            .as_bytes(),
        );
    }
}

/// Nothing is said about two types that differ only in something that is not known.
#[test]
fn duals_with_errors_in_their_types_are_not_compared() {
    let texts = [
        "type t = nosuch<u8>; #[dual_of(q)] proto! p { s:send { a(t) -> s, q -> ! } } proto! q { s:recv { a(u8) -> s, q -> ! } }",
        "struct t { f: nosuch<u8> } struct u { f: u8 } #[dual_of(q)] proto! p { s:send { a(t) -> s, q -> ! } }\n\
         proto! q { s:recv { a(u) -> s, q -> ! } }",
    ];
    for text in texts {
        let compilation = compile_texts(&[("main.proto", text.as_bytes())]);
        let rules = fired(&compilation);
        assert!(
            !rules.is_empty() && !rules.contains(&"not-dual"),
            "{rules:?}"
        );
    }
}

/// Each protocol passes two arguments on to the next one, so the number of arguments doubles.
#[test]
fn versions_that_double_with_each_protocol_are_an_error() {
    let text = |protocols: usize| {
        let mut text = String::new();
        for i in 0..protocols {
            let next = i + 1;
            text += &format!(
                "proto! p{i} {{ s:send<T> {{ a(p{next}::client::s<[T]>) -> !, b(p{next}::client::s<T?>) -> ! }} }}\n"
            );
        }
        text + &format!("proto! p{protocols} {{ s:send<T> {{ a(T) -> ! }} }} proto! i = p0<u8>;")
    };
    let rules = |text: &str| fired(&compile_texts(&[("main.proto", text.as_bytes())]));
    assert_eq!(rules(&text(6)), [""; 0]);
    assert_eq!(rules(&text(30)), ["expanding-recursion"]);
}
