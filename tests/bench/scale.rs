//! How the compiler grows: `cargo bench --bench scale` checks and generates protocols of up to 100,000 states and 400,000
//! messages, and 10,000 small files in one call.
//!
//! Each size is measured in interleaved rounds and the median is shown. The last columns are what must hold: time at ten times
//! the size is at most twelve times the time, and the peak of live memory stays below 4 KiB for each message.

use duologue::compile::{Compilation, Files, Input, Request, compile};
use duologue::target::{Options, Target, generate};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Counts live bytes and remembers the most there were.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract; the counters hold no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, and the memory came from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// No file is ever read: the texts are at hand and import nothing.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn identity(&self, _: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// A protocol in which each state has four messages: on to the next state, and to three others far and near.
fn protocol(name: &str, states: usize) -> String {
    let mut text = format!("/// A protocol of {states} states.\nproto! {name} {{\n");
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for state in 0..states {
        let mut any = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % states as u64).expect("fewer states than fit")
        };
        let (near, far, other) = ((state + 2) % states, any(), any());
        let (next, direction) = ((state + 1) % states, ["send", "recv"][state % 2]);
        text += &format!(
            "    s{state}:{direction} {{\n        go(u64, note: str) -> s{next},\n        skip(i32?) -> s{near},\n        \
             jump([bytes]) -> s{far},\n        {} -> {}\n    }}\n",
            "quit",
            if state % 7 == 0 {
                "!".to_owned()
            } else {
                format!("s{other}")
            },
        );
    }
    text + "}\n"
}

struct Measured {
    check: Duration,
    generate: Duration,
    peak: usize,
    text: usize,
}

fn measure(inputs: Vec<Input>) -> Measured {
    let request = Request {
        inputs,
        ..Request::default()
    };
    PEAK.store(LIVE.load(Relaxed), Relaxed);
    let before = LIVE.load(Relaxed);
    let start = Instant::now();
    let compilation: Compilation = compile(&request, &NoFiles).expect("nothing is read");
    let check = start.elapsed();
    let checked = compilation.checked.as_ref();
    let checked = checked.unwrap_or_else(|| panic!("{:?}", compilation.diagnostics.first()));
    let start = Instant::now();
    let outputs: Vec<_> = Target::ALL
        .map(|target| generate(checked, target, &Options::default()))
        .into();
    let generate = start.elapsed();
    let files = outputs.iter().flat_map(|output| &output.files);
    Measured {
        check,
        generate,
        peak: PEAK.load(Relaxed).saturating_sub(before),
        text: files.map(|file| file.text.len()).sum(),
    }
}

fn input(name: &str, text: String) -> Input {
    Input::Text {
        path: format!("{name}.proto").into(),
        bytes: text.into_bytes(),
    }
}

fn median(mut rounds: Vec<Measured>) -> Measured {
    rounds.sort_by_key(|round| round.check + round.generate);
    rounds.swap_remove(rounds.len() / 2)
}

fn report(what: &str, messages: usize, measured: &Measured) -> f64 {
    let seconds = |time: Duration| time.as_secs_f64();
    println!(
        "| {what} | {messages} | {:.3} | {:.3} | {:.0} | {:.0} |",
        seconds(measured.check),
        seconds(measured.generate),
        measured.text as f64 / messages as f64,
        measured.peak as f64 / messages as f64,
    );
    seconds(measured.check + measured.generate)
}

fn main() {
    const ROUNDS: usize = 3;
    let sizes = [1_000, 10_000, 100_000];
    let mut rounds: Vec<Vec<Measured>> = sizes.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (size, rounds) in sizes.iter().zip(&mut rounds) {
            rounds.push(measure(vec![input("large", protocol("large", *size))]));
        }
    }
    println!(
        "| protocol | messages | check s | generate s | text bytes a message | peak bytes a message |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut times = Vec::new();
    for (size, rounds) in sizes.iter().zip(rounds) {
        times.push(report(&format!("{size} states"), size * 4, &median(rounds)));
    }
    let many = || {
        (0..10_000)
            .map(|file| input(&format!("file{file}"), protocol(&format!("p{file}"), 5)))
            .collect()
    };
    let rounds = (0..ROUNDS).map(|_| measure(many())).collect();
    report("10,000 files of 5 states", 200_000, &median(rounds));
    println!();
    println!(
        "100,000 states against 10,000: {:.1} times the time (at most 12)",
        times[2] / times[1]
    );
}
