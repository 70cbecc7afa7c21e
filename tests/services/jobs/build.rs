//! Generates both sides of the protocols, also for sessions between processes.

fn main() {
    duologue_compiler::build::Builder::new()
        .root("../protocols")
        .protocol("jobs.proto")
        .remote()
        .generate();
}
