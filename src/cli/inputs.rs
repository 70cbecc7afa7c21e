//! From what the user names - files, directories, `-` - to the texts to be read.

use super::Failure;
use duologue::compile::Input;
use duologue::files::read_limited;
use ignore::WalkBuilder;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The texts behind `paths`: a directory stands for all protocol files below it, sorted, and `-` for standard input.
pub fn find(paths: &[PathBuf], import_dirs: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |inputs: &mut Vec<Input>, path: PathBuf| {
        if seen.insert(fs::canonicalize(&path).unwrap_or_else(|_| path.clone())) {
            inputs.push(Input::Path(path));
        }
    };
    let mut has_stdin = false;
    for path in paths {
        if path.as_os_str() == "-" {
            if std::mem::replace(&mut has_stdin, true) {
                let words = "`-` can be given once only: there is one standard input";
                return Err(Failure::Usage(words.to_owned()));
            }
            inputs.push(Input::Text {
                path: PathBuf::from("<stdin>"),
                bytes: stdin()?,
            });
        } else if path.is_dir() {
            for file in walk(path)? {
                add(&mut inputs, file);
            }
        } else {
            add(&mut inputs, locate(path, import_dirs));
        }
    }
    Ok(inputs)
}

/// All that stands on standard input.
pub fn stdin() -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::Environment(format!("cannot read standard input: {error}"));
    read_limited(io::stdin().lock()).map_err(failed)
}

/// The file itself, or, as protoc does it, the one in an import directory.
fn locate(path: &Path, import_dirs: &[PathBuf]) -> PathBuf {
    if !path.exists() {
        let candidates = import_dirs.iter().map(|directory| directory.join(path));
        if let Some(found) = candidates.into_iter().find(|candidate| candidate.is_file()) {
            return found;
        }
    }
    path.to_path_buf()
}

/// All protocol files below a directory, sorted; hidden files and what git ignores are left out.
fn walk(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in WalkBuilder::new(directory).build() {
        let entry = entry.map_err(|error| Failure::Environment(error.to_string()))?;
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let path = entry.into_path();
        if !is_directory && path.extension().is_some_and(|ending| ending == "proto") {
            let path = path
                .strip_prefix(".")
                .map(Path::to_path_buf)
                .unwrap_or(path);
            files.push(path);
        }
    }
    if files.is_empty() {
        let words = format!("no .proto files under {}", directory.display());
        return Err(Failure::Usage(words));
    }
    files.sort();
    Ok(files)
}
