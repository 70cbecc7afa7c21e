//! A service of which there are two versions, in a process of its own, and its clients. `docs/scaling.md` uses it.
//!
//! * `desk serve VERSION ADDRESS` prints a line for each session. When its input ends, it drains, for 5 seconds at most, and prints how many
//!   sessions have begun, and how many of them have finished.
//! * `desk ask VERSION ADDRESS THREADS` has sessions on these threads, one after the other, until its input ends. It prints a line for each, and
//!   then how many have begun, have finished, and were refused because no server understands them.
//!
//! A version is `first` or `second`.
#![forbid(unsafe_code)]

use brokers::versions::{first, second};
use duologue::Closed;
use duologue_net::{Connector, Error, Listener, Verdict};
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread;
use std::time::Duration;

/// How long sessions have after the server's input has ended.
const DRAINING: Duration = Duration::from_secs(5);

/// How long a client waits for its session, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a client waits before it tries again after a refusal.
const PAUSE: Duration = Duration::from_millis(20);

fn answer_first(mut asking: first::server::Asking, counts: &Counts) -> Result<(), Closed> {
    let mut begins = Some(counts);
    loop {
        let message = asking.recv()?;
        if let Some(counts) = begins.take() {
            counts.begin();
        }
        match message {
            first::Asking::Ask { text, next } => asking = next.answer(text)?,
            first::Asking::Leave => return Ok(()),
        }
    }
}

fn answer_second(mut asking: second::server::Asking, counts: &Counts) -> Result<(), Closed> {
    let mut begins = Some(counts);
    loop {
        let message = asking.recv()?;
        if let Some(counts) = begins.take() {
            counts.begin();
        }
        match message {
            second::Asking::Ask { text, next } => asking = next.answer(text)?,
            second::Asking::Count { text, next } => {
                asking = next.counted(u32::try_from(text.len()).unwrap_or(u32::MAX))?;
            }
            second::Asking::Leave => return Ok(()),
        }
    }
}

fn ask_first(mut asking: first::client::Asking, turns: u32) -> Result<(), Closed> {
    for turn in 0..turns {
        let text = format!("question {turn}");
        let first::Answering::Answer { text: answer, next } = asking.ask(text.clone())?.recv()?;
        assert_eq!(answer, text);
        asking = next;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(asking.leave()?)
}

fn ask_second(mut asking: second::client::Asking, turns: u32) -> Result<(), Closed> {
    for turn in 0..turns {
        let text = format!("question {turn}");
        let second::Answering::Answer { text: answer, next } = asking.ask(text.clone())?.recv()?;
        assert_eq!(answer, text);
        let second::Counting::Counted(count, next) = next.count(answer)?.recv()?;
        assert_eq!(count as usize, text.len());
        asking = next;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(asking.leave()?)
}

#[derive(Default)]
struct Counts {
    begun: AtomicU32,
    finished: AtomicU32,
    refused: AtomicU32,
    ends: AtomicBool,
}

impl Counts {
    /// Servers call it with the first message of a session: a client that a busy server has not answered in time has begun another one.
    fn begin(&self) {
        self.begun.fetch_add(1, SeqCst);
        println!("session");
    }

    fn end(&self, ended: Result<(), Closed>) {
        match ended {
            Ok(()) => drop(self.finished.fetch_add(1, SeqCst)),
            Err(closed) => eprintln!("a session has not finished: {closed}"),
        }
    }
}

/// Waits until there is no more input: then this process has to end.
fn input_ends() {
    let _end = std::io::stdin().read_to_end(&mut Vec::new());
}

fn serve(version: &str, address: &str) -> Result<(), Error> {
    let counts: Arc<Counts> = Arc::default();
    let counted = Arc::clone(&counts);
    let mut listener = Listener::bind(address)?;
    if version == "first" {
        listener.serve(move |asking| counted.end(answer_first(asking, &counted)));
    } else {
        listener.serve(move |asking| counted.end(answer_second(asking, &counted)));
    }
    let drain = listener.drain();
    let draining = thread::spawn(move || {
        input_ends();
        let _all = drain.within(DRAINING);
    });
    listener.run()?;
    let _no_panic = draining.join();
    println!(
        "begun {} finished {}",
        counts.begun.load(SeqCst),
        counts.finished.load(SeqCst)
    );
    Ok(())
}

/// Has sessions until the input ends.
fn ask(version: &str, address: &str, counts: &Counts) -> Result<(), Error> {
    let patient = Connector::new().timeout(PATIENCE);
    let mut session = 0;
    while !counts.ends.load(SeqCst) {
        session += 1;
        let turns = session * 7 % 20;
        let begun = if version == "first" {
            patient.connect(address).map(|asking| {
                counts.begin();
                counts.end(ask_first(asking, turns));
            })
        } else {
            patient.connect(address).map(|asking| {
                counts.begin();
                counts.end(ask_second(asking, turns));
            })
        };
        match begun {
            Ok(()) => {}
            Err(Error::Refused {
                verdict: Verdict::UnknownProtocol,
                ..
            }) => {
                counts.refused.fetch_add(1, SeqCst);
                println!("refused");
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn ask_all(version: &str, address: &str, threads: usize) -> Result<(), Error> {
    let counts = Counts::default();
    let result = thread::scope(|scope| {
        let asking: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| ask(version, address, &counts)))
            .collect();
        input_ends();
        counts.ends.store(true, SeqCst);
        let results = asking.into_iter().map(|it| it.join().expect("no panic"));
        results.collect::<Result<Vec<()>, Error>>()
    });
    println!(
        "begun {} finished {} refused {}",
        counts.begun.load(SeqCst),
        counts.finished.load(SeqCst),
        counts.refused.load(SeqCst)
    );
    result.map(drop)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match words[..] {
        ["serve", version @ ("first" | "second"), address] => serve(version, address),
        ["ask", version @ ("first" | "second"), address, threads] => {
            ask_all(version, address, threads.parse().unwrap_or(1))
        }
        _ => {
            eprintln!("desk serve first|second ADDRESS, or desk ask first|second ADDRESS THREADS");
            return ExitCode::from(2);
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("desk: {error}");
            ExitCode::FAILURE
        }
    }
}
