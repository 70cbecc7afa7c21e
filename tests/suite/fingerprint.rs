//! Fingerprints: what they depend on, what they do not depend on, and that they never change.

use crate::support::program::Scratch;
use crate::support::repository;
use crate::support::texts::Texts;
use crate::tidy::files;
use duologue::compile::Compilation;
use duologue::diagnostic::Level;
use duologue::fingerprint::Fingerprint;
use duologue::protocol::ProtocolId;
use duologue::relation::{View, canonical, difference};
use std::fmt::Write;
use std::path::PathBuf;

/// Compiles the files together.
fn compiled(files: &[PathBuf]) -> Compilation {
    let mut texts = Texts::default();
    for path in files {
        let name = path.file_name().and_then(|name| name.to_str());
        let text = std::fs::read_to_string(path).expect("it can be read");
        texts = texts.with(name.expect("a UTF-8 name"), text);
    }
    texts.compile_some(texts.names(), &[("all", Level::Allow)])
}

/// Every protocol without type parameters, and every instance, with its fingerprint.
fn fingerprints(files: &[PathBuf]) -> Vec<(String, Fingerprint)> {
    let compiled = compiled(files);
    let all = views(&compiled);
    all.map(|(name, view)| (name, Fingerprint::of(view)))
        .collect()
}

fn views(compiled: &Compilation) -> impl Iterator<Item = (String, View<'_>)> {
    let checked = compiled.checked.as_ref();
    let program = checked.expect("the text is sound").program();
    let protocols = (0..program.protocols.len()).map(ProtocolId::new);
    let plain = protocols.filter(|id| !program.protocol(*id).is_generic());
    let plain = plain.map(|id| {
        let name = program.protocol(id).name.to_string();
        (name, View::of(program, id))
    });
    let instances = program.instances.iter();
    plain.chain(instances.map(|own| (own.name.to_string(), View::instance(program, own))))
}

#[test]
fn protocols_of_a_file_in_same_have_one_fingerprint() {
    for path in files("tests/fingerprint/same") {
        let all = fingerprints(std::slice::from_ref(&path));
        assert!(all.len() >= 2, "{}", path.display());
        for (name, own) in &all {
            assert_eq!(*own, all[0].1, "{name} in {}", path.display());
        }
    }
}

#[test]
fn protocols_of_a_file_in_different_have_one_each() {
    for path in files("tests/fingerprint/different") {
        let all = fingerprints(std::slice::from_ref(&path));
        assert!(all.len() >= 2, "{}", path.display());
        for (at, (name, own)) in all.iter().enumerate() {
            for (other, theirs) in &all[..at] {
                assert_ne!(own, theirs, "{name} and {other} in {}", path.display());
            }
        }
    }
}

/// Deployed programs rely on fingerprints, so none may change as long as the version in the hashed text does not.
#[test]
fn fingerprints_stay_what_they_are() {
    let mut written = String::new();
    for (name, fingerprint) in fingerprints(&files("protocols")) {
        writeln!(written, "{name} {fingerprint}").expect("writing to a string cannot fail");
    }
    let path = repository().join("tests/wire/fingerprints.txt");
    let kept = std::fs::read_to_string(&path).expect("it is there");
    let missing: Vec<&str> = written
        .lines()
        .filter(|line| !kept.lines().any(|known| known == *line))
        .collect();
    assert!(
        missing.is_empty() && kept.lines().count() == written.lines().count(),
        "tests/wire/fingerprints.txt should have:\n{}",
        missing.join("\n")
    );
}

/// Equal fingerprints mean equal behavior, in all protocols of the corpus and of `protocols/`.
#[test]
fn equal_fingerprints_mean_equal_behavior() {
    let folders = ["tests/corpus/2012", "tests/corpus/literature"];
    let corpus = folders.into_iter().flat_map(files);
    let corpus = corpus.filter(|path| path.extension().is_some_and(|end| end == "proto"));
    let mut all: Vec<Compilation> = corpus.map(|path| compiled(&[path])).collect();
    all.push(compiled(&files("protocols")));
    let sound = all.iter().filter(|compiled| compiled.checked.is_some());
    let views: Vec<(String, View<'_>)> = sound.flat_map(views).collect();
    let hashes: Vec<Fingerprint> = views
        .iter()
        .map(|(_, view)| Fingerprint::of(*view))
        .collect();
    let mut seen = (0, 0);
    for ((name, one), hash) in views.iter().zip(&hashes) {
        assert_eq!(*hash, Fingerprint::of(one.turned()), "{name} and its dual");
        for ((other_name, other), other_hash) in views.iter().zip(&hashes) {
            let is_same = hash == other_hash;
            let is_equal = difference(*one, *other).is_none();
            let is_dual = difference(*one, other.turned()).is_none();
            assert!(!is_same || is_equal || is_dual, "{name}, {other_name}");
            seen.0 += usize::from(is_same);
            seen.1 += usize::from(!is_same);
        }
    }
    assert!(seen.0 > 40 && seen.1 > 1_000, "{seen:?}");
}

#[test]
fn what_stays_in_its_process() {
    let text = "extern type buffer;\nstruct held { name: str, all: [buffer?] }\n\
                proto! a { s:send { m(u8) -> s, n(a::client::s) -> ! } }\n\
                proto! b { s:send { m(u8) -> t } t:recv { n([held]) -> s } }\n\
                proto! c { s:send { m(u8, str) -> ! } }\n";
    let texts = Texts::default().with("test.proto", text);
    let compiled = texts.compile_some(texts.names(), &[("all", Level::Allow)]);
    let told: Vec<String> = views(&compiled)
        .map(|(name, view)| match canonical(view).obstacle {
            Some(obstacle) => format!("{name}: {obstacle}"),
            None => name,
        })
        .collect();
    let expected = [
        "a: message `n` of state `s` carries an endpoint",
        "b: message `n` of state `t` carries the external type `buffer`",
        "c",
    ];
    assert_eq!(told, expected);
}

#[test]
fn the_command() {
    let bank = include_str!("../../protocols/bank.proto");
    let stream = "package a.b;\nextern type buffer;\n\
                  proto! stream { stream:send<T: send> { send(T) -> stream<T>, end -> ! } }\n\
                  proto! numbers = stream<u64>;\nproto! buffers = stream<buffer>;\n";
    let scratch = Scratch::with("fingerprint", &[("bank.proto", bank), ("s.proto", stream)]);
    insta::assert_snapshot!(scratch.transcript("fingerprint"));
    insta::assert_snapshot!(scratch.transcript("fingerprint bank.proto --text"));
}

/// Which side may accept the fingerprint of an older version. This depends on positions as well as on names.
#[test]
fn an_older_version_may_be_accepted() {
    let old = "proto! same { s:send { a -> ! } }\n\
               proto! grown { s:send { a(u8) -> t, b -> ! } t:recv { c -> s } }\n\
               proto! shrunk { s:send { a -> ! } t:recv { c -> ! } }\n\
               proto! heard { s:recv { a -> !, b -> s } }\n\
               proto! between { s:send { a -> t, b -> ! } t:send { c -> s, d -> ! } }\n\
               proto! other { s:send { a(u8) -> ! } }\n\
               proto! loops { s:send { a -> t } t:send { a -> u } u:send { a -> s, z -> ! } }\n";
    let new = "proto! same { first:send { a -> ! } }\n\
               proto! grown { s:send { a(u8) -> t, b -> !, more -> ! } t:recv { c -> s } }\n\
               proto! heard { s:recv { a -> ! } }\n\
               proto! between { s:send { a -> t, b -> ! } t:send { new -> !, c -> s, d -> ! } }\n\
               proto! other { s:send { a(u16) -> ! } }\n\
               proto! loops { s:send { a -> t, y -> ! } t:send { y -> !, a -> s, z -> ! } }\n\
               proto! added { s:send { a -> ! } }\n";
    let files = [("old/all.proto", old), ("all.proto", new)];
    let scratch = Scratch::with("accepts", &files);
    insta::assert_snapshot!(
        scratch.transcript("breaking all.proto --against old/all.proto -v --format short")
    );
    insta::assert_snapshot!(scratch.transcript("breaking old/all.proto --against old -v"));
    scratch.git(&["init", "--quiet"]);
    insta::assert_snapshot!(scratch.transcript("breaking all.proto --against nowhere"));
}

/// A protocol and its dual have the same fingerprint, but a client of one cannot talk to a server of the other.
#[test]
fn exchanged_sides_are_not_the_old_version() {
    let files = [
        (
            "old.proto",
            "proto! p { s:send { m -> t } t:recv { n -> s, o -> ! } }\n",
        ),
        (
            "new.proto",
            "proto! p { s:recv { m -> t } t:send { n -> s, o -> ! } }\n",
        ),
    ];
    let scratch = Scratch::with("exchanged-sides", &files);
    scratch.said(
        "breaking new.proto --against old.proto",
        1,
        &["old clients and new servers of `p` send at the same time"],
    );
    scratch.said("breaking old.proto --against old.proto", 0, &["p: same"]);
}

/// What `--accept` adds, keeps and corrects, and what `breaking` says before and afterwards.
#[test]
fn older_fingerprints_are_written_into_the_files() {
    let old = "package shop;\n\
               proto! grown { s:send { a(u8) -> t, b -> ! } t:recv { c -> s } }\n\
               proto! heard { s:send { a -> t } t:recv { b -> ! } }\n\
               proto! wrong { s:send { a -> ! } }\n\
               proto! other { s:send { a(u8) -> ! } }\n\
               proto! lent { s:send { a -> !, b(lent::client::s) -> s } }\n\
               proto! stream { s:send<T: send> { item(T) -> s<T>, end -> ! } }\n\
               proto! numbers = stream<u64>;\n";
    let new = "package shop;\r\n\r\n\
               #[accepts(server, 0123456789abcdef0123456789abcdef)] // 1.0\r\n\
               /// It has grown.\r\n  proto! grown { s:send { a(u8) -> t, b -> !, more -> ! } t:recv { c -> s } }\r\n\
               proto! heard { s:send { a -> t } t:recv { b -> !, no -> ! } }\r\n\
               #[accepts(client, 533ea5f99baee0864a65db4059e0a585)]\r\n\
               proto! wrong { s:send { a -> !, b -> ! } } /// One.\r\n\
               proto! other { s:send { a(u16) -> ! } }\r\n\
               proto! lent { s:send { a -> !, b(lent::client::s) -> s, c -> ! } }\r\n\
               proto! stream { s:send<T: send> { item(T) -> s<T>, end -> !, pause -> s<T> } } proto! numbers = stream<u64>;\r\n";
    let files = [("old/all.proto", old), ("all.proto", new)];
    let scratch = Scratch::with("older", &files);
    let mut told = String::new();
    for arguments in [
        "breaking all.proto --against old/all.proto",
        "breaking all.proto --against old/all.proto --accept --format short",
    ] {
        told += &scratch.transcript(arguments);
    }
    let written = scratch.read("all.proto");
    assert_eq!(
        written.matches('\n').count(),
        written.matches("\r\n").count()
    );
    told += &written.replace('\r', "");
    for arguments in [
        "breaking all.proto --against old/all.proto --accept -q",
        "check -v all.proto",
        "dual all.proto",
        "fingerprint all.proto --write",
        "breaking all.proto --accept",
    ] {
        told += &scratch.transcript(arguments);
    }
    assert_eq!(scratch.read("all.proto"), written);
    insta::assert_snapshot!(told);
}

/// A claim that no side may make is an error where the claim is.
#[test]
fn what_neither_side_may_accept_is_an_error_where_it_is_written() {
    let old = "proto! p { s:send { a(u8) -> ! } }\n";
    let new = "#[accepts(server, 746c5e02f31d2a73001d5e8eacc6d091)]\nproto! p { s:send { a(u16) -> ! } }\n";
    let files = [("old.proto", old), ("new.proto", new)];
    let scratch = Scratch::with("older-neither", &files);
    insta::assert_snapshot!(scratch.transcript("breaking new.proto --against old.proto"));
    insta::assert_snapshot!(scratch.transcript("check -v new.proto"));
}

/// A side has at most 16, so that the file can still be used.
#[test]
fn a_side_that_is_full_gets_no_further_fingerprint() {
    let head = |count: u32| -> String {
        let lines = (0..count).map(|at| format!("#[accepts(server, {at:032x})]\r\n"));
        lines.collect()
    };
    let old = "proto! p { s:send { a -> ! } }\n";
    let new = "proto! p { s:send { a -> !, b -> ! } }\r\n";
    let scratch = Scratch::with("older-full", &[("old.proto", old)]);
    scratch.write("new.proto", head(16) + new);
    let command = "breaking new.proto --against old.proto --accept";
    let told = scratch.transcript(command);
    assert!(told.contains("`p` accepts 16 fingerprints"), "{told}");
    assert_eq!(scratch.read("new.proto"), head(16) + new);
    // On the first line of a file with such line breaks, too.
    scratch.write("new.proto", new);
    scratch.transcript(command);
    let written = scratch.read("new.proto");
    assert!(written.starts_with("#[accepts(server, "), "{written}");
    assert!(written.ends_with(&format!(")]\r\n{new}")), "{written}");
}
