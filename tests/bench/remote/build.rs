//! Generates the bank of `protocols/` and the protocols of the benchmark into `OUT_DIR`.

use std::path::PathBuf;

fn main() {
    duologue_compiler::build::Builder::new()
        .root("../../../protocols")
        .protocol("bank.proto")
        .remote()
        .generate();
    let out = std::env::var_os("OUT_DIR").expect("Cargo sets it for build scripts");
    duologue_compiler::build::Builder::new()
        .root("protocols")
        .all()
        .remote()
        .out_dir(PathBuf::from(out).join("own"))
        .generate();
}
