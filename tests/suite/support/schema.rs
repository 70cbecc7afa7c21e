//! JSON documents and their schemas, as far as the schemas of this repository and of SARIF go.

use serde_json::Value;
use std::collections::BTreeSet;

/// Where a document breaks its schema: a place, and what is wrong there.
pub fn violations(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, document, "", &mut found);
    found
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        other => panic!("unknown type {other}"),
    }
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let keywords = match schema {
        Value::Bool(true) => return,
        Value::Object(keywords) => keywords,
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return found.push(format!("{place}: is not allowed"));
        }
    };
    let keeps = |schema: &Value| {
        let mut found = Vec::new();
        check(root, schema, value, place, &mut found);
        found.is_empty()
    };
    let list = |of: &Value| of.as_array().expect("the keyword has a list").clone();
    for (keyword, of) in keywords {
        let is_kept = match &keyword[..] {
            "$ref" => {
                let path = of.as_str().and_then(|path| path.strip_prefix('#'));
                let target = root.pointer(path.expect("a reference within the schema"));
                check(root, target.expect("it is there"), value, place, found);
                true
            }
            "additionalProperties" => {
                for (name, property) in value.as_object().into_iter().flatten() {
                    if keywords
                        .get("properties")
                        .is_none_or(|of| of.get(name).is_none())
                    {
                        check(root, of, property, &format!("{place}/{name}"), found);
                    }
                }
                true
            }
            "allOf" => {
                for part in &list(of) {
                    check(root, part, value, place, found);
                }
                true
            }
            "anyOf" => list(of).iter().any(keeps),
            "const" => value == of,
            "enum" => list(of).contains(value),
            "if" => {
                if keeps(of) {
                    check(root, &keywords["then"], value, place, found);
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, of, item, &format!("{place}/{index}"), found);
                }
                true
            }
            "maximum" => value.as_f64() <= of.as_f64() || !value.is_number(),
            "minItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 >= of.as_u64().expect("a number")),
            "minimum" => value.as_f64() >= of.as_f64() || !value.is_number(),
            "oneOf" => list(of).iter().filter(|part| keeps(part)).count() == 1,
            "pattern" => value.as_str().is_none_or(|text| {
                assert_eq!(of, "^[0-9a-f]{32}$", "the only pattern that is known");
                text.len() == 32 && text.bytes().all(|byte| b"0123456789abcdef".contains(&byte))
            }),
            "properties" => {
                for (name, of) in of.as_object().into_iter().flatten() {
                    if let Some(property) = value.get(name) {
                        check(root, of, property, &format!("{place}/{name}"), found);
                    }
                }
                true
            }
            "required" => {
                let lacks = |name: &Value| value.get(name.as_str().expect("a name")).is_none();
                !value.is_object() || !list(of).iter().any(lacks)
            }
            "type" => match of.as_array() {
                Some(kinds) => kinds
                    .iter()
                    .any(|kind| is_of(kind.as_str().expect("a name"), value)),
                None => is_of(of.as_str().expect("a name"), value),
            },
            "uniqueItems" => value.as_array().is_none_or(|items| {
                let texts: BTreeSet<String> = items.iter().map(Value::to_string).collect();
                of != true || texts.len() == items.len()
            }),
            "$defs" | "$id" | "$schema" | "default" | "definitions" | "description" | "format"
            | "then" | "title" => true,
            other => panic!("unknown keyword {other} at {place}"),
        };
        if !is_kept {
            found.push(format!("{place}: breaks {keyword}: {of}: {value}"));
        }
    }
}
