//! Finds the protocol files below a directory, for build scripts; the command line also respects ignore files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// All `*.proto` files below a directory, sorted. Hidden files and directories are skipped, and links to directories are not
/// followed.
///
/// # Errors
/// The first directory that cannot be read.
pub fn protocol_files(root: &Path) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let mut found = Vec::new();
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
            } else if is_protocol_file(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether there is a protocol file at this path: a file, or a link to one, with the extension `.proto`. Pipes, sockets, devices
/// and dangling links do not count, whatever their names.
#[must_use]
pub fn is_protocol_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "proto") && path.is_file()
}
