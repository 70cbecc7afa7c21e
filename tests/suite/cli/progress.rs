//! What a terminal shows: the progress of long work, and ASCII where the locale has nothing else.

use crate::support::program::{Scratch, run};
#[cfg(unix)]
use crate::support::tmux::Tmux;

/// A folder with so many protocols that checking them takes seconds.
#[cfg(unix)]
fn many(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for number in 0..4000 {
        let states = (0..20).map(|at| {
            let direction = if at % 2 == 0 { "send" } else { "recv" };
            format!(
                "s{at}:{direction} {{ m(a: u32) -> s{}, q -> ! }} ",
                (at + 1) % 20
            )
        });
        let states: String = states.collect();
        let text = format!("package p{number};\nproto! x{number} {{ {states} }}\n");
        scratch.write(&format!("{number}.proto"), text);
    }
    scratch
}

#[cfg(unix)]
#[test]
#[ignore = "with tmux"]
fn long_work_is_shown_on_a_terminal_and_removed() {
    let scratch = many("progress");
    let tmux = Tmux::start(&scratch, (80, 24), "check .");
    tmux.shows("checking 4000 files, ");
    let screen = tmux.shows("ended with 0");
    assert!(
        screen.contains("sound: 4000 protocols in 4000 files"),
        "{screen}"
    );
    assert!(!screen.contains("checking"), "{screen}");
    drop(tmux);
    let tmux = Tmux::start(&scratch, (80, 24), "gen . --rust out");
    tmux.shows("generating code for 4000 protocols, ");
}

/// In the locale `C`, only ASCII is drawn.
#[test]
fn the_locale_c_draws_ascii() {
    let bank = include_str!("../../../protocols/bank.proto");
    let wrong = bank.replace("-> connected", "-> conected");
    let scratch = Scratch::with("ascii", &[("bank.proto", bank), ("wrong.proto", &wrong)]);
    scratch.write("log.jsonl", "{\"session\":\"a\",\"message\":\"quit\"}\n");
    let sessions = "{\"format\":1,\"language\":\"c\",\"sessions\":[{\"session\":\"1\",\"protocol\":\"p\",\"turn\":\"client\",\"waits\":1}]}";
    scratch.write("sessions.json", sessions);
    let drawn = |line: &str, locale: &str| {
        let mut command = scratch.duologue(line);
        command.args(["--color", "always"]).env("LC_ALL", locale);
        let output = run(command, b"login(\"a\", \"b\")\nok\n");
        [output.stdout, output.stderr].concat()
    };
    for line in [
        "check bank.proto -v",
        "check wrong.proto",
        "check wrong.proto --format short",
        "gen bank.proto --rust out",
        "gen bank.proto --rust out --diff",
        "explain",
        "explain bank.proto",
        "explain bank.proto#bank",
        "explain bank.proto#bank/connected",
        "dual bank.proto",
        "dual bank.proto wrong.proto",
        "breaking wrong.proto",
        "fingerprint bank.proto",
        "trace log.jsonl --protocol bank.proto",
        "top sessions.json --once",
        "talk bank.proto",
        "fmt bank.proto --check",
        "--help",
    ] {
        let drawn = drawn(line, "C");
        assert!(
            drawn.is_ascii(),
            "{line}: {}",
            String::from_utf8_lossy(&drawn)
        );
    }
    for line in ["check wrong.proto", "check bank.proto -v"] {
        assert!(!drawn(line, "C.UTF-8").is_ascii(), "{line}");
    }
}
