//! `duologue top`: what a program's registry says, from files and sockets, and from a terminal.

use crate::support::FOREVER;
use crate::support::program::{Scratch, run};
use crate::support::running::Running;
use crate::support::tmux::Tmux;
use serde_json::Value;
use std::process::Command;
use std::thread;
use std::time::Instant;

/// Two threads that wait for each other in two sessions, a third that waits for one of them, and a session over a socket.
const STUCK: &str = include_str!("../../commands/top/stuck.json");

/// A document in which this is replaced.
fn stuck_with(old: &str, new: &str) -> String {
    assert!(STUCK.contains(old));
    STUCK.replacen(old, new, 1)
}

/// What is read comes from another program: errors name the source, and a terminal obeys nothing.
#[test]
fn hostile_documents_are_refused_or_shown_as_text() {
    let scratch = Scratch::new("top-hostile");
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let inside = format!("{{\"format\":1,\"sessions\":{deep}}}");
    for text in [deep, inside] {
        let output = run(scratch.duologue("top -"), text.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.starts_with("error: cannot read -: "), "{said}");
    }
    let escaped = stuck_with("bank.login_response", "\\u001b]0;x\\u0007\\n\\u202ebank");
    let long = "x".repeat(100_000);
    let text = escaped.replace("thread c #3", &long);
    let output = run(scratch.duologue("top - --color never"), text.as_bytes());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        !said.contains('\u{1b}') && !said.contains('\u{202e}'),
        "{said}"
    );
    assert!(said.len() < 4_000, "{} bytes", said.len());
}

/// A session in which one thread waits for another.
fn session(waits: usize, other: usize) -> String {
    format!(
        "{{\"session\":\"{waits}\",\"protocol\":\"p\",\"state\":\"p.s\",\"turn\":\"server\",\"waits\":1,\"sides\":[\
         {{\"side\":\"client\",\"owner\":\"t{waits}\",\"waits\":1,\"for\":\"message\"}},{{\"side\":\"server\",\"owner\":\"t{other}\"}}]}}"
    )
}

fn document(sessions: impl Iterator<Item = String>) -> String {
    let sessions: Vec<String> = sessions.collect();
    format!("{{\"format\":1,\"sessions\":[{}]}}", sessions.join(","))
}

/// A chain of 8,000 threads, each of which waits for the next, and the last for the first: once all, and once all but one.
#[test]
fn many_sessions_are_searched_in_time() {
    let count = 8_000;
    let document = |count: usize, others: usize| {
        document((0..count).map(|number| session(number, (number + 1) % others)))
    };
    let scratch = Scratch::new("top-many");
    for (others, deadlocks) in [(count, 1), (count + 1, 0)] {
        let output = run(
            scratch.duologue("top - --format json"),
            document(count, others).as_bytes(),
        );
        let seen: Value = serde_json::from_slice(&output.stdout).expect("a document");
        let found = seen["deadlocks"].as_array().expect("a list");
        assert_eq!(found.len(), deadlocks);
        if let Some(one) = found.first() {
            assert_eq!(one["waits"].as_array().map(Vec::len), Some(count));
        }
    }
}

/// A long circle is cut as the sessions are, and so are many circles.
#[test]
fn only_some_deadlocks_are_shown() {
    let scratch = Scratch::new("top-long");
    let shown = |text: String| {
        let output = run(scratch.duologue("top - --most 3"), text.as_bytes());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let long = (100..200).map(|number| session(number, (number + 1 - 100) % 100 + 100));
    let said = shown(document(long));
    assert!(
        said.contains("deadlock: t100 -> t101 -> t102 -> 97 more -> t100\n"),
        "{said}"
    );
    assert_eq!(said.matches(" in session #").count(), 3, "{said}");
    let many = shown(document((10..50).map(|at| session(at, at))));
    assert_eq!(many.matches("deadlock: ").count(), 3, "{many}");
    assert!(many.contains("\nand 37 more deadlocks\n"), "{many}");
}

/// As many small sessions as fit take less than 512 MiB.
#[cfg(target_os = "linux")]
#[test]
fn the_largest_document_takes_bounded_memory() {
    let small = "{\"session\":\"\",\"protocol\":\"\",\"turn\":\"\",\"waits\":0,\"sides\":[{\"side\":\"\"},{\"side\":\"\"}]},";
    let sessions = small.repeat(((32 << 20) - 100) / small.len());
    let text = format!(
        "{{\"format\":1,\"sessions\":[{}]}}",
        sessions.trim_end_matches(',')
    );
    let scratch = Scratch::with("top-large", &[("large.json", &text)]);
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_duologue");
    command.current_dir(scratch.path(".")).args([
        "-c",
        &format!("ulimit -v 524288 && exec {program} top large.json --once"),
    ]);
    let output = run(command, b"");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(said.starts_with("0 deadlocks, "), "{said}");
    let three = text.replacen("[{\"side\":\"\"}", "[{\"side\":\"\"},{\"side\":\"\"}", 1);
    let output = run(scratch.duologue("top -"), three.as_bytes());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("more than two sides"), "{said}");
}

/// Serves these documents, one to each connection, on a thread that ends with the process.
#[cfg(unix)]
fn serve(path: &std::path::Path, documents: Vec<Vec<u8>>) {
    use std::io::Write;
    let listener = std::os::unix::net::UnixListener::bind(path).expect("a free path");
    thread::spawn(move || {
        let mut last = documents.iter().cycle();
        while let (Ok((mut client, _)), Some(document)) = (listener.accept(), last.next()) {
            let _gone = client.write_all(document);
        }
    });
}

#[cfg(unix)]
#[test]
fn a_socket_is_read_to_its_end_and_not_further() {
    let scratch = Scratch::new("top-socket");
    serve(&scratch.path("one"), vec![STUCK.into()]);
    let output = run(scratch.duologue("top unix:one --once"), b"");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("deadlock: thread a #1 -> thread b #2 -> thread a #1"),
        "{said}"
    );
    serve(&scratch.path("much"), vec![vec![b' '; (32 << 20) + 1]]);
    let output = run(scratch.duologue("top unix:much --once"), b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("more than 32 MiB"), "{said}");
}

/// A program that ends, or has not begun again yet, is asked again.
#[cfg(unix)]
#[test]
fn a_source_that_was_read_is_read_again_after_a_failure() {
    let scratch = Scratch::new("top-again");
    let path = scratch.path("program.json");
    scratch.write("program.json", STUCK);
    let mut top = Running::start(&mut scratch.duologue("top program.json --format json"));
    assert!(top.line().contains("\"process\":7"));
    std::fs::remove_file(&path).expect("it is there");
    let said = top.error_line();
    assert!(
        said.contains("cannot read program.json: ")
            && said.ends_with("; trying again every 1 second"),
        "{said}"
    );
    scratch.write("next.json", stuck_with("\"process\":7", "\"process\":8"));
    std::fs::rename(scratch.path("next.json"), &path).expect("it can be renamed");
    let end = Instant::now() + FOREVER;
    while !top.line().contains("\"process\":8") {
        assert!(Instant::now() < end, "the second process is not shown");
    }
    top.kill();
}

/// In a terminal of 80 columns and 24 rows the sessions replace those before. The deadlock is in sight whatever is selected and however large
/// the terminal is, more is shown on request, and `q` gives the terminal back.
#[cfg(unix)]
#[test]
#[ignore = "with tmux"]
fn a_terminal_shows_what_fits_with_the_deadlocks_in_sight() {
    let scratch = Scratch::new("top-terminal");
    let (head, rest) = STUCK.split_once("{\"session\":\"3\"").expect("it is there");
    let others = (10..60).map(|number| {
        format!("{{\"session\":\"{number}\",\"protocol\":\"bank\",\"state\":\"bank.login\",\"turn\":\"client\",\"waits\":{number},\"sides\":[\
             {{\"side\":\"client\",\"owner\":\"thread x #{number}\"}},{{\"side\":\"server\",\"owner\":\"thread y #{number}\"}}]}},")
    });
    let others: String = others.collect();
    let stuck = format!("{head}{others}{{\"session\":\"3\"{rest}");
    let free = stuck.replacen("\"in_flight\":8", "\"in_flight\":0", 1);
    // Which one is shown next depends on this file, not on time.
    let write = |text: &str| {
        scratch.write("next.json", text);
        let (next, now) = (scratch.path("next.json"), scratch.path("now.json"));
        std::fs::rename(next, now).expect("it can be renamed");
    };
    write(&stuck);
    let tmux = Tmux::start(&scratch, (80, 24), "top now.json");
    let screen = tmux.shows("of 54 sessions");
    let lines: Vec<&str> = screen.lines().collect();
    assert!(
        lines[0].starts_with("1 deadlock, 54 sessions, 3 with"),
        "{screen}"
    );
    assert!(
        lines[1].starts_with("> deadlock: thread a #1 -> thread b #2"),
        "{screen}"
    );
    assert!(lines[2].starts_with("  session"), "{screen}");
    assert!(lines[23].starts_with("q quits"), "{screen}");
    assert!(!screen.contains("in flight"), "{screen}");
    tmux.keys(&["Enter"]);
    let screen = tmux.shows("thread b #2 waits 2.5 s in session #2 as its client");
    assert_eq!(screen.lines().count(), 24, "{screen}");
    tmux.keys(&["-N", "50", "Down"]);
    let screen = tmux.shows("> #14");
    assert!(
        screen.contains("  deadlock: thread a #1") && screen.contains("0 in flight to it"),
        "{screen}"
    );
    tmux.run(&["resize-window", "-x", "50", "-y", "9"]);
    let screen = tmux.waits("a smaller frame", |screen| {
        let last = screen.lines().last();
        screen.starts_with("1 deadlock, ") && last.is_some_and(|last| last.starts_with("q quits"))
    });
    assert_eq!(screen.lines().count(), 9, "{screen}");
    assert!(
        screen.contains("  deadlock: thread a #1") && screen.contains("> #14"),
        "{screen}"
    );
    write(&free);
    let screen = tmux.waits("no deadlock", |screen| screen.starts_with("0 deadlocks, "));
    assert!(
        !screen.contains("deadlock: ") && screen.contains("> #14"),
        "{screen}"
    );
    std::fs::remove_file(scratch.path("now.json")).expect("it is there");
    tmux.shows("cannot read now.json: ");
    write(&stuck);
    tmux.waits("the deadlock again", |screen| {
        screen.starts_with("1 deadlock, ") && !screen.contains("cannot read")
    });
    tmux.keys(&["q"]);
    let screen = tmux.shows("ended with 0");
    assert!(
        !screen.contains("deadlock"),
        "the screen is as before: {screen}"
    );
    // What is typed is shown again.
    tmux.keys(&["typed"]);
    tmux.shows("typed");
}

/// Ctrl-C and a request of another process end it too, and give the terminal back.
#[cfg(unix)]
#[test]
#[ignore = "with tmux"]
fn a_terminal_is_given_back_however_it_ends() {
    for way in ["C-c", "kill"] {
        let scratch = Scratch::with("top-ends", &[("stuck.json", STUCK)]);
        let tmux = Tmux::start(&scratch, (80, 24), "top stuck.json");
        tmux.shows("q quits");
        match way {
            "kill" => Tmux::terminate(&scratch),
            key => tmux.keys(&[key]),
        }
        tmux.shows("ended with 0");
        tmux.keys(&["typed"]);
        tmux.shows("typed");
    }
}
