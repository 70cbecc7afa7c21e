//! Generates the protocols of the tests into `OUT_DIR`.

fn main() {
    duologue_compiler::build::Builder::new()
        .root("../../protocols")
        .protocol("bank.proto")
        .protocol("pingpong.proto")
        .protocol("stream.proto")
        .remote()
        .generate();
}
