//! Generates the protocols of the service into `OUT_DIR`.

fn main() {
    duologue_compiler::build::Builder::new()
        .root("../wire")
        .protocol("versions.proto")
        .remote()
        .generate();
}
