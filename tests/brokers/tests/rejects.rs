//! What programs report when a NATS server is set up so that they cannot use it, or rejects them later.
#![forbid(unsafe_code)]

use brokers::memory::until;
use brokers::nats::Server;
use brokers::process::Process;
use brokers::protocols::bank::client as bank_client;
use duologue_net::{Error, connect};
use std::io::Read;
use std::process::{Command, Stdio};

/// The program of another language that `DUOLOGUE_BANK` names, with these arguments, as the user `holk` with the password 1234.
fn other_language(arguments: [&str; 2]) -> Option<Command> {
    let mut command = Command::new(std::env::var_os("DUOLOGUE_BANK")?);
    command.args(arguments);
    // The client library of C does not join the threads of a connection that has failed for good. All else counts.
    command.env("TSAN_OPTIONS", "report_thread_leaks=0");
    command
        .env("NATS_USER", "holk")
        .env("NATS_PASSWORD", "1234");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Some(command)
}

/// Waits until the process fails. Returns what it reports.
fn errors_of(mut process: Process) -> String {
    until("the process to end", || {
        process.0.try_wait().expect("it was started").is_some()
    });
    let mut errors = String::new();
    let mut pipe = process.0.stderr.take().expect("it is piped");
    pipe.read_to_string(&mut errors).expect("it can be read");
    let status = process.0.wait().expect("it was started");
    assert_eq!(status.code(), Some(1), "{errors}");
    errors
}

/// The error says what to change.
#[test]
fn a_server_whose_messages_are_too_short_is_rejected() {
    let server = Server::with("max_payload: 8191");
    let address = server.address("bank");
    let rejected = connect::<bank_client::Login>(&address).map(drop);
    let Err(Error::Io { source, .. }) = rejected else {
        panic!("{rejected:?}")
    };
    let error = source.to_string();
    assert!(error.contains("set its `max_payload` to 8192"), "{error}");
    for mode in ["serve", "accept"] {
        let Some(command) = other_language([mode, &address]) else {
            return;
        };
        let errors = errors_of(Process::start(command));
        assert!(errors.contains("set its `max_payload` to 8192"), "{errors}");
    }
}

/// The server does not take the password any longer, so nothing can arrive, and a bank does not wait for it forever.
#[test]
fn a_bank_of_another_language_that_is_rejected_later_ends() {
    let users = |password| {
        format!("authorization {{ users = [ {{ user: holk, password: \"{password}\" }} ] }}")
    };
    let mut server = Server::with(&users("1234"));
    let mut banks = Vec::new();
    for mode in ["serve", "accept"] {
        let address = server.address(mode);
        let Some(command) = other_language([mode, &address]) else {
            return;
        };
        banks.push((mode, Process::start(command)));
        until("the bank to serve", || {
            let command = other_language(["customer", &address]).map(|mut command| {
                command.arg("1");
                command
            });
            let output = command.expect("it is named").output();
            output.expect("it can be started").stdout == b"ok\n"
        });
    }
    server.configure(&users("changed"));
    server.restart();
    for (mode, bank) in banks {
        let errors = errors_of(bank);
        let what = if mode == "serve" {
            "cannot run"
        } else {
            "cannot accept"
        };
        assert!(errors.contains(what), "{mode}: {errors}");
    }
}
