//! Code for Scala 3 alone: compiled under stricter settings than code for both versions, used by programs in Scala 3, and compared with
//! the bytes of all languages.

use super::misuse::{self, Misuse};
use crate::support::scala::{Scala, folder, generate_with, sources_in};
use crate::support::{conversations, files_in, repository, target_pages};
use duologue::languages::{Options, ScalaVersion};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Settings that reject what later versions of Scala 3 are to drop, such as `_` for an unknown type; the syntax of Scala 2 for
/// conditions; and null where the type does not say so.
const STRICT: [&str; 3] = ["-source:future", "-new-syntax", "-Yexplicit-nulls"];

/// The cases of `tests/run` with a program that passes a number or a text for another name of its type. Here it would have to convert
/// it.
const UNCONVERTED: [&str; 3] = ["bank", "file_server", "seller"];

/// Generated code for everything: the examples, difficult names and the payloads of all types.
fn generated() -> Vec<PathBuf> {
    let root = repository();
    let support = root.join("tests/suite/support/scala");
    let out = folder("three");
    let groups = [
        (files_in(&root.join("protocols"), "proto"), None),
        (files_in(&support.join("names"), "proto"), Some("names")),
        (files_in(&root.join("tests/names"), "proto"), Some("shared")),
        (vec![root.join("tests/wire/payloads.proto")], None),
    ];
    let mut sources = Vec::new();
    for (index, (inputs, package)) in groups.iter().enumerate() {
        let mut options = Options::default();
        options.remote = true;
        options.robots = true;
        options.scala.version = ScalaVersion::Three;
        options.scala.package = package.map(str::to_owned);
        let out = out.join(index.to_string());
        generate_with(inputs, &options, &out);
        sources.extend(sources_in(&out));
    }
    sources.push(support.join("names/Hosts.scala"));
    sources.push(root.join("tests/run/work_queue/Ticket.scala"));
    sources
}

/// The folders with the programs and with the generated code.
struct Built {
    programs: PathBuf,
    generated: PathBuf,
}

impl Built {
    /// Its own classes come before those of the same names that are for both versions.
    fn class_path(&self) -> String {
        Scala::Three.path_with(&self.on())
    }

    fn on(&self) -> [PathBuf; 4] {
        let all = [super::programs(Scala::Three), Scala::Three.runtime()];
        let [programs, runtime] = all;
        [
            self.programs.clone(),
            self.generated.clone(),
            programs,
            runtime,
        ]
    }
}

fn built() -> &'static Built {
    static BUILT: OnceLock<Result<Built, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let root = repository();
        let out = folder("three");
        let built = Built {
            programs: out.join("programs"),
            generated: out.join("classes"),
        };
        let scala = Scala::Three;
        let path = scala.path_with(&[scala.runtime()]);
        scala.compile_strictly(&STRICT, &path, &generated(), &built.generated)?;
        let support = root.join("tests/suite/support/scala");
        let mut sources = sources_in(&root.join("tests/scala3"));
        let cases = conversations().into_iter();
        for case in cases.filter(|case| !UNCONVERTED.contains(&case.as_str())) {
            sources.extend(sources_in(&root.join("tests/run").join(case)));
        }
        // A server that only reads amounts needs no conversion.
        sources.push(root.join("tests/run/bank/Server.scala"));
        sources.retain(|source| !source.ends_with("Ticket.scala"));
        sources.extend(sources_in(&support.join("misuse").join(scala.name())));
        sources.extend(
            misuses()
                .iter()
                .map(|it| it.write_right(&out.join("right"))),
        );
        let page = target_pages("scala");
        let program = page.split("```scala 3\n").nth(1);
        let program = program.and_then(|text| text.split("```").next());
        let source = out.join("Documented.scala");
        fs::write(&source, program.expect("the page has a program in Scala 3"))
            .expect("the target folder can be written");
        sources.push(source);
        scala.compile_with(&built.class_path(), &sources, &built.programs)?;
        Ok(built)
    });
    built.as_ref().unwrap_or_else(|failure| panic!("{failure}"))
}

fn misuses() -> Vec<Misuse> {
    misuse::all("scala3")
}

fn runs(main: &str) {
    let printed = Scala::Three.run(&built().on(), main, &[]);
    assert_eq!(printed.unwrap_or_else(|failure| panic!("{failure}")), "");
}

#[test]
#[ignore = "slow: Scala 3 alone"]
fn programs_for_scala_3_alone_run() {
    runs("cases.Files");
    runs("example.ScalaThree");
}

#[test]
#[ignore = "slow: Scala 3 alone"]
fn code_for_scala_3_alone_has_the_encoding_of_all_languages() {
    let on = [&built().on()[..], &[super::suites(Scala::Three)]].concat();
    let passed = Scala::Three.test(&on, &["duologue.net.WireSuite"]);
    passed.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
#[ignore = "slow: Scala 3 alone"]
fn the_scala_3_compiler_reports_misuse_of_its_own_types() {
    let built = built();
    let driver = [built.programs.clone()];
    misuse::is_reported_by_the_compiler(Scala::Three, &misuses(), &driver, &built.class_path());
}
