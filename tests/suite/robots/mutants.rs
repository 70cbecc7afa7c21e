//! Mutants of the example servers: a robot finds each of them.

use super::mutations::{change_answers, change_code};
use super::source::Source;
use crate::support::program::{Scratch, run};
use crate::support::rust::{Edition, generate, rustc, scratch};
use crate::support::{repository, succeed};
use duologue::protocol::Program;
use duologue::relation::View;
use duologue::robots::{Makeable, Plan};
use duologue::target::Options;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An example of `tests/run` whose server answers.
pub struct Case {
    pub folder: &'static str,
    file: &'static str,
    /// The module of its protocol or instance.
    pub module: &'static str,
    /// Its first state.
    pub state: &'static str,
    /// What its robot in Rust is given to make values of the program's types.
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

/// The examples with whose mutants robots play in each run of the tests. They have mutants of every rule.
const SAMPLE: [&str; 3] = ["bank", "buyer", "calculator"];

/// Examples with whose mutants robots play.
pub type Played = Vec<&'static Case>;

pub fn sample() -> Played {
    let cases = CASES.iter();
    cases.filter(|case| SAMPLE.contains(&case.folder)).collect()
}

pub fn all() -> Played {
    CASES.iter().collect()
}

/// The files of the protocols of these examples, and of types that they import.
pub fn inputs(played: &Played) -> Vec<PathBuf> {
    let mut names: Vec<&str> = played.iter().map(|case| case.file).collect();
    if names.contains(&"file_server") {
        names.push("types");
    }
    let root = repository();
    let paths = names.into_iter();
    paths
        .map(|name| root.join(format!("protocols/{name}.proto")))
        .collect()
}

/// The bytes with which the client's robot sends what the client of the example sends; none if it sends values of the program's types.
pub fn script(scratch: &Scratch, case: &Case) -> Vec<u8> {
    let folder = repository().join("tests/run").join(case.folder);
    let path = folder.join("expected.txt");
    let bytes = bytes_of(scratch, case, &path);
    assert!(case.hooks != "()" || bytes.is_ok(), "{bytes:?}");
    bytes.unwrap_or_default()
}

/// The bytes with which the client's robot sends what the client sends in a transcript.
pub fn bytes_of(scratch: &Scratch, case: &Case, transcript: &Path) -> Result<Vec<u8>, String> {
    let root = repository();
    let name = case.module.rsplit("::").next().unwrap_or_default();
    let mut command = scratch.duologue("robots bytes --side client --script");
    command.arg(transcript);
    command.arg(format!(
        "{}#{name}",
        root.join(format!("protocols/{}.proto", case.file))
            .display()
    ));
    let output = run(command, b"");
    if !output.status.success() {
        return Err(format!("{}: {output:?}", case.folder));
    }
    let digits = output.stdout.trim_ascii().chunks(2);
    let digits = digits.map(|pair| std::str::from_utf8(pair).expect("digits"));
    Ok(digits
        .map(|pair| u8::from_str_radix(pair, 16).expect("digits"))
        .collect())
}

/// The plan of the protocol or instance of a case.
pub fn plan<'p>(program: &'p Program, makeable: &Makeable, case: &Case) -> Plan<'p> {
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
    let mut source = Source::new(&text);
    source.keep("\nuse ", ";\n");
    source.keep_calls(&["transcript.line", "panic!"]);
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
fn program(played: &Played) -> (String, usize) {
    let root = repository();
    let mut inputs = inputs(played);
    // The harness has hooks for two of them, and needs a session that is closed for mutants that close.
    let own = ["double_buffer", "pingpong", "work_queue"];
    inputs.extend(own.map(|name| root.join(format!("protocols/{name}.proto"))));
    inputs.sort();
    inputs.dedup();
    let tree = scratch(&format!("mutants-tree-{}", played.len()));
    let mut options = Options::default();
    options.robots = true;
    let checked = generate(&inputs, &options, &tree);
    let folder = Scratch::new(&format!("robots-mutants-{}", played.len()));
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
    for case in played {
        let (module, mutants) = module(checked.program(), &folder, case);
        text += &module;
        let _ = writeln!(main, "        on(scope, case_{}::hunt);", case.folder);
        count += mutants;
    }
    (text + &main + "    });\n}\n", count)
}

/// The rules change each example wherever they can, one place at a time.
fn robots_find_mutants(played: &Played, least: usize) {
    let (text, count) = program(played);
    let folder = scratch(&format!("mutants-program-{}", played.len()));
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
    println!("rust: {count} mutants, {found} found");
    assert!(count >= least, "{count} mutants:\n{printed}");
}

#[test]
fn robots_find_mutants_of_examples() {
    robots_find_mutants(&sample(), 40);
}

#[test]
#[ignore = "nightly: mutants"]
fn robots_find_all_mutants_of_the_examples() {
    robots_find_mutants(&all(), 150);
}
