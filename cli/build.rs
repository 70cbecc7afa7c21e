//! Packages contain the compiler as a WebAssembly module, with which `duologue play -o` writes pages. A copy of the repository does not,
//! because building it needs a standard library for WebAssembly: `tools/packaging/module` does.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_module)");
    println!("cargo::rerun-if-changed=module");
    if Path::new("module/duologue.wasm.gz").is_file() {
        println!("cargo::rustc-cfg=has_module");
    }
}
