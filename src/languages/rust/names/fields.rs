//! The fields of variants: those of declared enums, and those of the enums of a state's messages.

use super::spelling::value_name;
use crate::protocol::Entry;

/// The field with the next endpoint, in a message whose fields have names.
pub const NEXT: &str = "next";

/// The fields of a declared enum's variant, if they have names: if the protocol names each of the entries.
///
/// A derived name does not count. It is not in the protocol, and it changes when the message gets another entry of the same type.
pub fn of_variant(entries: &[Entry]) -> Option<Vec<String>> {
    let names = entries.iter().map(|entry| value_name(&entry.name));
    Entry::are_named(entries).then(|| names.collect())
}

/// The field of a message for an entry. The last field is the next endpoint, which is called `next` in every message and in every
/// language. So an entry of this name gets a `_`.
pub fn of_entry(entry: &Entry) -> String {
    let name = value_name(&entry.name);
    if name == NEXT { name + "_" } else { name }
}

/// The fields of a message, if they have names.
pub fn of_message(entries: &[Entry]) -> Option<Vec<String>> {
    let names = entries.iter().map(of_entry);
    Entry::are_named(entries).then(|| names.chain([NEXT.to_owned()]).collect())
}
