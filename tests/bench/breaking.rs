//! How the time to compare versions grows: `cargo bench --bench breaking` compares two versions of a protocol with 10,000 and with
//! 100,000 states. In one comparison the versions differ only in the names of all states, in the other the last state of one
//! version has one more message.
//!
//! Each size is measured in interleaved rounds and the median is shown. The bound: ten times the states take at most fifteen times
//! the time, which allows for memory that does not fit into caches.

use duologue::compile::{Compilation, Input, Request, compile};
use duologue::diagnostic::Level;
use duologue::files::Disk;
use duologue::protocol::ProtocolId;
use duologue::relation::{Change, Rollout, View};
use std::time::{Duration, Instant};

/// A protocol in which each state has four messages: one to the next state, and three to others, near and far.
fn protocol(prefix: &str, states: usize, last: &str) -> Compilation {
    let mut text = String::from("proto! large {\n");
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for state in 0..states {
        let mut any = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % states as u64).expect("fewer states than fit")
        };
        let (next, near, far, other) = ((state + 1) % states, (state + 2) % states, any(), any());
        let direction = ["send", "recv"][state % 2];
        let more = if state + 1 == states { last } else { "" };
        text += &format!(
            "{prefix}{state}:{direction} {{ go(u64, note: str) -> {prefix}{next}, skip(i32?) -> {prefix}{near}, \
             jump([bytes]) -> {prefix}{far}, turn -> {prefix}{other}{more} }}\n"
        );
    }
    text += "}\n";
    let mut request = Request::default();
    request.inputs = vec![Input::Text {
        path: "large.proto".into(),
        bytes: text.into_bytes(),
    }];
    request.levels = vec![("all".to_owned(), Level::Allow)];
    compile(&request, &Disk).expect("nothing is read")
}

fn measure(old: &Compilation, new: &Compilation, expected: Rollout) -> Duration {
    let view = |compilation| {
        let compilation: &Compilation = compilation;
        let checked = compilation.checked.as_ref().expect("it is sound");
        View::of(checked.program(), ProtocolId::new(0))
    };
    let (old, new) = (view(old), view(new));
    let start = Instant::now();
    let change = Change::between(old, new);
    let time = start.elapsed();
    assert_eq!(change.rollout(), expected);
    time
}

fn main() {
    const ROUNDS: usize = 5;
    let sizes = [10_000, 100_000];
    let pairs = sizes.map(|states| {
        let old = protocol("s", states, "");
        let renamed = protocol("t", states, "");
        let more = protocol("s", states, ", leave -> !");
        (old, renamed, more)
    });
    let mut times = [[const { Vec::new() }; 2], [const { Vec::new() }; 2]];
    for _ in 0..ROUNDS {
        for ((old, renamed, more), times) in pairs.iter().zip(&mut times) {
            times[0].push(measure(old, renamed, Rollout::AnyOrder));
            // The client receives in the last state, because the number of states is even.
            times[1].push(measure(old, more, Rollout::ClientFirst));
        }
    }
    let medians = times.map(|kinds| {
        kinds.map(|mut rounds| {
            rounds.sort();
            rounds[ROUNDS / 2].as_secs_f64()
        })
    });
    println!("| versions | 10,000 states, s | 100,000 states, s | ratio (at most 15) |");
    println!("| --- | --- | --- | --- |");
    for (kind, what) in ["all states renamed", "one more message in the last state"]
        .iter()
        .enumerate()
    {
        let (small, large) = (medians[0][kind], medians[1][kind]);
        println!(
            "| {what} | {small:.4} | {large:.4} | {:.1} |",
            large / small
        );
    }
}
