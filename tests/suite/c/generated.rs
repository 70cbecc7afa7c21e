//! Generated code compiles as C and as C++ without a warning, and reads well.

use super::{generate, generate_with, hosts, protocols, quiet};
use crate::limits;
use crate::support::c::{
    Compiler, LIBRARIES, Program, Watch, files_in, runtime, scratch, sources_in,
};
use crate::support::{repository, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every source compiles by itself without a warning, as C and as C++, and so does every header, as C; all headers together do in
/// both languages, after those of the C library and in reverse order. A language takes one call of its compiler.
fn check_compiles(generated: &Path, hosts: &[PathBuf]) {
    let sources = sources_in(generated);
    assert!(!sources.is_empty(), "nothing was generated");
    let mut includes: Vec<String> = files_in(generated, "h")
        .iter()
        .map(|header| format!("#include \"{}\"\n", header.display()))
        .collect();
    let alone = generated.join("alone");
    std::fs::create_dir(&alone).expect("it can be written");
    let write = |name: String, text: String| {
        let source = alone.join(name);
        std::fs::write(&source, text).expect("it can be written");
        source
    };
    let headers = includes.iter().cloned().enumerate();
    let headers = headers.map(|(number, include)| write(format!("{number}.c"), include));
    let headers: Vec<PathBuf> = headers.collect();
    let together = write(
        "together.c".into(),
        LIBRARIES.to_owned() + &includes.concat(),
    );
    includes.reverse();
    let reversed = write("reversed.c".into(), includes.concat());
    let both = [sources, vec![together, reversed]].concat();
    for compiler in Compiler::all() {
        for (cpp, sources) in [
            (false, [&both[..], &headers].concat()),
            (true, both.clone()),
        ] {
            let mut compile = compiler.command(cpp);
            compile.arg("-fsyntax-only").arg("-I").arg(generated);
            for host in hosts {
                compile.arg("-I").arg(host);
            }
            compile.args(if cpp { &["-x", "c++"][..] } else { &[] });
            if let Err(complaint) = succeed(compile.args(sources)) {
                panic!("{complaint}");
            }
        }
    }
}

#[test]
fn all_protocols_compile() {
    check_compiles(
        &generate_with(
            "protocols",
            &protocols(),
            &["--c-shm", "--c-events", "--robots"],
        ),
        &hosts(),
    );
}

#[test]
fn names_that_libraries_use_compile() {
    let folder = repository().join("tests/nasty");
    let protos = [folder.join("names.proto")];
    check_compiles(
        &generate_with("names", &protos, &["--c-events", "--robots"]),
        &[folder],
    );
}

/// Also for sessions between processes, since no host supplies anything here.
#[test]
fn names_that_generated_code_uses_compile() {
    for name in [
        "sides",
        "tables",
        "instances",
        "keywords",
        "scopes",
        "library",
    ] {
        let proto = repository().join(format!("tests/names/{name}.proto"));
        let options = ["--c-shm", "--c-events", "--robots"];
        let generated = generate_with(&format!("names-{name}"), &[proto], &options);
        check_compiles(&generated, &[]);
    }
}

#[test]
fn what_is_as_large_as_documented_compiles() {
    let protos = limits::protos(&scratch("limits"));
    let options = ["--c-shm", "--c-events", "--robots"];
    check_compiles(&generate_with("limits-code", &protos, &options), &[]);
}

/// The first protocol can run between processes and the second cannot, whatever states they have that no session reaches.
#[test]
fn states_that_no_session_reaches_decide_nothing() {
    let folder = repository().join("tests/nasty");
    let protos = [folder.join("unreached.proto")];
    let generated = generate_with("unreached", &protos, &["--c-shm"]);
    check_compiles(&generated, &[]);
    let headers = files_in(&generated, "h");
    let names = headers
        .iter()
        .filter_map(|header| header.file_name()?.to_str());
    let names: Vec<&str> = names.filter(|name| name.ends_with("_shm.h")).collect();
    assert_eq!(names, ["quoting_shm.h"]);
    let header = std::fs::read_to_string(generated.join("quoting.h")).expect("it was written");
    assert!(header.contains("duo_status quoting_init_in("), "{header}");
}

#[test]
fn protocols_that_mention_each_other_compile() {
    let folder = repository().join("tests/nasty");
    let protos = [folder.join("shapes.proto")];
    check_compiles(
        &generate_with("shapes", &protos, &["--c-events", "--robots"]),
        &[],
    );
}

#[test]
fn what_travels_between_processes_compiles() {
    let files = [
        ("wire/payloads.proto", &["--c-shm"][..]),
        ("processes/talk.proto", &["--c-shm"]),
        (
            "payloads/inline.proto",
            &[
                "--c-shm",
                "--remote",
                "--c-inline-bounds",
                "--c-events",
                "--robots",
            ],
        ),
    ];
    for (number, (file, options)) in files.into_iter().enumerate() {
        let proto = repository().join("tests").join(file);
        let generated = generate_with(&format!("wire-{number}"), &[proto], options);
        check_compiles(&generated, &[]);
    }
}

/// The generated code, next to the protocol it is generated from; for the last protocol also the code for processes.
#[test]
fn generated_text() {
    for case in ["pingpong", "oneshot", "double_buffer", "smtp"] {
        let proto = repository().join(format!("protocols/{case}.proto"));
        let further: &[&str] = if case == "smtp" { &["--c-shm"] } else { &[] };
        let protos = std::slice::from_ref(&proto);
        let folder = generate_with(&format!("text-{case}"), protos, further);
        let mut text = std::fs::read_to_string(&proto).expect("the protocol is there");
        let mut files = files_in(&folder, "h");
        files.extend(sources_in(&folder));
        files.sort();
        if case == "smtp" {
            files.retain(|file| file.to_string_lossy().contains("_shm."));
        }
        for file in files {
            let name = file
                .file_name()
                .expect("it is a file")
                .to_string_lossy()
                .into_owned();
            let written = std::fs::read_to_string(&file).expect("it was just written");
            text.push_str(&format!("\n======== {name}\n{written}"));
        }
        insta::assert_snapshot!(format!("c@{case}"), text);
    }
}

/// Generated code and the runtime must have the same version except for the patch number: what Cargo and CMake consider compatible.
#[test]
fn headers_of_another_version_are_refused() {
    let folder = scratch("versions");
    let proto = folder.join("ask.proto");
    let text = "struct note { value: u64 }\nproto! ask { start:send { pay(note) -> ! } }\n";
    std::fs::write(&proto, text).expect("it can be written");
    let generated = generate("versions-code", &[proto]);
    let runtime = repository().join("runtime/c/include");
    let own = std::fs::read_to_string(runtime.join("duologue.h")).expect("it is there");
    let numbers = ["MAJOR", "MINOR", "PATCH"].map(|part| format!("#define DUO_VERSION_{part} "));
    let of = |number: &str| {
        let line = own.lines().find_map(|line| line.strip_prefix(number));
        line.and_then(|value| value.parse::<u32>().ok())
            .unwrap_or_else(|| panic!("duologue.h has no {number}"))
    };
    let version = numbers.each_ref().map(|number| of(number));
    let written = version.map(|number| number.to_string()).join(".");
    assert_eq!(written, env!("CARGO_PKG_VERSION"), "duologue.h");
    for (language, part) in [("c", 0), ("c", 1), ("c", 2), ("cpp", 0), ("cpp", 1)] {
        let mut other = version;
        other[part] += 1;
        let line = |version: [u32; 3]| format!("{}{}\n", numbers[part], version[part]);
        let header = own.replace(&line(version), &line(other));
        std::fs::write(folder.join("duologue.h"), header).expect("it can be written");
        let main = folder.join(format!("main.{language}"));
        std::fs::write(&main, "#include \"ask.h\"\n").expect("it can be written");
        let own = [main];
        // Searched before the headers of the runtime.
        let first = format!("-iquote{}", folder.display());
        let compiled = Program {
            flags: &[first.as_str(), "-fsyntax-only"],
            ..quiet(
                Watch::Plain,
                &own,
                std::slice::from_ref(&generated),
                &folder,
            )
        }
        .objects();
        if part == 2 {
            compiled.unwrap_or_else(|complaint| panic!("a patch: {complaint}"));
            continue;
        }
        let complaint = compiled.expect_err("it is another version");
        let [major, minor, _] = version;
        let expected = format!(
            "generated by duologue {major}.{minor}, but the runtime headers are version {}: \
             install the same version of both and generate the code again",
            other.map(|number| number.to_string()).join(".")
        );
        let lines = || complaint.lines();
        let errors: Vec<&str> = lines().filter(|line| line.contains(" error: ")).collect();
        let headers = ["ask_types.h:", "ask.h:"];
        assert_eq!(errors.len(), headers.len(), "{complaint}");
        for (error, header) in errors.iter().zip(headers) {
            let is_told = error.contains(&expected) && lines().any(|line| line.contains(header));
            assert!(is_told, "{complaint}");
        }
    }
}

/// The page describes how, with this example.
#[test]
fn two_packages_have_a_protocol_of_the_same_name() {
    let folder = scratch("two-packages");
    let mut sources = Vec::new();
    for package in ["acme", "river"] {
        let proto = folder.join(format!("{package}.proto"));
        let text = format!(
            "package {package};\nstruct note {{ value: u64 }}\nproto! bank {{ start:send {{ pay(note) -> ! }} }}\n"
        );
        std::fs::write(&proto, text).expect("it can be written");
        let generated = folder.join(package);
        let mut gen_c = Command::new(env!("CARGO_BIN_EXE_duologue"));
        gen_c.arg("gen").arg(&proto).arg("--c").arg(&generated);
        gen_c.args(["--c-prefix", &format!("{package}_"), "--c-shm", "--quiet"]);
        succeed(&mut gen_c).unwrap_or_else(|complaint| panic!("{complaint}"));
        sources.extend(sources_in(&generated));
    }
    let main = folder.join("main.c");
    std::fs::write(&main, TWO_PACKAGES).expect("it can be written");
    sources.push(main);
    let includes = [folder.clone()];
    let program = quiet(Watch::Address, &sources, &includes, &folder);
    if let Err(complaint) = program.run() {
        panic!("{complaint}");
    }
}

/// Both headers have the same include guard, which would silently hide the second.
#[test]
fn two_packages_have_a_protocol_of_the_same_name_and_no_prefix() {
    let folder = scratch("two-packages-bare");
    for (package, file) in [("package acme;", "a"), ("package river;", "a"), ("", "b")] {
        let proto = folder.join(format!("{file}.proto"));
        let text = format!("{package}\nproto! bank {{ start:send {{ pay(u64) -> ! }} }}\n");
        std::fs::write(&proto, text).expect("it can be written");
        let mut gen_c = Command::new(env!("CARGO_BIN_EXE_duologue"));
        gen_c.arg("gen").arg(&proto).args(["--c-shm", "--quiet"]);
        let name = package.trim_start_matches("package ").trim_end_matches(';');
        gen_c.arg("--c").arg(folder.join(format!("{name}{file}")));
        succeed(&mut gen_c).unwrap_or_else(|complaint| panic!("{complaint}"));
    }
    for (includes, lines) in [
        (
            ["acmea/bank_shm.h", "acmea/bank_shm.h", "acmea/bank.h"],
            vec![],
        ),
        (
            ["acmea/bank.h", "rivera/bank.h", "acmea/bank.h"],
            vec!["rivera/bank.h:3:"],
        ),
        (
            ["acmea/bank.h", "b/bank.h", "b/bank_shm.h"],
            vec!["b/bank.h:3:", "b/bank.h:3:"],
        ),
        (
            ["b/bank_shm.h", "rivera/bank_shm.h", "b/bank.h"],
            vec!["rivera/bank_shm.h:3:"],
        ),
    ] {
        let text = includes.map(|header| format!("#include \"{header}\"\n"));
        let main = folder.join("main.c");
        std::fs::write(&main, text.concat()).expect("it can be written");
        let own = [main];
        let folders = [folder.clone()];
        let complaint = match quiet(Watch::Plain, &own, &folders, &folder).objects() {
            Ok(_) => String::new(),
            Err(complaint) => complaint,
        };
        let errors: Vec<&str> = complaint
            .lines()
            .filter(|line| line.contains(" error: "))
            .collect();
        assert_eq!(errors.len(), lines.len(), "{includes:?}:\n{complaint}");
        for (error, place) in errors.iter().zip(&lines) {
            assert!(
                error.contains(place) && error.contains("another protocol `bank`"),
                "{error}"
            );
        }
    }
}

const TWO_PACKAGES: &str = r#"
#include "acme/bank.h"
#include "river/bank.h"

int main(void)
{
    acme_bank_server_start_t acme;
    acme_bank_client_start_t acme_client;
    river_bank_server_start_t river;
    river_bank_client_start_t river_client;
    acme_acme_note_t one = {1};
    river_river_note_t two = {2};
    if (acme_bank_init(&acme, &acme_client) != DUO_OK) return 1;
    if (river_bank_init(&river, &river_client) != DUO_OK) return 1;
    if (acme_bank_client_start_send_pay(acme_client, one) != DUO_OK) return 1;
    if (river_bank_client_start_send_pay(river_client, two) != DUO_OK) return 1;
    acme_bank_start_t acme_got;
    river_bank_start_t river_got;
    if (acme_bank_server_start_recv(acme, &acme_got) != DUO_OK) return 1;
    if (river_bank_server_start_recv(river, &river_got) != DUO_OK) return 1;
    return acme_got.as.pay.note.value == 1 && river_got.as.pay.note.value == 2 ? 0 : 1;
}
"#;

/// Parts that are built in two different ways do not link: in each way, what the code calls is what the runtime of that way alone
/// defines, under a name that says which build is missing.
#[test]
fn a_mixture_does_not_link() {
    let folder = scratch("mixture");
    let proto = repository().join("protocols/pingpong.proto");
    let generated = generate("mixture-generated", &[proto]);
    let main = folder.join("main.c");
    std::fs::write(&main, MIXTURE).expect("it can be written");
    let sources = [main, runtime().join("src/ring/layout.c")];
    let ways: [(&[&str], &str); 5] = [
        (&[], ""),
        (&["-DDUO_CHECKED"], "_checked"),
        (&["-DDUO_NO_MALLOC"], "_no_malloc"),
        (&["-DDUO_NO_THREADS"], "_no_threads"),
        (&["-DDUO_RECORD"], "_checked_record"),
    ];
    for (flags, suffix) in ways {
        let program = Program {
            flags,
            ..quiet(
                Watch::Plain,
                &sources,
                std::slice::from_ref(&generated),
                &folder,
            )
        };
        let objects = program.objects();
        let objects = objects.unwrap_or_else(|complaint| panic!("{flags:?}:\n{complaint}"));
        for (object, kind) in objects.iter().zip(["U", "T"]) {
            let listed = succeed(Command::new("nm").arg(object)).expect("nm comes with gcc");
            let names = listed.lines().filter_map(|line| {
                let (start, name) = line.rsplit_once(' ')?;
                let is_it = start.ends_with(kind) && name.starts_with("duo_open_in");
                is_it.then_some(name)
            });
            let names: Vec<&str> = names.collect();
            assert_eq!(
                names,
                [format!("duo_open_in{suffix}")],
                "{flags:?}, {object:?}"
            );
        }
    }
}

const MIXTURE: &str = r#"
#include "pingpong.h"

#ifdef DUO_NO_THREADS
void duo_idle(void) { }
uint64_t duo_clock(void) { return 0; }
#endif

static pingpong_session_memory_t memory;

int main(void)
{
    pingpong_server_ping_t server;
    pingpong_client_ping_t client;
    pingpong_client_pong_t waiting;
    pingpong_ping_t ping;
    if (pingpong_init_in(&memory, &server, &client) != DUO_OK) return 1;
    if (pingpong_client_ping_send_ping(client, &waiting) != DUO_OK) return 1;
    return pingpong_server_ping_recv(server, &ping) == DUO_OK ? 0 : 1;
}
"#;
