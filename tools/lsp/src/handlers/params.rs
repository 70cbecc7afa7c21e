//! What clients send, read field by field: a field of the wrong type counts as missing.

use crate::answer::Place;
use serde_json::Value;
use std::ops::Range;

pub fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

pub fn is_true(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool) == Some(true)
}

pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

/// The document that a request is about.
pub fn uri(params: &Value) -> Option<&str> {
    text(params, "/textDocument/uri")
}

pub fn place(value: &Value) -> Option<Place> {
    let number = |name: &str| {
        let number = value.get(name)?.as_u64()?;
        Some(u32::try_from(number).unwrap_or(u32::MAX))
    };
    Some(Place {
        line: number("line")?,
        column: number("character")?,
    })
}

pub fn range(value: &Value) -> Option<Range<Place>> {
    Some(place(value.get("start")?)?..place(value.get("end")?)?)
}
