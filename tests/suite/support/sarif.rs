//! The published schema of SARIF, without its descriptions.

use super::schema::violations;
use serde_json::Value;

/// A document must conform to the schema of SARIF 2.1.0.
pub fn keeps_to_schema(document: &Value) {
    let schema = serde_json::from_str(include_str!("sarif-2.1.0.schema.json"));
    assert_eq!(violations(&schema.expect("it is JSON"), document), [""; 0]);
}
