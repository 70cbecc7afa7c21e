//! Case conversions for the naming styles of the target languages.
//!
//! A name in the `.proto` file is already `snake_case` or `CamelCase`; both convert the same way.

use heck::{ToLowerCamelCase, ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};

/// `LoginResponse`. An underscore stays before a leading digit: `_1` remains `_1`.
pub fn upper_camel(name: &str) -> String {
    converted(name, name.to_upper_camel_case())
}

/// `loginResponse`.
pub fn lower_camel(name: &str) -> String {
    converted(name, name.to_lower_camel_case())
}

/// `login_response`.
pub fn snake(name: &str) -> String {
    if is_plain_snake(name) {
        return name.to_owned();
    }
    converted(name, name.to_snake_case())
}

/// `LOGIN_RESPONSE`.
pub fn shouty_snake(name: &str) -> String {
    if is_plain_snake(name) {
        return name.to_ascii_uppercase();
    }
    converted(name, name.to_shouty_snake_case())
}

/// Whether a name consists of words of lower-case letters and digits separated by single underscores. Most names do, and need no
/// conversion.
fn is_plain_snake(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
    };
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.split('_').all(is_word)
}

/// Repairs the result of a conversion, which may start with a digit (`_1` without its underscore). No target accepts such a name.
fn converted(name: &str, result: String) -> String {
    if result.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("_{result}");
    }
    if result.is_empty() {
        name.to_owned()
    } else {
        result
    }
}
