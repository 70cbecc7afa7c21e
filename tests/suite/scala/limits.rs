//! The limits of docs/language.md in Scala, where the JVM limits methods and classes. Names of the maximum length are in
//! `tests/names/long.proto`.

use crate::support::scala::{Scala, folder, generate_with, sources_in};
use crate::support::texts::{Texts, fired};
use duologue::compile::{Input, Request, compile};
use duologue::languages::{Options, ScalaVersion, Target};
use std::fs;

/// A protocol with an enum that has this many variants with this many values.
pub fn enum_of(variants: usize, values: usize) -> String {
    let values = values_of(values);
    let variants = (0..variants).map(|at| format!("v{at}({values}),\n"));
    let variants: String = variants.collect();
    format!("enum wide {{\n{variants}}}\nproto! widest {{ open:send {{ wide(wide) -> ! }} }}\n")
}

fn values_of(count: usize) -> String {
    let values: Vec<String> = (0..count).map(|at| format!("a{at}: u64")).collect();
    values.join(", ")
}

/// A protocol with a state that has this many messages: a number, and as many values as a message may have.
pub fn state_of(messages: usize) -> String {
    let values = values_of(100);
    let messages = (2..messages).map(|at| format!("m{at}({values}) -> open,\n"));
    let messages: String = messages.collect();
    format!(
        "struct row {{ {values} }}\nproto! rows {{ open:send {{\nnumber(u64) -> open,\n{messages}last(row) -> ! }} }}\n"
    )
}

/// Types that are nested as deeply as possible: a list counts as 4, brackets nest 64 deep, and everything else counts as 1.
fn deepest() -> String {
    let structs = (1..95).map(|at| format!("struct s{at} {{ v: s{} }}\n", at - 1));
    let structs: String = structs.collect();
    let lists = format!("{}u8{}", "[".repeat(23), "]".repeat(23));
    let options = format!("u8{}", "?".repeat(60));
    format!(
        "struct s0 {{ v: u8 }}\n{structs}proto! deepest {{ open:send {{ lists({lists}) -> open, options({options}) -> open, \
         structs(s94) -> ! }} }}\n"
    )
}

/// In code for both versions, and in code for Scala 3 alone.
#[test]
#[ignore = "nightly: scala"]
fn what_is_as_large_as_possible_compiles() {
    let texts = [
        ("deepest", deepest()),
        ("messages", state_of(256)),
        ("variants", enum_of(3_000, 1)),
        ("values", enum_of(300, 100)),
    ];
    for (name, text) in texts {
        let out = folder("limits").join(name);
        fs::create_dir_all(&out).expect("the target folder can be written");
        let file = out.join("largest.proto");
        fs::write(&file, text).expect("the target folder can be written");
        let mut options = Options::default();
        options.remote = true;
        options.robots = true;
        for version in [ScalaVersion::Cross, ScalaVersion::Three] {
            options.scala.version = version;
            let generated = out.join("generated");
            generate_with(std::slice::from_ref(&file), &options, &generated);
            let sources = sources_in(&generated);
            for scala in [Scala::Three, Scala::Two] {
                if version == ScalaVersion::Three && scala == Scala::Two {
                    continue;
                }
                let classes = out.join("classes");
                let compiled = scala.compile_large(&sources, &[scala.runtime()], &classes);
                compiled.unwrap_or_else(|failure| panic!("{name}, {scala:?}: {failure}"));
            }
        }
    }
}

/// Of the messages of a large state, each method builds some, and has the parameters that these need. `nightly: scala` compiles them.
#[test]
fn methods_of_large_states_take_what_their_messages_need() {
    let out = folder("large-states");
    fs::create_dir_all(&out).expect("the target folder can be written");
    let file = out.join("large.proto");
    fs::write(&file, state_of(18)).expect("the target folder can be written");
    let generated = out.join("generated");
    generate_with(&[file], &Options::default(), &generated);
    let text: String = (sources_in(&generated).iter())
        .map(|source| fs::read_to_string(source).expect("it was generated"))
        .collect();
    let calls = text.lines().map(str::trim_start);
    let calls: Vec<&str> = calls
        .filter_map(|line| line.split_once("=> open")?.1.split_once('('))
        .map(|(_, parameters)| parameters)
        .collect();
    assert_eq!(calls, ["index, payload, number)", "index, payload)"]);
}

#[test]
fn an_enum_that_is_too_large_is_reported_where_scala_is_requested() {
    let found = |variants, values, target| {
        let mut request = Request::default();
        let bytes = enum_of(variants, values).into_bytes();
        let path = "large.proto".into();
        request.inputs = vec![Input::Text { path, bytes }];
        request.options.targets = vec![target];
        let compilation = compile(&request, &Texts::default()).expect("it is a text");
        fired(&compilation)
    };
    assert!(found(3_000, 10, Target::Scala).is_empty());
    assert_eq!(found(3_001, 1, Target::Scala), ["too-many-values"]);
    assert_eq!(found(301, 100, Target::Scala), ["too-many-values"]);
    assert!(found(3_001, 1, Target::Rust).is_empty());
}
