//! Files as URIs.

use duologue_project::git::plain;
use gen_lsp_types::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::path::{Path, PathBuf};

/// What is not written as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The path that a URI names. What is no file, such as an unsaved text, gets the whole URI as its path.
pub fn path_of(uri: &Uri) -> PathBuf {
    let Some(rest) = uri.0.strip_prefix("file://") else {
        return PathBuf::from(&uri.0);
    };
    // A host is ignored: there is only this machine.
    let start = rest.find('/').unwrap_or(rest.len());
    let path = percent_decode_str(&rest[start..]).decode_utf8_lossy();
    let is_drive =
        matches!(path.as_bytes(), [b'/', drive, b':', ..] if drive.is_ascii_alphabetic());
    match cfg!(windows) && is_drive {
        true => PathBuf::from(&path[1..]),
        false => PathBuf::from(&*path),
    }
}

/// The URI of a file.
pub fn of_path(path: &Path) -> Uri {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let shown = plain(&absolute).to_string_lossy().replace('\\', "/");
    let slash = if shown.starts_with('/') { "" } else { "/" };
    Uri(format!(
        "file://{slash}{}",
        utf8_percent_encode(&shown, ESCAPED)
    ))
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
