//! The protocol files of the workspace: what they declare and import, so that it is known which files a text has to be compiled with.

use crate::answer::{Heads, heads};
use crate::documents::Documents;
use duologue::compile::{Files, Input, slashed};
use duologue::files::Disk;
use duologue::syntax::is_protocol_buffers;
use duologue_project::config::Exclude;
use duologue_project::inputs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The heads of files, by identity. Texts are not kept.
pub type Index = BTreeMap<PathBuf, Heads>;

/// The most files that are read.
pub const MOST: usize = 20_000;

/// Reads the protocol files below a folder, at most `most`.
pub fn index(folder: &Path, exclude: &Exclude, most: usize) -> Index {
    let mut index = Index::new();
    let found = inputs::find_readable(&[folder.to_path_buf()], &[], exclude);
    let Ok(found) = found else {
        return index;
    };
    for input in found.inputs.into_iter().take(most) {
        if let Input::Path(path) = input {
            let identity = Disk.identity(&path).unwrap_or(path);
            index.extend(read(&identity).map(|heads| (identity, heads)));
        }
    }
    index
}

/// The heads of a file on disk; `None` if it cannot be read, or is a file of Protocol Buffers.
pub fn read(path: &Path) -> Option<Heads> {
    let bytes = Disk.read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let is_foreign =
        path.extension().is_some_and(|found| found == "proto") && is_protocol_buffers(&text);
    (!is_foreign).then(|| heads(&text))
}

/// The workspace as it is now: open texts before files.
pub struct Workspace<'a> {
    pub index: &'a Index,
    pub documents: &'a Documents,
    pub import_dirs: &'a [PathBuf],
}

impl<'a> Workspace<'a> {
    /// All files with their heads.
    pub fn all(&self) -> impl Iterator<Item = (&'a Path, &'a Heads)> + use<'a> {
        let open = &self.documents.open;
        let opened = open.iter();
        let opened = opened.map(|(path, document)| (path.as_path(), &document.heads));
        let closed = self.index.iter();
        let closed = closed.filter(|(path, _)| !open.contains_key(*path));
        opened.chain(closed.map(|(path, heads)| (path.as_path(), heads)))
    }

    pub fn heads(&self, path: &Path) -> Option<&'a Heads> {
        let open = self.documents.open.get(path);
        open.map(|document| &document.heads)
            .or_else(|| self.index.get(path))
    }

    /// The file that an import leads to.
    pub fn imported(&self, importer: &Path, import: &str) -> Option<PathBuf> {
        let own = importer.parent().unwrap_or(Path::new(""));
        let folders = std::iter::once(own).chain(self.import_dirs.iter().map(PathBuf::as_path));
        let mut paths = folders.map(|folder| folder.join(import));
        paths.find_map(|path| self.documents.identity(&path).ok())
    }

    /// Whether an import in a file leads to another. Only names are compared at first, because asking the disk takes longer.
    fn does_import(&self, importer: &Path, heads: &Heads, wanted: &Path) -> bool {
        let name = wanted.file_name();
        let mut imports = heads.imports.iter();
        imports.any(|import| {
            Path::new(import).file_name() == name
                && self.imported(importer, import).as_deref() == Some(wanted)
        })
    }

    /// What to write in a file to import another: a path below its folder, in a directory for imports, or from a folder above both.
    pub fn import_of(&self, importer: &Path, wanted: &Path) -> Option<String> {
        let own = importer.parent()?;
        let dirs = self
            .import_dirs
            .iter()
            .map(|dir| self.documents.identity_of(dir));
        let below = std::iter::once(own.to_path_buf()).chain(dirs);
        let below = below.filter_map(|folder| wanted.strip_prefix(folder).ok().map(slashed));
        let above = own.ancestors().enumerate().skip(1);
        let above = above.filter_map(|(up, folder)| {
            let rest = wanted.strip_prefix(folder).ok()?;
            Some("../".repeat(up) + &slashed(rest))
        });
        let mut paths = below.chain(above.take(1));
        paths.find(|path| {
            // Nothing is escaped in a path.
            !path.contains(['"', '\\', '\n'])
                && self.imported(importer, path).as_deref() == Some(wanted)
        })
    }

    /// The files that import a file, directly or through others, at most `most`. Also whether there are more.
    pub fn importers(&self, of: &Path, most: usize) -> (Vec<PathBuf>, bool) {
        let mut found: Vec<PathBuf> = vec![of.to_path_buf()];
        let mut seen: BTreeSet<PathBuf> = found.iter().cloned().collect();
        let mut next = 0;
        while next < found.len() {
            let wanted = found[next].clone();
            next += 1;
            for (path, heads) in self.all() {
                if !seen.contains(path) && self.does_import(path, heads, &wanted) {
                    if found.len() > most {
                        found.remove(0);
                        return (found, true);
                    }
                    seen.insert(path.to_path_buf());
                    found.push(path.to_path_buf());
                }
            }
        }
        found.remove(0);
        (found, false)
    }

    /// The files of the same package that declare one of these protocols.
    pub fn declaring(&self, of: &Path, names: &BTreeSet<String>) -> Vec<PathBuf> {
        let Some(own) = self.heads(of) else {
            return Vec::new();
        };
        let found = self.all().filter(|(path, heads)| {
            let declares = heads.has_protocol(|name| names.contains(name));
            *path != of && heads.package == own.package && declares
        });
        found.map(|(path, _)| path.to_path_buf()).collect()
    }

    /// The files of the same package in which a name may refer to a protocol of a file: those that contain its name and declare no
    /// protocol of this name themselves. If it is to be renamed, also those that contain the new name.
    pub fn mentioning(&self, of: &Path, name: &str, new: Option<&str>) -> Vec<PathBuf> {
        let Some(own) = self.heads(of) else {
            return Vec::new();
        };
        let found = self.all().filter(|(path, heads)| {
            let declares = heads.has_protocol(|found| found == name);
            *path != of
                && heads.package == own.package
                && self.contains(path, (!declares).then_some(name), new)
        });
        found.map(|(path, _)| path.to_path_buf()).collect()
    }

    /// Whether a file contains one of these names.
    pub fn contains(&self, path: &Path, name: Option<&str>, new: Option<&str>) -> bool {
        let Ok(bytes) = self.documents.read(path) else {
            return false;
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut names = name.into_iter().chain(new).filter(|name| !name.is_empty());
        names.any(|name| text.contains(name))
    }
}
