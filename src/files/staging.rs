//! Writes many files as if at once: each is first written to a temporary file next to its target, and renamed when all are
//! written.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Files that are written but not yet renamed to their targets. Dropping it undoes everything, including created directories.
#[derive(Debug, Default)]
pub(super) struct Staging {
    /// In the order they were created: a parent before its children.
    created: Vec<PathBuf>,
    /// Temporary path and target. Both are in the same directory, so that a rename is a single step.
    staged: VecDeque<(PathBuf, PathBuf)>,
}

impl Staging {
    /// Creates a directory and its missing parents.
    pub(super) fn create_dir(&mut self, directory: &Path) -> io::Result<()> {
        let missing = directory.ancestors();
        let missing = missing.take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let missing: Vec<_> = missing.map(Path::to_path_buf).collect();
        for path in missing.into_iter().rev() {
            match fs::create_dir(&path) {
                Ok(()) => self.created.push(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes a text to a temporary file next to `place`, whose directory exists.
    pub(super) fn write(&mut self, place: &Path, text: &str) -> io::Result<()> {
        if place.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let (mut file, temporary) = create_beside(place)?;
        self.staged.push_back((temporary, place.to_path_buf()));
        file.write_all(text.as_bytes())
    }

    /// Sets the permissions of the file that was written last.
    pub(super) fn permit(&mut self, permissions: Permissions) -> io::Result<()> {
        match self.staged.back() {
            Some((temporary, _)) => fs::set_permissions(temporary, permissions),
            None => Ok(()),
        }
    }

    /// Renames every file to its target.
    ///
    /// # Errors
    /// The target for which renaming failed; the files before it have been renamed.
    pub(super) fn publish(mut self) -> Result<(), (PathBuf, io::Error)> {
        self.created.clear();
        while let Some((temporary, place)) = self.staged.front() {
            fs::rename(temporary, place).map_err(|error| (place.clone(), error))?;
            self.staged.pop_front();
        }
        Ok(())
    }
}

/// A number that makes collisions with other processes unlikely. In WebAssembly processes have none.
fn process() -> u32 {
    if cfg!(target_os = "wasi") {
        0
    } else {
        std::process::id()
    }
}

/// Creates a hidden file in the directory of `place`, under a name that is not in use.
fn create_beside(place: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut name = OsString::from(".");
        name.push(place.file_name().unwrap_or_default());
        name.push(format!(".{}-{number}.tmp", process()));
        let path = place.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for (temporary, _) in &self.staged {
            let _ = fs::remove_file(temporary);
        }
        for directory in self.created.iter().rev() {
            let _ = fs::remove_dir(directory);
        }
    }
}
