fn main() {
    duologue_compiler::build::Builder::new()
        .root("protocols")
        .protocol("bank.proto")
        .generate();
}
