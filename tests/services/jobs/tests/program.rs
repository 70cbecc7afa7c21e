//! The program: the service, which serves and works, and its other commands, which are its peers.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

fn jobs() -> Command {
    Command::new(env!("CARGO_BIN_EXE_jobs"))
}

/// The service, its input, and its addresses.
fn serve(name: &str, arguments: &[&str]) -> (Child, ChildStdin, Vec<String>, PathBuf) {
    let file = format!("duologue-{}-program-{name}.sock", std::process::id());
    let path = std::env::temp_dir().join(file);
    let mut serve = jobs();
    serve.arg("serve").args(arguments);
    serve.args([
        format!("unix:{}", path.display()),
        "tcp://127.0.0.1:0".into(),
    ]);
    serve.stdin(Stdio::piped()).stdout(Stdio::piped());
    serve.stderr(Stdio::piped());
    let mut service = serve.spawn().expect("it was built");
    let input = service.stdin.take().expect("it is piped");
    let mut output = BufReader::new(service.stdout.take().expect("it is piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("it prints a line");
    let words = line.strip_prefix("listening ").expect("it listens");
    let addresses = words.split_whitespace().map(str::to_owned).collect();
    (service, input, addresses, path)
}

/// Ends the service, and returns what it has logged.
fn end(service: Child, input: ChildStdin) -> String {
    drop(input);
    let output = service.wait_with_output().expect("it is a child");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).expect("it is text")
}

fn submit(address: &str, kind: &str, inputs: &[&str]) -> String {
    let mut submit = jobs();
    submit.args(["submit", address, kind]).args(inputs);
    let output = submit.output().expect("it was built");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
fn it_works_and_stops_when_its_input_ends() {
    let (service, input, addresses, path) = serve("work", &["--work", "alarm,settle"]);
    let [unix, tcp] = &addresses[..] else {
        panic!("two addresses: {addresses:?}")
    };
    assert_eq!(submit(unix, "alarm", &["a", "b"]), "alarm: a\nalarm: b\n");
    assert_eq!(submit(tcp, "settle", &["7"]), "settle: 7\n");
    assert!(path.exists());
    let log = end(service, input);
    let of_jobs = log
        .lines()
        .filter(|line| line.contains("protocol=\"jobs\""));
    assert_eq!(of_jobs.count(), 2, "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
    assert!(!path.exists(), "the socket's file is left");
}

#[test]
fn a_program_can_be_its_worker_until_it_closes() {
    let (service, input, addresses, _path) = serve("worker", &[]);
    let mut work = jobs();
    work.args(["work", &addresses[0], "add", "mail"]);
    let mut worker = work.spawn().expect("it was built");
    assert_eq!(
        submit(&addresses[1], "mail", &["x", "y"]),
        "mail: x\nmail: y\n"
    );
    let log = end(service, input);
    assert!(log.contains("protocol=\"work\""), "{log}");
    assert!(worker.wait().expect("it is a child").success());
}

#[test]
fn an_address_at_which_nothing_listens_is_an_error() {
    let mut submit = jobs();
    submit.args(["submit", "unix:/nowhere/jobs.sock", "add", "x"]);
    submit.stderr(Stdio::piped());
    let mut submitting = submit.spawn().expect("it was built");
    let mut errors = String::new();
    let mut output = submitting.stderr.take().expect("it is piped");
    output.read_to_string(&mut errors).expect("it is text");
    assert!(
        errors.contains("no session with the queue at unix:/nowhere/jobs.sock"),
        "{errors}"
    );
    assert_eq!(submitting.wait().expect("it is a child").code(), Some(1));
}
