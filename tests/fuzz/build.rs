//! Generates the protocol with every kind of payload, for the targets `socket` and `region`.

fn main() {
    duologue_compiler::build::Builder::new()
        .root("../wire")
        .all()
        .remote()
        .generate();
}
