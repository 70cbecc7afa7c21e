//! Generates the protocols of the service into `OUT_DIR`, and what the page about Rust shows of NATS, with its protocol.

use std::path::Path;

fn main() {
    duologue_compiler::build::Builder::new()
        .root("../wire")
        .protocol("versions.proto")
        .remote()
        .generate();
    let out = std::env::var_os("OUT_DIR").expect("Cargo sets it for build scripts");
    let out = Path::new(&out);
    duologue_compiler::build::Builder::new()
        .root("../../protocols")
        .protocol("bank.proto")
        .remote()
        .out_dir(out.join("bank"))
        .generate();
    let path = "../../docs/targets/rust-sockets.md";
    println!("cargo::rerun-if-changed={path}");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let (_, block) = (page.split_once("\n```rust nats\n")).expect("the page shows it");
    let (text, _) = block.split_once("```").expect("a block ends");
    std::fs::write(out.join("shown.rs"), text).expect("`OUT_DIR` can be written");
}
