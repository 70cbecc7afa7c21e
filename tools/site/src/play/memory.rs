//! The files of a request, which are in memory.

use super::request::Text;
use duologue::compile::Files;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Texts by their paths.
pub struct Memory<'a>(pub &'a BTreeMap<String, Text>);

impl Memory<'_> {
    fn find(&self, path: &Path) -> io::Result<(&str, &Text)> {
        let wanted = plain(path);
        let exact = self.0.get_key_value(wanted.to_string_lossy().as_ref());
        let mut all = self.0.iter();
        let found = exact.or_else(|| all.find(|(name, _)| plain(Path::new(name)) == wanted));
        let found = found.map(|(name, text)| (name.as_str(), text));
        found.ok_or_else(|| io::Error::new(ErrorKind::NotFound, "the request has no such file"))
    }
}

impl Files for Memory<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.find(path)?.1.bytes().to_vec())
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(PathBuf::from(self.find(path)?.0))
    }
}

/// A path without `.` and, as far as possible, without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                parts.pop();
            }
            (part, _) => parts.push(part),
        }
    }
    parts.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_identity_however_it_is_spelled() {
        let files = ["a/b.proto", "./c.proto"];
        let files = files.map(|name| (name.to_owned(), Text::Text(name.to_owned())));
        let files = BTreeMap::from(files);
        let identity = |path: &str| Memory(&files).identity(Path::new(path)).ok();
        let b = Some(PathBuf::from("a/b.proto"));
        for path in [
            "a/b.proto",
            "./a/b.proto",
            "a/../a/./b.proto",
            "x/../a/b.proto",
        ] {
            assert_eq!(identity(path), b, "{path}");
        }
        assert_eq!(identity("c.proto"), Some(PathBuf::from("./c.proto")));
        for path in ["b.proto", "../a/b.proto", "/a/b.proto", "a", ""] {
            assert_eq!(identity(path), None, "{path}");
        }
    }
}
