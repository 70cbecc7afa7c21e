//! One side of sessions in which a client sends more than the server's limits allow: `limits client|server limits ADDRESS`. The
//! client's code is generated from `limits/wide.proto`, the server's from `limits/narrow.proto`. There is a session for each of
//! [`CASES`], in order. Both sides print how it ended: `CASE ok`, or `CASE` and the reason. A server first prints `listening ADDRESS`.
//!
//! In a last session, `late`, the client has `limits/untimed.proto` and the server `limits/timed.proto`. The client owes a message, and
//! sends it only when a line is written to its input.
#![forbid(unsafe_code)]

use conversations::limits::narrow::{Answer, journal as narrow};
use conversations::limits::timed::visit as timed;
use conversations::limits::untimed::visit as untimed;
use conversations::limits::wide::{Entry, journal as wide};
use duologue::Closed;
use duologue_net::Listener;
use std::error::Error;
use std::io;

/// What the client sends. The first is at its limits, the others are beyond one.
const CASES: [&str; 8] = [
    "fits", "field", "items", "item", "message", "entry", "inner", "protocol",
];

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn send(case: &str, open: wide::client::Open) -> Result<wide::client::Open, Closed> {
    let append = |open: wide::client::Open, title: &str, tags: &[&str]| {
        let title = title.to_owned();
        let tags = texts(tags);
        open.append(Entry { title, tags })
    };
    let name = |open: wide::client::Open, text: &str, pages| open.name(text.to_owned(), pages);
    Ok(match case {
        "fits" => append(open, "12345678", &["1234", "1234"])?,
        "field" => append(open, "123456789", &[])?,
        "items" => append(open, "", &["", "", ""])?,
        "item" => append(open, "", &["12345"])?,
        "message" => open.attach(vec![1; 4])?,
        "entry" => name(open, "123456", Vec::new())?,
        "inner" => name(open, "", vec![vec![1; 3]])?,
        _ => name(open, "12345", vec![vec![1]; 17])?,
    })
}

/// The client asks after each message, so that the answer says whether it was accepted.
fn ask(case: &str, open: wide::client::Open) -> Result<(), Closed> {
    let asked = send(case, open)?.look_up((1, "k".to_owned()), None)?;
    let wide::Answered::Answered(_, open) = asked.recv()?;
    Ok(open.close()?)
}

fn answer(mut open: narrow::server::Open) -> Result<(), Closed> {
    loop {
        open = match open.recv()? {
            narrow::Open::Append(_, next)
            | narrow::Open::Attach(_, next)
            | narrow::Open::Name { next, .. } => next,
            narrow::Open::LookUp(_, _, asked) => asked.answered(Answer::Note { text: None })?,
            narrow::Open::Close => return Ok(()),
        };
    }
}

/// The client is late, and asks, so that it learns it.
fn be_late(choose: untimed::client::Choose) -> Result<(), Closed> {
    let quick = choose.hurry()?;
    // At the end of the input the program goes on, too.
    let _ended = io::stdin().read_line(&mut String::new());
    let asked = quick.done()?.ask_quickly()?;
    asked.recv().map(drop)
}

fn hurry(choose: timed::server::Choose) -> Result<(), Closed> {
    if let timed::Choose::Hurry(quick) = choose.recv()? {
        quick.recv().map(drop)?;
    }
    Ok(())
}

fn report(case: &str, outcome: Result<(), Closed>) {
    let how = match outcome {
        Ok(()) => "ok".to_owned(),
        Err(closed) => format!("{:?}", closed.why()).to_lowercase(),
    };
    println!("{case} {how}");
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["client", _, address] => {
            for case in CASES {
                report(case, ask(case, duologue_net::connect(address)?));
            }
            report("late", be_late(duologue_net::connect(address)?));
        }
        ["server", _, address] => {
            let mut listener = Listener::bind(address)?;
            println!("listening {}", listener.address());
            for case in CASES {
                report(case, answer(listener.accept()?));
            }
            report("late", hurry(listener.accept()?));
        }
        _ => return Err("usage: limits client|server limits ADDRESS".into()),
    }
    Ok(())
}
