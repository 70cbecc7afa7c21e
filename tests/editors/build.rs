//! Compiles the committed parser.

fn main() {
    let source = "../../tools/editors/tree-sitter-duologue/src";
    let files = ["parser.c", "scanner.c"].map(|file| format!("{source}/{file}"));
    println!("cargo::rerun-if-changed={source}");
    let mut build = cc::Build::new();
    build.std("c11").include(source).files(files);
    build.compile("tree-sitter-duologue");
}
