//! Mutants of the example servers in C and Scala, compiled once: a robot finds each of them.

use super::answers::{change_c, change_scala};
use super::mutants::{Case, Played, all, bytes_of, inputs, plan, sample, script};
use super::source::Source;
use super::wraps::{Language, Wraps};
use crate::support::c::{runtime, sources_in};
use crate::support::program::Scratch;
use crate::support::scala::{Scala, folder};
use crate::support::{repository, rust, succeed};
use duologue::protocol::Program;
use duologue::robots::Makeable;
use duologue::target::Options;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Mutants that no client can tell from the original: the language's file, the example, what is changed, and why nobody sees it.
const EQUIVALENT: [[&str; 4]; 1] = [[
    "c",
    "file_server",
    "42: data.size >= limit.value instead of data.size > limit.value",
    "data of that size is as long as the limit with either of them",
]];

/// Sessions with values that random bytes hardly ever have, and that show a mutant.
const RARE: [(&str, &str); 2] = [
    (
        "calculator",
        "server <- calculate(divide, -9223372036854775808, -1)\nclient <- failed(overflow(divide))\n",
    ),
    (
        "smtp",
        "client <- ready(\"server.example\")\nserver <- ehlo(\"a\")\nclient <- extensions([])\n\
         server <- mail_from(\"b\")\nclient <- ok\nserver <- rcpt_to(\"@server.example\")\n",
    ),
];

/// The scripts with which the robot plays first: that of the example's client, and one with rare values.
fn scripts(scratch: &Scratch, case: &Case) -> [Vec<u8>; 2] {
    let rare = RARE.iter().find(|(folder, _)| *folder == case.folder);
    let rare = rare.map_or_else(Vec::new, |(folder, transcript)| {
        let file = format!("{folder}.txt");
        scratch.write(&file, transcript);
        let bytes = bytes_of(scratch, case, &scratch.path(&file));
        bytes.unwrap_or_else(|failure| panic!("{failure}"))
    });
    [script(scratch, case), rare]
}

/// What every run has at least one mutant of, wherever it looks for a sample only.
const RULES: [&str; 8] = [
    "closes before ",
    "hangs before ",
    "insufficient_funds instead of money",
    "sold_out instead of offer",
    "a wrong value ",
    "the other branch of ",
    " < balance instead of ",
    "another text than ",
];

/// A server with all its mutants.
struct Mutated {
    text: String,
    /// The number and the name of each.
    mutants: Vec<(usize, String)>,
}

/// Mutates the server of an example; its first mutant has this number.
fn mutate(program: &Program, case: &Case, language: Language, first: usize) -> Mutated {
    let file = match language {
        Language::C => "server.c",
        Language::Scala => "Server.scala",
    };
    let path = repository().join(format!("tests/run/{}/{file}", case.folder));
    let text = fs::read_to_string(path).expect("the example is there");
    // What is computed once would be that of the original for all mutants.
    let text = text.replace("private val ", "private def ");
    let mut source = Source::new(&text);
    match language {
        Language::C => {
            for (from, to) in [
                ("#include", "\n"),
                ("static const", ";"),
                ("enum {", "}"),
                // The order of what is sorted, and a text that is only printed.
                ("static int by_word", "\n}"),
                ("if (mode.tag", "\n"),
                ("if (pixels", "\n"),
            ] {
                source.keep(from, to);
            }
            source.keep_calls(&["transcript_line(", "EXPECT(", "for (", "calloc("]);
        }
        Language::Scala => {
            source.keep("\nimport ", "\n");
            source.keep_calls(&["transcript.line(", "came("]);
        }
    }
    let makeable = Makeable::of(program);
    let plan = plan(program, &makeable, case);
    let mut wraps = Wraps::new(&source, language, first);
    match language {
        Language::C => change_c(program, &plan, &mut wraps),
        Language::Scala => change_scala(program, &plan, &mut wraps),
    }
    wraps.change_code();
    Mutated {
        text: wraps.text(),
        mutants: wraps.names(),
    }
}

/// Checks what the program has found: all mutants but those that are listed.
fn check(language: &str, played: &Played, printed: &str, mutants: &[String]) {
    let cases: BTreeSet<&str> = played.iter().map(|case| case.folder).collect();
    for case in &cases {
        let original = format!("missed {case} original");
        assert!(
            printed.lines().any(|line| line.starts_with(&original)),
            "the original of {case} differs from itself:\n{printed}"
        );
    }
    let lines = |word: &str| -> Vec<String> {
        let lines = printed.lines().filter_map(|line| line.strip_prefix(word));
        let lines = lines.filter(|line| !line.contains(" original"));
        lines.map(str::to_owned).collect()
    };
    let (found, mut missed) = (lines("found "), lines("missed "));
    let mut listed = 0;
    for [file, case, name, why] in EQUIVALENT {
        if file != language || !cases.contains(case) {
            continue;
        }
        let before = missed.len();
        let start = format!("{case} {name}");
        missed.retain(|line| !line.starts_with(&start));
        listed += 1;
        assert_eq!(before, missed.len() + 1, "{start} is listed: {why}");
    }
    assert!(missed.is_empty(), "{language}: {missed:#?}");
    assert_eq!(found.len() + listed, mutants.len(), "{printed}");
    for rule in RULES {
        assert!(
            mutants.iter().any(|name| name.contains(rule)),
            "{language} has no mutant with `{rule}`"
        );
    }
    let crashed = found
        .iter()
        .filter(|line| line.contains("ends with signal"));
    println!(
        "{language}: {} mutants, {} found, of which {} crash, and {listed} equivalent",
        mutants.len(),
        found.len(),
        crashed.count()
    );
    let least = if cases.len() > 3 { 100 } else { 30 };
    assert!(mutants.len() >= least, "{} mutants", mutants.len());
}

/// The types that all examples and their mutants use.
fn checked(name: &str, played: &Played) -> duologue::check::CheckedProgram {
    let tree = rust::scratch(&format!("mutants-{name}-tree-{}", played.len()));
    rust::generate(&inputs(played), &Options::default(), &tree)
}

/// Writes the servers and the list of their mutants; returns their names.
fn write_c(program: &Program, played: &Played, tree: &Path, scratch: &Scratch) -> Vec<String> {
    let mut head = String::new();
    let (mut cases, mut list) = ("#define CASES".to_owned(), "#define MUTANTS".to_owned());
    let mut names = Vec::new();
    for case in played {
        let name = case.folder;
        let prefix = case.module.rsplit("::").next().unwrap_or_default();
        let state = case.state.to_lowercase();
        let hooks = match name {
            "double_buffer" => "&buffer_client",
            "work_queue" => "&queue_client",
            _ => "NULL",
        };
        let mutated = mutate(program, case, Language::C, names.len() + 1);
        let own = tree.join(format!("case-{name}"));
        fs::create_dir_all(&own).expect("the target folder can be written");
        let header = format!(
            "#include \"{prefix}.h\"\n#include \"mutants.h\"\n#include \"transcript.h\"\n\
             duo_status {name}_case_server({prefix}_server_{state}_t, struct transcript *);\n"
        );
        for (file, text) in [("case.h", &header), ("server.c", &mutated.text)] {
            fs::write(own.join(file), text).expect("the target folder can be written");
        }
        let _ = writeln!(head, "#include \"{prefix}_robots.h\"");
        for (kind, bytes) in ["script", "rare"].into_iter().zip(scripts(scratch, case)) {
            // A zero at its end, so that it is never empty.
            let bytes: String = bytes.iter().map(|byte| format!("{byte}, ")).collect();
            let _ = writeln!(head, "static const uint8_t {name}_{kind}[] = {{{bytes}0}};");
        }
        let _ = write!(cases, " CASE({name}, {prefix}, {state}, {hooks})");
        for (number, text) in mutated.mutants {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = write!(list, " MUTANT({name}, {number}, {text:?})");
            names.push(text);
        }
    }
    fs::write(tree.join("cases.h"), format!("{head}{cases}\n{list}\n"))
        .expect("the target folder can be written");
    names
}

fn find_mutants_in_c(played: &Played) {
    let (checked, count) = (checked("c", played), played.len());
    let tree = crate::c::generate_with(&format!("mutants-{count}"), &inputs(played), &["--robots"]);
    let names = write_c(
        checked.program(),
        played,
        &tree,
        &Scratch::new(&format!("robots-mutants-{count}-in-c")),
    );
    let (root, robots) = (repository(), repository().join("tests/robots"));
    let mut sources = sources_in(&tree);
    sources.extend(sources_in(&runtime().join("robots")));
    sources.push(robots.join("mutants.c"));
    sources.extend(
        played
            .iter()
            .map(|case| tree.join(format!("case-{}/server.c", case.folder))),
    );
    let includes = [
        tree.clone(),
        robots,
        root.join("tests/suite/support/c"),
        root.join("tests/run/double_buffer"),
        root.join("tests/run/work_queue"),
    ];
    let program = crate::support::c::Program {
        // The changes make warnings, and are expressions that C does not have.
        flags: &["-O0", "-g0", "-std=gnu11", "-w"],
        ..crate::c::quiet(crate::support::c::Watch::Plain, &sources, &includes, &tree)
    };
    let program = program
        .link()
        .unwrap_or_else(|complaint| panic!("{complaint}"));
    let printed = succeed(&mut Command::new(&program));
    check(
        "c",
        played,
        &printed.unwrap_or_else(|complaint| panic!("{complaint}")),
        &names,
    );
}

fn find_mutants_in_scala(played: &Played) {
    let (checked, count) = (checked("scala", played), played.len());
    let scratch = Scratch::new(&format!("robots-mutants-{count}-in-scala"));
    let mut main = "package cases\n\nobject MutantCases {\n".to_owned();
    let mut calls = String::new();
    let (mut names, mut sources) = (Vec::new(), Vec::new());
    for case in played {
        let name = case.folder;
        let path = match case.module.contains("::") {
            true => case.module.replace("::", "."),
            false => format!("protocols.{}", case.module),
        };
        let hooks = match name {
            "double_buffer" => ", Robots.BufferClient",
            "work_queue" => ", Robots.TicketClient",
            _ => "",
        };
        let mutated = mutate(checked.program(), case, Language::Scala, names.len() + 1);
        let text = mutated.text.replacen(
            &format!("package cases.{name}\n"),
            &format!("package mutants.{name}\n\nimport cases.Mutants\n"),
            1,
        );
        let file = format!("{name}.scala");
        scratch.write(&file, text);
        sources.push(scratch.path(&file));
        let mut list = String::new();
        for (number, text) in mutated.mutants {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(list, "      ({number}, {text:?}),");
            names.push(text);
        }
        let [script, rare] = scripts(&scratch, case).map(|bytes| {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            format!("List[Int]({})", bytes.join(", "))
        });
        let _ = write!(
            main,
            "  private def {name}(): Unit =\n    new Mutants.Case({name:?}, {path}.robots.table, {script}, {rare}, () => {path}.init())(\n      \
             (endpoint, play) => {path}.robots.client(endpoint, play{hooks})\n    )(_root_.mutants.{name}.Server.run(_, _)).hunt(List(\n{list}    ))\n\n"
        );
        let _ = writeln!(calls, "    {name}()");
    }
    main += &format!("  def main(arguments: Array[String]): Unit = {{\n{calls}  }}\n}}\n");
    scratch.write("MutantCases.scala", main);
    sources.push(scratch.path("MutantCases.scala"));
    let (scala, out) = (
        Scala::Three,
        folder("mutants").join(format!("classes-{count}")),
    );
    let programs = [crate::scala::programs(scala), scala.runtime()];
    scala
        .compile_strictly(&["-nowarn"], &scala.path_with(&programs), &sources, &out)
        .unwrap_or_else(|failure| panic!("{failure}"));
    let [programs, runtime] = programs;
    let printed = scala.run(&[out, programs, runtime], "cases.MutantCases", &[]);
    check(
        "scala",
        played,
        &printed.unwrap_or_else(|failure| panic!("{failure}")),
        &names,
    );
}

#[test]
fn robots_find_mutants_in_c() {
    find_mutants_in_c(&sample());
}

#[test]
fn robots_find_mutants_in_scala() {
    find_mutants_in_scala(&sample());
}

#[test]
#[ignore = "nightly: mutants"]
fn robots_find_all_mutants_in_c() {
    find_mutants_in_c(&all());
}

#[test]
#[ignore = "nightly: mutants"]
fn robots_find_all_mutants_in_scala() {
    find_mutants_in_scala(&all());
}
