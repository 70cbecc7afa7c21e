//! Protocols at each limit of `docs/language.md` that the size of generated code depends on, which compile in every target: here in Rust.

use crate::support::rust::{Edition, generate, rustc, scratch};
use crate::support::{repository, succeed};
use duologue::languages::Options;
use std::fs;
use std::path::{Path, PathBuf};

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

/// Writes a file with such protocols, also with enums that are larger than any should be. Returns it, and one with names of the greatest
/// length.
pub fn protos(folder: &Path) -> [PathBuf; 2] {
    let types = ["u64", "str", "[u16]", "u8?", "(u8, f64)"];
    let values = list(100, |i| format!("v{i}: {}", types[i % 5]));
    let messages = list(256, |i| format!("m{i}(v: u64) -> !"));
    let fields = list(20, |i| format!("f{i}: u64"));
    let structs = (0..94).map(|i| format!("struct d{i} {{ x: d{}, y: u8 }}\n", i + 1));
    let text = [
        format!("proto! wide {{ s:send {{ {messages} }} }}"),
        format!("proto! mixed {{ s:send {{ m({values}) -> ! }} }}"),
        format!("enum flat {{ {} }}", list(2000, |i| format!("v{i}"))),
        format!(
            "enum full {{ {} }}",
            list(100, |i| format!("v{i}({fields})"))
        ),
        "proto! enums { s:send { m(flat, full) -> ! } }".to_owned(),
        // Two types of depth 96.
        structs.collect::<String>() + "struct d94 { x: u8 }",
        format!("type lists = {}u8???{};", "[".repeat(23), "]".repeat(23)),
        "proto! deep { s:send { m(d0, lists) -> ! } }".to_owned(),
    ];
    let file = folder.join("limits.proto");
    fs::write(&file, text.join("\n")).expect("the target folder can be written");
    [file, repository().join("tests/names/long.proto")]
}

#[test]
#[ignore = "slow: large protocols"]
fn what_is_as_large_as_documented_compiles() {
    let folder = scratch("limits");
    let mut options = Options::default();
    options.remote = true;
    options.robots = true;
    generate(&protos(&folder), &options, &folder);
    let mut compiler = rustc(Edition::E2024);
    compiler.args(["-Dwarnings", "--crate-type", "lib", "--emit", "metadata"]);
    compiler
        .arg("--out-dir")
        .arg(&folder)
        .arg(folder.join("mod.rs"));
    succeed(&mut compiler).unwrap_or_else(|failure| panic!("{failure}"));
}
