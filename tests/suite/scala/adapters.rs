//! Sessions in other libraries: `runtime/scala/zio` and `runtime/scala/cats`, with the programs that are their tests and what these share in
//! `runtime/scala/effects`, and ox.

use super::Needs;
use crate::support::scala::{Scala, folder, generate, maven, sources_in, tool};
use crate::support::{repository, succeed, target_pages};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Compiles an adapter as strictly as the runtime, and runs its suite, in both versions.
fn talks(name: &str, pom: &'static str, suite: &str) {
    let root = repository();
    let generated = folder("adapters").join(name).join("protocols");
    let protocols = ["bank", "word_count", "stream"].map(|protocol| {
        root.join("protocols")
            .join(protocol)
            .with_extension("proto")
    });
    generate(&protocols, None, &generated);
    let mut sources = sources_in(&root.join("runtime/scala").join(name).join("src"));
    sources.extend(sources_in(&generated));
    sources.extend(sources_in(&root.join("runtime/scala/effects")));
    sources.push(documented(name));
    for scala in [Scala::Three, Scala::Two] {
        let out = folder("adapters").join(name).join(scala.name());
        let path = format!(
            "{}:{}",
            scala.runtime().display(),
            maven::class_path(pom, scala)
        );
        scala
            .compile_with(&path, &sources, &out)
            .unwrap_or_else(|failure| panic!("{failure}"));
        let mut java = tool("java");
        java.args(["-cp", &format!("{}:{path}", out.display())]);
        java.arg("org.junit.runner.JUnitCore").arg(suite);
        succeed(&mut java).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// The part of a program that the target's page shows for both adapters, in a function.
fn documented(name: &str) -> PathBuf {
    let page = target_pages("scala");
    let blocks = page.split("```text\nreceiveStream(").skip(1);
    let blocks: Vec<&str> = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    let [block] = blocks[..] else {
        panic!("{blocks:?}");
    };
    let (import, of) = match name {
        "cats" => ("import _root_.cats.effect.IO\n", "[IO]"),
        _ => ("", ""),
    };
    let path = folder("adapters").join(name).join("Documented.scala");
    let text = format!(
        "package example\n\n{import}import duologue.interop.{name}._\nimport protocols.word_count\n\n\
         object Documented {{\ndef words(counting: word_count.server.Counting) = receiveStream{of}({block}}}\n"
    );
    fs::write(&path, text).expect("the target folder can be written");
    path
}

#[test]
#[ignore = "nightly: effects"]
fn sessions_in_zio() {
    talks(
        "zio",
        "runtime/scala/zio/pom.xml",
        "duologue.interop.zio.ZioSuite",
    );
}

#[test]
#[ignore = "nightly: effects"]
fn sessions_in_cats_effect() {
    talks(
        "cats",
        "runtime/scala/cats/pom.xml",
        "duologue.interop.cats.CatsSuite",
    );
}

/// The page's program with ox and jox, which need what virtual threads need.
#[test]
#[ignore = "nightly: virtual-threads"]
fn sessions_in_scopes_of_ox() {
    let java = std::env::var_os("DUOLOGUE_JAVA").unwrap_or_else(|| "java".into());
    let out = folder("ox");
    let programs = super::programs(Scala::Three);
    let documented = super::documented(Needs::Ox);
    assert!(!documented.is_empty());
    let sources = documented.iter().map(|(name, text)| {
        let path = folder("ox-sources").join(format!("{name}.scala"));
        fs::create_dir_all(folder("ox-sources")).expect("the target folder can be written");
        fs::write(&path, text).expect("the target folder can be written");
        path
    });
    let sources: Vec<PathBuf> = sources.collect();
    let libraries = maven::class_path("tests/ox/pom.xml", Scala::Three);
    let on = [out.clone(), programs, Scala::Three.runtime()];
    let on = on.iter().map(|folder| folder.display().to_string());
    let path = on.chain([libraries]).collect::<Vec<_>>().join(":");
    let compiled = Scala::Three.compile_with(&path, &sources, &out);
    compiled.unwrap_or_else(|failure| panic!("{failure}"));
    for (name, _) in &documented {
        let mut java = Command::new(&java);
        java.args(["-cp", &path, &format!("example.{name}")]);
        let printed = succeed(&mut java).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(printed, "", "{name}");
    }
}
