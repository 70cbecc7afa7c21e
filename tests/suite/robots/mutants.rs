//! Mutants of the example servers: a robot finds each of them.

use super::mutations::{Source, change_answers, change_code};
use crate::support::program::{Scratch, run};
use crate::support::rust::{Edition, generate, rustc, scratch};
use crate::support::{repository, succeed};
use duologue::protocol::Program;
use duologue::relation::View;
use duologue::robots::{Makeable, Plan};
use duologue::target::Options;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// An example of `tests/run` whose server answers.
struct Case {
    folder: &'static str,
    file: &'static str,
    /// The module of its protocol or instance.
    module: &'static str,
    /// Its first state.
    state: &'static str,
    /// What its robot is given to make values of the program's types.
    hooks: &'static str,
}

const fn case(
    folder: &'static str,
    file: &'static str,
    module: &'static str,
    state: &'static str,
) -> Case {
    Case {
        folder,
        file,
        module,
        state,
        hooks: "()",
    }
}

const CASES: [Case; 11] = [
    case("bank", "bank", "bank", "Login"),
    case("buyer", "negotiation", "buyer", "Ask"),
    case("calculator", "calculator", "calculator", "Ready"),
    Case {
        hooks: "crate::Hooks",
        ..case("double_buffer", "double_buffer", "double_buffer", "Acquire")
    },
    case(
        "file_server",
        "file_server",
        "acme::files::file_server",
        "Idle",
    ),
    case("future", "future", "future_text", "Waiting"),
    case("smtp", "smtp", "smtp", "Greeting"),
    case("telemetry", "telemetry", "telemetry", "Report"),
    case("type_switch", "type_switch", "type_switch", "Start"),
    case("word_count", "word_count", "word_count", "Counting"),
    Case {
        hooks: "crate::Hooks",
        ..case("work_queue", "work_queue", "work_queue", "Idle")
    },
];

/// The bytes with which the client's robot sends what the client of the example sends; none if it sends values of the program's types.
fn script(scratch: &Scratch, case: &Case) -> Vec<u8> {
    let root = repository();
    let name = case.module.rsplit("::").next().unwrap_or_default();
    let mut command = scratch.duologue("robots bytes --side client --script");
    command.arg(
        root.join("tests/run")
            .join(case.folder)
            .join("expected.txt"),
    );
    command.arg(format!(
        "{}#{name}",
        root.join(format!("protocols/{}.proto", case.file))
            .display()
    ));
    let output = run(command, b"");
    if !output.status.success() {
        assert_ne!(case.hooks, "()", "{}: {output:?}", case.folder);
        return Vec::new();
    }
    let digits = output.stdout.trim_ascii().chunks(2);
    let digits = digits.map(|pair| std::str::from_utf8(pair).expect("digits"));
    digits
        .map(|pair| u8::from_str_radix(pair, 16).expect("digits"))
        .collect()
}

/// The plan of the protocol or instance of a case.
fn plan<'p>(program: &'p Program, makeable: &Makeable, case: &Case) -> Plan<'p> {
    let name = case.module.replace("::", ".");
    let protocols = program.files.iter().flat_map(|file| file.protocols.iter());
    let protocols = protocols.map(|id| View::of(program, *id));
    let instances = program
        .instances
        .iter()
        .map(|instance| View::instance(program, instance));
    let plans = protocols
        .chain(instances)
        .filter_map(|view| Plan::of(view, makeable).ok());
    let found = plans.into_iter().find(|plan| plan.name == name);
    found.unwrap_or_else(|| panic!("{name} has robots"))
}

/// The module of a case, with the number of its mutants.
fn module(program: &Program, scratch: &Scratch, case: &Case) -> (String, usize) {
    let path = repository().join(format!("tests/run/{}/server.rs", case.folder));
    let text = fs::read_to_string(path).expect("the example is there");
    let text = text.replace("use conversations::", "use crate::conversations::");
    let source = Source::new(&text);
    let makeable = Makeable::of(program);
    let mut changes = Vec::new();
    change_answers(
        program,
        &plan(program, &makeable, case),
        &source,
        &mut changes,
    );
    change_code(&source, &mut changes);
    let mut modules = format!("mod original {{\n{text}}}\n");
    let mut list = String::new();
    for (number, change) in changes.iter().enumerate() {
        let mut mutant = text.clone();
        mutant.replace_range(change.range.clone(), &change.new);
        let _ = write!(
            modules,
            "/// {}\nmod m{number} {{\n{mutant}}}\n",
            change.name
        );
        let _ = writeln!(
            list,
            "        ({:?}, m{number}::run as crate::Serve<Server>),",
            change.name
        );
    }
    let Case {
        folder,
        module,
        state,
        hooks,
        ..
    } = case;
    let script = script(scratch, case);
    let text = format!(
        "mod case_{folder} {{\n{modules}pub fn hunt() {{\n    use crate::conversations::protocols::{module} as own;\n    \
         type Server = own::server::{state};\n    crate::Hunt {{\n        case: {folder:?},\n        table: &own::robots::TABLE,\n        \
         script: vec!{script:?},\n        init: own::init,\n        \
         client: |endpoint, play| own::robots::client(endpoint, play, &mut {hooks}),\n        \
         original: original::run,\n    }}.all(&[\n{list}    ]);\n}}\n}}\n"
    );
    (text, changes.len())
}

/// All examples and their mutants in one program.
fn program() -> (String, usize) {
    let root = repository();
    let mut inputs: Vec<PathBuf> = CASES
        .iter()
        .map(|case| root.join(format!("protocols/{}.proto", case.file)))
        .collect();
    // A mutant that closes needs a session that is closed, and the file server imports types.
    inputs.extend(["pingpong", "types"].map(|name| root.join(format!("protocols/{name}.proto"))));
    let tree = scratch("mutants-tree");
    let mut options = Options::default();
    options.robots = true;
    let checked = generate(&inputs, &options, &tree);
    let folder = Scratch::new("robots-mutants");
    let mut text = format!(
        "#![allow(warnings)]\nmod conversations {{\n    #[path = {:?}]\n    mod transcript;\n    \
         pub use transcript::{{Transcript, hex, option, quoted}};\n    \
         #[derive(Clone, Debug, Default, PartialEq, Eq)]\n    pub struct Ticket {{ pub id: u32 }}\n    \
         pub mod protocols {{\n        pub use super::Ticket;\n        include!({:?});\n    }}\n}}\ninclude!({:?});\n",
        root.join("tests/conversations/src/transcript.rs"),
        tree.join("mod.rs"),
        root.join("tests/robots/mutants.rs"),
    );
    let mut main = "fn main() {\n    quiet();\n    std::thread::scope(|scope| {\n".to_owned();
    let mut count = 0;
    for case in &CASES {
        let (module, mutants) = module(checked.program(), &folder, case);
        text += &module;
        let _ = writeln!(main, "        on(scope, case_{}::hunt);", case.folder);
        count += mutants;
    }
    (text + &main + "    });\n}\n", count)
}

/// The rules change each example wherever they can, one place at a time.
#[test]
fn robots_find_mutants_of_the_examples() {
    let (text, count) = program();
    let folder = scratch("mutants-program");
    let (source, binary) = (folder.join("program.rs"), folder.join("program"));
    fs::write(&source, text).expect("the target folder can be written");
    let mut compiler = rustc(Edition::E2024);
    // The examples add numbers without a check for overflow, which robots find at once.
    compiler
        .args(["-Coverflow-checks=off", "-Cdebuginfo=0", "-o"])
        .arg(&binary)
        .arg(&source);
    succeed(&mut compiler).unwrap_or_else(|failure| panic!("{failure}"));
    let printed = succeed(&mut Command::new(&binary)).unwrap_or_else(|failure| panic!("{failure}"));
    let missed: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("missed "))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let found = printed
        .lines()
        .filter(|line| line.starts_with("found "))
        .count();
    assert_eq!(found, count, "{printed}");
    assert!(count >= 150, "{count} mutants:\n{printed}");
}
