//! Names of the C library and of the headers of the system that a generated name could be equal to.
//!
//! `system_names.txt` has them. A line is what comes before the last `_` of some names, and what comes after it. Two lines are
//! different: `.h` has the names of headers, and the line that begins with `:` the macros without parameters in lower case, by
//! which a preprocessor would replace a member.

use std::collections::HashMap;
use std::sync::LazyLock;

static NAMES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let lines = include_str!("system_names.txt").lines();
    lines.filter_map(|line| line.split_once(": ")).collect()
});

fn is_listed(line: &str, word: &str) -> bool {
    let words = NAMES.get(line).copied().unwrap_or_default();
    words.split(' ').any(|known| known == word)
}

/// Whether some header declares or defines this name, which has a `_`.
pub fn has(name: &str) -> bool {
    name.rsplit_once('_')
        .is_some_and(|(line, word)| is_listed(line, word))
}

/// Whether some header declares or defines this word with `_` and one of the endings after it.
pub fn has_any(word: &str, endings: &[&str]) -> bool {
    endings
        .iter()
        .any(|ending| has(&format!("{word}_{ending}")))
}

/// Whether some header replaces this word, which is in lower case, by something else.
pub fn has_macro(word: &str) -> bool {
    is_listed("", word)
}

/// Whether the library has a header with this name followed by `.h`.
pub fn has_header(name: &str) -> bool {
    is_listed(".h", name)
}
