//! Fingerprints: what they depend on, what they do not depend on, and that they never change.

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
