//! Generates every protocol of `protocols/`, some of 2012, those of `tests/wire` and those of `limits`, into `OUT_DIR`.

use std::path::PathBuf;

fn main() {
    duologue_compiler::build::Builder::new()
        .root("../../protocols")
        .all()
        .remote()
        .generate();
    let out = std::env::var_os("OUT_DIR").expect("Cargo sets it for build scripts");
    duologue_compiler::build::Builder::new()
        .root("../corpus/2012")
        .protocol("foo.proto")
        .protocol("bar.proto")
        .out_dir(PathBuf::from(&out).join("of_2012"))
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
        .out_dir(PathBuf::from(out).join("limits"))
        .generate();
}
