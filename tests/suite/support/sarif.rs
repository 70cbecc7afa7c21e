//! The published schema of SARIF.

use serde_json::Value;
use std::fs;
use std::process::Command;

/// A document must conform to the schema of SARIF 2.1.0.
pub fn keeps_to_schema(document: &Value) {
    let schema = jsonschema::validator_for(&schema()).expect("a schema");
    let errors = schema.iter_errors(document);
    let errors = errors.map(|error| format!("{}: {error}", error.instance_path()));
    let errors: Vec<String> = errors.collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// The schema that the SARIF library was made from, out of the library's own package.
fn schema() -> Value {
    // Packages for other platforms may be missing, so the metadata is requested for this one only.
    let rustc = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let about = String::from_utf8_lossy(&rustc.stdout).into_owned();
    let host = about
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("rustc names its host");
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--offline",
            "--filter-platform",
            host,
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let library = packages
        .iter()
        .find(|package| package["name"] == "serde-sarif");
    let manifest = library.expect("it is a dependency")["manifest_path"]
        .as_str()
        .expect("a path");
    let schema = std::path::Path::new(manifest)
        .with_file_name("src")
        .join("schema.json");
    let text = fs::read_to_string(schema).expect("the package has the schema");
    let mut schema: Value = serde_json::from_str(&text).expect("a JSON document");
    // One pattern in the published schema is not a regular expression; reports do not have its property.
    for part in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][part]["properties"]["language"];
        language
            .as_object_mut()
            .expect("the schema describes languages")
            .remove("pattern");
    }
    schema
}
