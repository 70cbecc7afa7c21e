//! Generates every protocol of `protocols/`, those of `tests/wire`, those of `limits` and `derived`, and the bank with robots,
//! into `OUT_DIR`, and the code in the READMEs of the crates `duologue-net` and `duologue-shm`.

use std::path::{Path, PathBuf};

/// Writes the Rust blocks of a README as the body of one function.
fn write_readme(krate: &str, out: &Path) {
    let path = format!("../../runtime/rust/{krate}/README.md");
    println!("cargo::rerun-if-changed={path}");
    let page = std::fs::read_to_string(&path).expect("the crate has a README");
    let blocks = page.split("\n```rust\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap_or_default());
    let blocks: String = blocks.collect();
    assert!(!blocks.is_empty(), "{path} has no code in Rust");
    let body = format!("{{\n{blocks}Ok(())\n}}\n");
    std::fs::write(out.join(format!("readme_{krate}.rs")), body).expect("`OUT_DIR` can be written");
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
