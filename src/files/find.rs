//! Finds the protocol files below a directory, for build scripts; the command line also respects ignore files.

use super::{open, read_limited};
use crate::syntax;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The extensions of protocol files. Files of Protocol Buffers have the second one too.
const EXTENSIONS: [&str; 2] = ["duo", "proto"];

/// What a search found, sorted.
#[derive(Debug, Default)]
pub struct Found {
    /// The protocol files.
    pub protocols: Vec<PathBuf>,
    /// The files that were skipped, because they are files of Protocol Buffers.
    pub skipped: Vec<PathBuf>,
}

impl Found {
    /// Adds a file of a directory if it is a protocol file.
    pub fn add(&mut self, path: PathBuf) {
        if !is_protocol_file(&path) {
            return;
        }
        match is_protocol_buffers(&path) {
            true => self.skipped.push(path),
            false => self.protocols.push(path),
        }
    }

    /// Sorts what was found, so that it does not depend on the order in which the system lists files.
    pub fn sort(&mut self) {
        self.protocols.sort();
        self.skipped.sort();
    }
}

/// All protocol files below a directory. Hidden files and directories are skipped, and links to directories are not followed.
///
/// # Errors
/// The first directory that cannot be read.
pub fn protocol_files(root: &Path) -> Result<Found, (PathBuf, io::Error)> {
    let mut found = Found::default();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        let failed = |error| (directory.clone(), error);
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            if entry.file_type().map_err(failed)?.is_dir() {
                pending.push(path);
            } else {
                found.add(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a path has one of the extensions of protocol files.
#[must_use]
pub fn has_protocol_extension(path: &Path) -> bool {
    let is_one = |extension| EXTENSIONS.iter().any(|known| extension == *known);
    path.extension().is_some_and(is_one)
}

/// Whether there is a protocol file at this path: a file, or a link to one, with such an extension. Pipes, sockets, devices and
/// dangling links do not count, whatever their names.
fn is_protocol_file(path: &Path) -> bool {
    has_protocol_extension(path) && path.is_file()
}

/// Whether a file belongs to Protocol Buffers. A file that cannot be read does not, so that reading it reports why.
fn is_protocol_buffers(path: &Path) -> bool {
    if path
        .extension()
        .is_none_or(|extension| extension != "proto")
    {
        return false;
    }
    let bytes = open(path).and_then(read_limited);
    bytes.is_ok_and(|bytes| syntax::is_protocol_buffers(&String::from_utf8_lossy(&bytes)))
}
