//! Generates every protocol of `protocols/`, those of `tests/wire`, those of `limits` and `derived`, and the bank with robots,
//! into `OUT_DIR`, and the code in the READMEs of the crates `duologue-net` and `duologue-shm`, and in pages.

use std::path::{Path, PathBuf};

/// The blocks of Rust in a page of the repository.
fn blocks(page: &str) -> Vec<String> {
    let path = format!("../../{page}");
    println!("cargo::rerun-if-changed={path}");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let blocks = page.split("\n```rust\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap_or_default());
    blocks.map(str::to_owned).collect()
}

/// Writes the Rust blocks of a README as the body of one function.
fn write_readme(krate: &str, out: &Path) {
    let blocks = blocks(&format!("runtime/rust/{krate}/README.md")).concat();
    assert!(
        !blocks.is_empty(),
        "the README of {krate} has no code in Rust"
    );
    let body = format!("{{\n{blocks}Ok(())\n}}\n");
    std::fs::write(out.join(format!("readme_{krate}.rs")), body).expect("`OUT_DIR` can be written");
}

/// The programs of the pages about Rust that use other crates, in the order of `PAGES`.
const PROGRAMS: [&str; 9] = [
    "tasks",
    "cancelling",
    "streams",
    "errors",
    "over_sockets",
    "serving",
    "over_tls",
    "observed",
    "shared_memory",
];

const PAGES: [&str; 3] = ["rust", "rust-reference", "rust-sockets"];

/// Writes the programs of pages that use other crates. Their protocols are those of this package.
fn write_programs(out: &Path) {
    let write = |name: &str, text: String| {
        std::fs::write(out.join(format!("page_{name}.rs")), text)
            .expect("`OUT_DIR` can be written");
    };
    let uses = |block: &String, crates: &[&str]| {
        let mut crates = crates.iter();
        let block = format!("\n{block}");
        crates.any(|name| block.contains(&format!("\nuse {name}::")))
    };
    let others = [
        "anyhow",
        "duologue_net",
        "duologue_shm",
        "futures_util",
        "tokio",
    ];
    let programs = PAGES
        .iter()
        .flat_map(|page| blocks(&format!("docs/targets/{page}.md")));
    let programs: Vec<String> = programs.filter(|block| uses(block, &others)).collect();
    assert_eq!(programs.len(), PROGRAMS.len(), "programs with other crates");
    for (program, name) in programs.iter().zip(PROGRAMS) {
        write(name, format!("use conversations::protocols;\n{program}"));
    }
    let mut recorded = blocks("docs/tracing.md").into_iter();
    let recorded = recorded.find(|block| block.contains("fn main()"));
    let recorded = recorded.expect("the page has a program");
    let (_, rest) = (recorded.split_once("}\n")).expect("its protocols are first");
    write("recorded", format!("use conversations::protocols;\n{rest}"));
    let mut tests = blocks("docs/testing.md").into_iter();
    let shrinking = tests.find(|block| uses(block, &["proptest"]));
    let shrinking = shrinking.expect("the page has a test that shrinks");
    write(
        "shrinking",
        format!("use conversations::robots as protocols;\n{shrinking}"),
    );
}

fn main() {
    duologue_compiler::build::Builder::new()
        .root("../../protocols")
        .all()
        .remote()
        .generate();
    let out = std::env::var_os("OUT_DIR").expect("Cargo sets it for build scripts");
    write_readme("net", Path::new(&out));
    write_readme("shm", Path::new(&out));
    write_programs(Path::new(&out));
    duologue_compiler::build::Builder::new()
        .root("../../protocols")
        .protocol("bank.proto")
        .robots()
        .out_dir(PathBuf::from(&out).join("robots"))
        .generate();
    duologue_compiler::build::Builder::new()
        .root("../wire")
        .all()
        .remote()
        .out_dir(PathBuf::from(&out).join("wire"))
        .generate();
    duologue_compiler::build::Builder::new()
        .root("limits")
        .all()
        .remote()
        .out_dir(PathBuf::from(&out).join("limits"))
        .generate();
    duologue_compiler::build::Builder::new()
        .root("derived")
        .all()
        .derive("serde::Serialize, serde::Deserialize")
        .derive_for("limits", "Default")
        .derive_for("shop.order", "Default")
        .derive_for("shop.stage", "Default")
        .field_attribute("shop.stage.new", "#[default]")
        .type_attribute("shop", "#[serde(rename_all = \"camelCase\")]")
        .field_attribute("shop.item.tags", "#[serde(default)]")
        .field_attribute(
            "shop.item.weight",
            "#[serde(skip_serializing_if = \"Option::is_none\")]",
        )
        .out_dir(PathBuf::from(out).join("derived"))
        .generate();
}
