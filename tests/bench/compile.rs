//! How long rustc takes to compile what a program sends and receives: `cargo bench --bench compile` compiles programs with 10, 100
//! and 200 message sites at `opt-level` 3 and prints the milliseconds for each site.
//!
//! A site is a message of the protocol that the program sends in one place and receives in one place. Half of them keep the direction,
//! and payloads are numbers, text, several values, or nothing. What a program without sites takes is subtracted. Each size is measured in
//! interleaved rounds and the median is shown: of the processor time of rustc, which other programs disturb less than the time that
//! passes.

use duologue::compile::{Input, Request, compile};
use duologue::diagnostic::Level;
use duologue::files::Disk;
use duologue::languages::{self, Options, Target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 3;

/// The entries of a message and the values that are sent.
const PAYLOADS: [(&str, &str); 4] = [
    ("(u64)", "7"),
    ("(str)", "String::new()"),
    ("(u32, bool)", "7, true"),
    ("", ""),
];

/// A protocol with two messages in each state. The direction changes after every second state.
fn protocol(sites: usize) -> String {
    let mut text = String::from("proto! sites {\n");
    let states = sites / 2;
    for state in 0..states {
        let direction = ["send", "recv"][state / 2 % 2];
        let next = match state + 1 {
            next if next == states => "!".to_owned(),
            next => format!("s{next}"),
        };
        let (one, other) = (PAYLOADS[state % 4].0, PAYLOADS[(state + 1) % 4].0);
        text += &format!("s{state}:{direction} {{ a{one} -> {next}, b{other} -> {next} }}\n");
    }
    text + "}\n"
}

/// Both sides, with a function for each state.
fn program(sites: usize) -> String {
    let mut text = String::from(
        "mod protocols { include!(\"tree/mod.rs\"); }\nuse duologue::Closed;\nuse protocols::sites::{self, client, server};\n\
         pub fn begin() -> (server::S0, client::S0) { sites::init() }\n",
    );
    let states = sites / 2;
    for state in 0..states {
        let sender = ["client", "server"][state / 2 % 2];
        let receiver = ["server", "client"][state / 2 % 2];
        let is_last = state + 1 == states;
        let next = |side: &str| match is_last {
            true => "Ok(next)".to_owned(),
            false => format!("{side}_{}(next, pick)", state + 1),
        };
        let send = |at: usize, name: &str| {
            let values = PAYLOADS[(state + at) % 4].1;
            let go = next(sender);
            format!("let next = end.{name}({values})?; {go}")
        };
        let arm = |at: usize, name: &str| {
            let count = ["value, ", "value, ", "value, other, ", ""][(state + at) % 4];
            let bound = format!("{count}{}", if is_last { "" } else { "next" });
            let bound = match bound.trim_end_matches(", ") {
                "" => String::new(),
                bound => format!("({bound})"),
            };
            let used = match count {
                "" => "",
                "value, " => "drop(value);",
                _ => "drop((value, other));",
            };
            let end = if is_last { "let next = ();" } else { "" };
            let go = next(receiver);
            format!("sites::S{state}::{name}{bound} => {{ {used} {end} {go} }}")
        };
        text += &format!(
            "pub fn {sender}_{state}(end: {sender}::S{state}, pick: fn() -> bool) -> Result<(), Closed> {{\n    \
             if pick() {{ {} }} else {{ {} }}\n}}\n",
            send(0, "a"),
            send(1, "b")
        );
        text += &format!(
            "pub fn {receiver}_{state}(end: {receiver}::S{state}, pick: fn() -> bool) -> Result<(), Closed> {{\n    \
             match end.recv()? {{ {} {} }}\n}}\n",
            arm(0, "A"),
            arm(1, "B")
        );
    }
    text
}

/// Writes the program for this number of sites, and returns its path.
fn write(folder: &Path, sites: usize) -> PathBuf {
    let folder = folder.join(sites.to_string());
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let path = folder.join("program.rs");
    if sites == 0 {
        fs::write(&path, "pub use duologue::Closed;\n").expect("the target folder can be written");
        return path;
    }
    let mut request = Request::default();
    let bytes = protocol(sites).into_bytes();
    fs::write(folder.join("sites.proto"), &bytes).expect("the target folder can be written");
    request.inputs = vec![Input::Text {
        path: "sites.proto".into(),
        bytes,
    }];
    request.levels = vec![("all".to_owned(), Level::Allow)];
    let compilation = compile(&request, &Disk).expect("nothing is read");
    let checked = compilation.checked.expect("it is sound");
    let tree = folder.join("tree");
    fs::create_dir_all(&tree).expect("the target folder can be written");
    for file in languages::generate(&checked, Target::Rust, &Options::default()).files {
        fs::write(tree.join(&file.path), file.text).expect("the target folder can be written");
    }
    fs::write(&path, program(sites)).expect("the target folder can be written");
    path
}

/// The processor time of all processes that this one has waited for, in seconds.
fn children() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // After the program's name, which may contain spaces: the fields from the third.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    // Linux counts these in hundredths of a second, whatever its own clock does.
    Some((ticks(13)? + ticks(14)?) / 100.0)
}

/// How long rustc takes for this program, in milliseconds.
fn measure(path: &Path, libraries: &Path) -> f64 {
    let library = libraries.join("libduologue_runtime.rlib");
    let (before, start) = (children(), Instant::now());
    let status = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "obj"])
        .args(["-C", "opt-level=3", "--cap-lints", "allow", "-o"])
        .arg(path.with_extension("o"))
        .arg("--extern")
        .arg(format!("duologue={}", library.display()))
        .arg("-L")
        .arg(format!("dependency={}", libraries.join("deps").display()))
        .arg(path)
        .stdin(Stdio::null())
        .status()
        .expect("rustc is installed");
    assert!(status.success(), "the program does not compile");
    let passed = start.elapsed().as_secs_f64();
    1_000.0 * (children().zip(before)).map_or(passed, |(after, before)| after - before)
}

fn main() {
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--release",
            "--package",
            "duologue-runtime",
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "the runtime cannot be built"
    );
    let this = std::env::current_exe().expect("the path of this program");
    let libraries = this.ancestors().nth(2).expect("it is in `deps`");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile");
    let sizes = [0, 10, 100, 200];
    let paths = sizes.map(|sites| write(&folder, sites));
    let mut times = sizes.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (path, times) in paths.iter().zip(&mut times) {
            times.push(measure(path, libraries));
        }
    }
    let medians = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    });
    for (sites, time) in sizes.into_iter().zip(medians).skip(1) {
        let each = (time - medians[0]) / sites as f64;
        println!("{sites:>4} message sites: {time:>7.0} ms, {each:>5.1} ms for each");
    }
}
