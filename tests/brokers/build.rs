//! Generates the protocols of the tests into `OUT_DIR`.

fn main() {
    duologue_compiler::build::Builder::new()
        .root("../../protocols")
        .protocol("bank.proto")
        .protocol("pingpong.proto")
        .protocol("stream.proto")
        .remote()
        .generate();
    let out = std::env::var_os("OUT_DIR").expect("Cargo sets it for build scripts");
    duologue_compiler::build::Builder::new()
        .root("../wire")
        .protocol("versions.proto")
        .remote()
        .out_dir(std::path::Path::new(&out).join("wire"))
        .generate();
}
