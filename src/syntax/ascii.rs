//! What non-ASCII characters stand for.

/// The ASCII that a non-ASCII character was probably meant to be. Word processors and input methods write such characters. The
/// language uses none of them outside of comments and strings, so there is no other reading.
pub fn meant(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{2192}' | '\u{27f6}' | '\u{21d2}' | '\u{27f9}' | '\u{279c}' | '\u{2794}' => "->",
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}'
        | '\u{ff02}' => "\"",
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => " ",
        '\u{ff01}' => "!",
        '\u{ff08}' => "(",
        '\u{ff09}' => ")",
        '\u{ff0c}' => ",",
        '\u{ff1a}' => ":",
        '\u{ff1b}' => ";",
        '\u{ff1c}' => "<",
        '\u{ff1d}' => "=",
        '\u{ff1e}' => ">",
        '\u{ff1f}' => "?",
        '\u{ff3b}' => "[",
        '\u{ff3d}' => "]",
        '\u{ff5b}' => "{",
        '\u{ff5d}' => "}",
        _ => return None,
    })
}

/// Whether a token is a word that can be a name.
pub fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// Whether a token is a number or begins like one.
pub fn is_number(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_digit())
}
