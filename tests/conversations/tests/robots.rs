//! The program of docs/testing.md that uses another crate, and what it does with a mistake.

mod page {
    include!(concat!(env!("OUT_DIR"), "/page_shrinking.rs"));
}

use conversations::robots::bank::{self, Connected, Login};
use duologue::Closed;
use duologue::robots::{Choices, Play};
use proptest::prelude::{ProptestConfig, any};
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::time::Duration;

/// A bank that leaves when it should pay more than 20.
fn serve(server: bank::server::Login) -> Result<(), Closed> {
    let Login::Login { next: answer, .. } = server.recv()?;
    let mut customer = answer.ok()?;
    loop {
        customer = match customer.recv()? {
            Connected::Deposit(_, next) => next,
            Connected::Withdrawal { amount, .. } if amount > 20.0 => return Ok(()),
            Connected::Withdrawal {
                amount,
                next: answer,
            } => answer.money(amount)?,
            Connected::Quit => return Ok(()),
        };
    }
}

/// Whether the bank has answered, and the transcript.
fn play(bytes: &[u8]) -> (bool, String) {
    let (server, client) = bank::init();
    let serving = std::thread::spawn(move || serve(server));
    let mut play = Play::new(Choices::bytes(bytes)).pause(Duration::ZERO);
    let ending = bank::robots::client(client, &mut play, &mut ());
    // A robot that leaves ends the session of the bank, too, so how it ended does not matter.
    let _ended = serving.join().expect("the bank does not panic");
    (ending.check().is_ok(), play.transcript().to_owned())
}

/// Bytes that are shrunk are a shorter session with smaller values.
#[test]
fn the_smallest_session_with_a_mistake_is_found() {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let bytes = proptest::collection::vec(any::<u8>(), 0..100);
    let outcome = runner.run(&bytes, |bytes| match play(&bytes) {
        (true, _) => Ok(()),
        (false, transcript) => Err(TestCaseError::fail(transcript)),
    });
    let Err(TestError::Fail(_, bytes)) = outcome else {
        panic!("the mistake is not found: {outcome:?}");
    };
    let (is_right, transcript) = play(&bytes);
    assert!(!is_right);
    // Bytes that cannot be made smaller one by one may still make an unnecessary message.
    assert!(bytes.len() < 16, "{bytes:?}");
    assert!(transcript.lines().count() <= 5, "{transcript}");
    assert!(transcript.starts_with("server <- login(\"\", \"\")\n"));
    assert!(transcript.ends_with("client <- closed\n"), "{transcript}");
}
