//! What the tests of the C and the Scala runtime share: what the text of a file says that it uses.

use super::Uses;
use crate::circles::compare;

/// A file uses something that another file defines.
pub struct Use {
    pub file: String,
    pub name: String,
    pub of: String,
}

impl Use {
    pub fn new(file: &str, name: &str, of: &str) -> Use {
        let [file, name, of] = [file, name, of].map(str::to_owned);
        Use { file, name, of }
    }
}

/// What is wrong with the circles that these uses form, compared with those that are listed.
pub fn circles(uses: &[Use], listed: &[(&[&str], &str)]) -> Vec<String> {
    let mut all = Uses::new();
    for Use { file, of, .. } in uses {
        all.entry(file.clone()).or_default().insert(of.clone());
    }
    compare(&all, listed)
}

pub fn assert_none(faults: &[String], list: &str) {
    let text = faults.join("\n");
    assert!(
        faults.is_empty(),
        "\n{text}\nLAYERS and CIRCLES are in {list}\n"
    );
}

/// Where a string ends that begins with the first character.
fn end_of_string(text: &str) -> usize {
    if let Some(raw) = text.strip_prefix("\"\"\"") {
        return raw.find("\"\"\"").map_or(text.len(), |end| end + 6);
    }
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == '"' && !is_escaped {
            return at + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    text.len()
}

/// The code of a C, Java or Scala file, without comments and strings.
pub fn code(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let quote = ["'\"'", "'\\\"'"]
            .into_iter()
            .find(|quote| rest.starts_with(quote));
        let past = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(quote) = quote {
            quote.len()
        } else if first == '"' {
            end_of_string(rest)
        } else {
            code.push(first);
            first.len_utf8()
        };
        rest = &rest[past..];
    }
    code
}
