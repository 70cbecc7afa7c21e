//! Generates the protocols of the benchmark into `OUT_DIR`.

fn main() {
    duologue_compiler::build::Builder::new()
        .root("protocols")
        .all()
        .generate();
}
