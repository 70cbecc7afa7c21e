//! Generated robots: they see all transitions of all protocols, and the same bytes make the same sessions.

use crate::support::program::{Scratch, run};
use crate::support::rust::{Edition, generate, host, protocols_in, rustc, scratch};
use crate::support::{repository, succeed};
use duologue::languages::Options;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders whose protocols are played.
const PLAYED: [&str; 3] = ["protocols", "tests/corpus/2012", "tests/corpus/literature"];

/// The module of each generated file that has robots, with the file's text.
fn modules(tree: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(folder).expect("generated");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("generated").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            modules(tree, &path, found);
            continue;
        }
        let text = fs::read_to_string(&path).expect("generated");
        if !text.contains("pub mod robots {") {
            continue;
        }
        let mut module = String::new();
        let mut above = tree.to_path_buf();
        for part in path
            .strip_prefix(tree)
            .expect("below")
            .with_extension("")
            .iter()
        {
            let part = part.to_str().expect("UTF-8");
            let list = fs::read_to_string(above.join("mod.rs")).expect("generated");
            let raw = if list.contains(&format!("pub mod r#{part};")) {
                "r#"
            } else {
                ""
            };
            let _ = write!(module, "::{raw}{part}");
            above.push(part);
        }
        found.push((module, text));
    }
}

/// The methods of a side's trait that the program has to supply.
fn hooks(text: &str, module: &str, role: &str) -> String {
    let (_, of_trait) = text
        .split_once(&format!("pub trait {role} {{"))
        .expect("a trait");
    let (of_trait, _) = of_trait.split_once("\n    }\n").expect("its end");
    let mut methods = String::new();
    for method in of_trait.split("fn make_").skip(1) {
        let (method, _) = method.split_once(';').expect("its end");
        let method: Vec<&str> = method.split_whitespace().collect();
        let method = method.join(" ").replace("( ", "(").replace(", )", ")");
        let (head, ty) = method.split_once(" -> ").expect("a type");
        let (mut ty, mut of) = (ty, format!("{module}::robots"));
        while let Some(rest) = ty.strip_prefix("super::") {
            ty = rest;
            of = of.rsplit_once("::").expect("a module").0.to_owned();
        }
        let ty = match ty.starts_with("::") {
            true => ty.to_owned(),
            false => format!("{of}::{ty}"),
        };
        let head = head.replace("values: &mut", "_: &mut");
        let _ = writeln!(
            methods,
            "    fn make_{head} -> {ty} {{ Default::default() }}"
        );
    }
    methods
}

/// The sessions in a text, by the line before each of them.
fn sessions(text: &str) -> BTreeMap<&str, String> {
    let mut sessions: BTreeMap<&str, String> = BTreeMap::new();
    let mut head = "";
    for line in text.lines() {
        if line.starts_with("# ") {
            // Protocols of the corpus may have the names of examples, which come first.
            head = if sessions.contains_key(line) {
                ""
            } else {
                line
            };
            sessions.entry(line).or_default();
        } else if line.contains(" <- ")
            && let Some(session) = sessions.get_mut(head)
        {
            *session += line;
            *session += "\n";
        }
    }
    sessions
}

/// Robots in other languages play the same sessions. Those with values of the program's types have other hooks here.
fn compare(printed: &str) {
    let expected = repository().join("tests/robots/transcripts.txt");
    let expected = fs::read_to_string(expected).expect("the transcripts are there");
    let played = sessions(printed);
    let mut count = 0;
    for (head, session) in sessions(&expected) {
        if head.contains(" covering: ")
            || ["double_buffer", "work_queue"]
                .iter()
                .any(|name| head.contains(name))
        {
            continue;
        }
        assert_eq!(played.get(head), Some(&session), "{head}");
        count += 1;
    }
    assert!(count > 40, "{count} sessions were compared");
}

/// The programs in the documentation.
fn documented() -> Vec<String> {
    let page = repository().join("docs/testing.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let blocks = page.split("```rust\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```\n").next());
    blocks.map(str::to_owned).collect()
}

/// A program of the documentation as a module, whose function `run` is its tests.
fn as_module(program: &str, number: usize) -> String {
    let tests = program.split("#[test]\nfn ").skip(1);
    let names = tests.filter_map(|test| test.split("()").next());
    let calls: Vec<String> = names.map(|name| format!("{name}();")).collect();
    assert!(!calls.is_empty(), "{program}");
    let program = program.replace("#[test]\n", "");
    format!(
        "mod documented{number} {{\n    use crate::protocols0 as protocols;\n{program}\n    \
         pub fn run() {{ {} }}\n}}\n",
        calls.join(" ")
    )
}

/// The mock of the page has the bytes of the session that is before it.
#[test]
fn the_mock_of_the_page_plays_its_session() {
    let page = fs::read_to_string(repository().join("docs/testing.md")).expect("the page is there");
    let mut sessions = page.split("```text\n").skip(1);
    let session = sessions.find_map(|block| {
        let session = block.split("```\n").next()?;
        session.contains("\"4321\"").then_some(session)
    });
    let scratch = Scratch::with(
        "robots-mock",
        &[("session.txt", session.expect("it is there"))],
    );
    let mut command = scratch.duologue("robots bytes --side server --script session.txt");
    command.arg(repository().join("protocols/bank.proto"));
    let output = run(command, b"");
    assert_eq!(output.stdout, b"6160\n", "{output:?}");
    assert!(page.contains("`6160`") && page.contains("[0x61, 0x60]"));
}

fn program() -> String {
    let harness = repository().join("tests/robots/harness.rs");
    let mut text = format!("include!({:?});\n", harness.display().to_string());
    let mut main = "fn main() {\n".to_owned();
    let folder = scratch("robots");
    let mut options = Options::default();
    options.robots = true;
    let mut number = 0;
    for (group, name) in PLAYED.into_iter().enumerate() {
        let tree = folder.join(format!("tree-{group}"));
        let checked = generate(&protocols_in(name), &options, &tree);
        let host = host(checked.program()).replace("derive(Clone", "derive(Default, Clone");
        // A program of the documentation has tickets with numbers.
        let host = host.replace("struct Ticket;", "struct Ticket { pub id: u32 }");
        let _ = write!(
            text,
            "#[allow(dead_code)]\nmod host{group} {{\n{host}}}\nmod protocols{group} {{\n    #[allow(unused_imports)]\n    pub(crate) use crate::host{group}::*;\n    include!({:?});\n}}\n",
            tree.join("mod.rs").display().to_string()
        );
        let _ = writeln!(main, "    println!(\"# group {group}\");");
        let mut all = Vec::new();
        modules(&tree, &tree, &mut all);
        for (path, code) in &all {
            let module = format!("crate::protocols{group}{path}");
            for role in ["Client", "Server"] {
                let (name, methods) = (format!("{role}{number}"), hooks(code, &module, role));
                let _ = write!(
                    text,
                    "struct {name};\nimpl {module}::robots::{role} for {name} {{\n{methods}}}\n"
                );
            }
            let name = path.rsplit("::").next().unwrap_or_default();
            let _ = write!(
                main,
                "    {{\n        use {module} as own;\n        \
                 let session = |client: &mut Play, server: &mut Play| {{\n            \
                 let (first, second) = own::init();\n            \
                 std::thread::scope(|scope| {{\n                \
                 let serving = scope.spawn(move || own::robots::server(first, server, &mut Server{number}));\n                \
                 let ending = own::robots::client(second, client, &mut Client{number});\n                \
                 [ending, serving.join().expect(\"the robot does not panic\")]\n            }})\n        }};\n        \
                 cover({name:?}, &own::robots::TABLE, &session);\n        repeat({name:?}, &own::robots::TABLE, &session);\n"
            );
            if name == "file_server" {
                let _ = writeln!(main, "    deep({name:?}, &session);\n    }}");
            } else {
                main += "    }\n";
            }
            number += 1;
        }
    }
    let _ = writeln!(
        text,
        "include!({:?});",
        repository()
            .join("tests/robots/bank.rs")
            .display()
            .to_string()
    );
    let mut programs = documented();
    programs.retain(|program| !program.contains("use proptest::"));
    assert!(programs.len() >= 3, "{} programs", programs.len());
    for (number, program) in programs.iter().enumerate() {
        text += &as_module(program, number);
        let _ = writeln!(main, "    documented{number}::run();");
    }
    main += "    mistakes_are_found();\n    bytes_shrink();\n";
    assert!(number > 50, "{number} protocols have robots");
    text + &main + "}\n"
}

/// What `duologue robots report` says about coverages of `protocols/`, of which nothing may be missing.
pub fn report(name: &str, lines: &str) -> String {
    let folder = repository().join("protocols");
    let mut all = String::new();
    for path in protocols_in("protocols") {
        let file = path.file_name().expect("a file").display();
        let _ = writeln!(all, "import \"{file}\";");
    }
    let scratch = Scratch::with(name, &[("all.proto", &all), ("lines.json", lines)]);
    let mut command =
        scratch.duologue("robots report lines.json --protocol all.proto --at-least 100 -A all -I");
    command.arg(folder);
    let output = run(command, b"");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        text.matches("\n    covered ").count(),
        lines.lines().count(),
        "{text}"
    );
    text
}

/// Most protocols of the corpus have few transitions, so this is a moment.
#[test]
fn robots_see_all_transitions_of_all_protocols() {
    let text = program();
    let folder = scratch("robots-program");
    let (source, binary) = (folder.join("program.rs"), folder.join("program"));
    fs::write(&source, text).expect("the target folder can be written");
    let mut compiler = rustc(Edition::E2024);
    compiler
        .args(["-Dwarnings", "-Cdebuginfo=0", "-o"])
        .arg(&binary)
        .arg(&source);
    succeed(&mut compiler).unwrap_or_else(|failure| panic!("{failure}"));
    let printed = succeed(&mut Command::new(&binary)).unwrap_or_else(|failure| panic!("{failure}"));
    let covered = printed.lines().filter(|line| line.contains(": covered "));
    compare(&printed);
    assert_eq!(printed.matches("\nfound ").count(), 11, "{printed}");
    assert!(covered.count() > 100, "{printed}");
    assert!(
        printed.contains("bank: covered 8/8 transitions in "),
        "{printed}"
    );
    let lines = printed
        .split("# group 1\n")
        .next()
        .unwrap_or_default()
        .lines();
    let lines = lines.filter(|line| line.starts_with('{'));
    let lines: Vec<&str> = lines.collect();
    let text = report("robots-rust", &lines.join("\n"));
    assert!(
        text.contains(" in rust\n    covered 8/8 transitions\n"),
        "{text}"
    );
}
