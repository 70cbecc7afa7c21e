//! The transcript of a conversation, and how values are written in it.

use duologue::Closed;
use std::fmt::{Display, Write};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What was received, line by line, in the order in which it arrived.
#[derive(Debug, Default)]
pub struct Transcript {
    text: Mutex<String>,
    /// After how many lines the program is held.
    holds_after: Option<usize>,
}

impl Transcript {
    /// One whose program is held after this many lines: it prints `held`, and waits until a line is written to its input.
    pub fn holding(after: Option<usize>) -> Transcript {
        Transcript {
            text: Mutex::default(),
            holds_after: after,
        }
    }

    /// The session has begun.
    pub fn begin(&self) {
        self.hold(0);
    }

    /// Writes one line.
    pub fn line(&self, line: impl Display) {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(text, "{line}").expect("writing to a string cannot fail");
        self.hold(text.lines().count());
    }

    fn hold(&self, lines: usize) {
        if self.holds_after == Some(lines) {
            println!("held");
            // At the end of the input the program goes on, too.
            let _ended = io::stdin().read_line(&mut String::new());
        }
    }

    /// All lines.
    pub fn text(self) -> String {
        self.text
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs each program on a thread of its own and compares what they received with what they should receive.
pub fn converse<S: Send, C: Send>(
    (server, client): (S, C),
    serve: impl FnOnce(S, &Transcript) -> Result<(), Closed> + Send,
    ask: impl FnOnce(C, &Transcript) -> Result<(), Closed> + Send,
    expected: &str,
) {
    let transcript = Transcript::default();
    thread::scope(|scope| {
        let serving = scope.spawn(|| serve(server, &transcript));
        let asking = scope.spawn(|| ask(client, &transcript));
        let outcomes = [("client", asking.join()), ("server", serving.join())];
        for (program, outcome) in outcomes {
            match outcome {
                Ok(Ok(())) => {}
                Ok(Err(closed)) => panic!("the {program} gave up: {closed}"),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    assert_eq!(transcript.text(), expected);
}

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{text}\"")
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("<{digits}>")
}

/// A list of values that are already formatted.
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

/// `none`, or a value that is already formatted.
pub fn option(value: Option<String>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("some({value})"))
}
