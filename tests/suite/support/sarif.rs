//! The published schema of SARIF.

use super::repository;
use super::schema::violations;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// A document must conform to the schema of SARIF 2.1.0.
pub fn keeps_to_schema(document: &Value) {
    assert_eq!(violations(&schema(), document), [""; 0]);
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
        .arg(repository().join("Cargo.toml"))
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
    serde_json::from_str(&text).expect("a JSON document")
}
