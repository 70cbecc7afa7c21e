//! Generates every protocol of `protocols/`, some of 2012, those of `tests/wire`, and those of `limits` and `derived`, into `OUT_DIR`.

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
        .out_dir(PathBuf::from(&out).join("limits"))
        .generate();
    duologue_compiler::build::Builder::new()
        .root("derived")
        .all()
        .derive("serde::Serialize, serde::Deserialize")
        .derive_for("limits", "Default")
        .derive_for("shop.order", "Default")
        .derive_for("shop.stage", "Default")
        .field_attribute("shop.stage.new", "#[default]")
        .type_attribute("shop", "#[serde(rename_all = \"camelCase\")]")
        .field_attribute("shop.item.tags", "#[serde(default)]")
        .field_attribute(
            "shop.item.weight",
            "#[serde(skip_serializing_if = \"Option::is_none\")]",
        )
        .out_dir(PathBuf::from(out).join("derived"))
        .generate();
}
