//! Files as URIs.

use duologue_project::git::plain;
use gen_lsp_types::Uri;
use std::path::{Path, PathBuf};

/// The path that a URI names. What is no file, such as an unsaved text, gets the whole URI as its path.
pub fn path_of(uri: &Uri) -> PathBuf {
    let Some(rest) = uri.0.strip_prefix("file://") else {
        return PathBuf::from(&uri.0);
    };
    // A host is ignored: there is only this machine.
    let start = rest.find('/').unwrap_or(rest.len());
    let path = decoded(&rest[start..]);
    let is_drive = {
        let mut letters = path.chars();
        letters.next() == Some('/')
            && letters
                .next()
                .is_some_and(|letter| letter.is_ascii_alphabetic())
            && letters.next() == Some(':')
    };
    match cfg!(windows) && is_drive {
        true => PathBuf::from(&path[1..]),
        false => PathBuf::from(path),
    }
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut result = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                result.push(byte);
                at += 3;
            }
            None => {
                result.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&result).into_owned()
}

/// The URI of a file.
pub fn of_path(path: &Path) -> Uri {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let shown = plain(&absolute).to_string_lossy().replace('\\', "/");
    let mut uri = String::from("file://");
    if !shown.starts_with('/') {
        uri.push('/');
    }
    for byte in shown.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(byte as char),
            _ if byte.is_ascii_alphanumeric() => uri.push(byte as char),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    Uri(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_path_is_the_same_after_it_was_a_uri() {
        for path in ["/a/b.proto", "/with space/\u{e9}%20.proto", "/a#b?c"] {
            assert_eq!(path_of(&of_path(Path::new(path))), Path::new(path));
        }
        assert_eq!(path_of(&"file:///a%2".into()), Path::new("/a%2"));
        assert_eq!(path_of(&"file:///%C3%A9".into()), Path::new("/\u{e9}"));
        assert_eq!(path_of(&"untitled:1".into()), Path::new("untitled:1"));
    }
}
