//! The disk: reading protocol files, finding them, and writing outputs so that a failure leaves nothing half done.
//!
//! Shared by the command line and by build scripts; the stages between reading and writing access no files.

mod find;
mod manifest;
mod outputs;
mod staging;

pub use find::{Found, has_protocol_extension, protocol_files};
pub use manifest::MARKER;
#[doc(hidden)]
pub use manifest::{Manifest, stays_inside};
pub use outputs::{Change, OutputError, Outputs, Planned, Producer, Tree};

use crate::compile::Files;
use staging::Staging;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
#[doc(hidden)]
pub const LARGEST: u64 = crate::protocol::limits::FILE_SIZE as u64;

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_limited(open(path)?)
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        match fs::canonicalize(path) {
            // A pipe that a shell passes has no other name.
            Err(_) if fs::metadata(path).is_ok() => Ok(path.to_path_buf()),
            other => other,
        }
    }
}

/// Opens a file for reading, if it is one and not too large. Reading a named pipe or a device could block or never end; unnamed
/// pipes, as shells pass them, can be read.
///
/// # Errors
/// The system's error, or what it is instead of a file.
#[doc(hidden)]
pub fn open(path: &Path) -> io::Result<File> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        let words = "this is a directory";
        return Err(io::Error::new(io::ErrorKind::IsADirectory, words));
    }
    // An unnamed pipe has no canonical path.
    if !metadata.is_file() && fs::canonicalize(path).is_ok() {
        let words = format!("this is {}, not a file", special(metadata.file_type()));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    if metadata.len() > LARGEST {
        return Err(too_large());
    }
    File::open(path)
}

/// Describes what is neither a file nor a directory.
#[cfg(unix)]
fn special(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_: fs::FileType) -> &'static str {
    "a device"
}

/// Reads to the end, giving up after [`LARGEST`] bytes: the size of a pipe is not known in advance.
///
/// # Errors
/// The system's error, or that there are more than [`LARGEST`] bytes.
#[doc(hidden)]
pub fn read_limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if u64::try_from(read).is_ok_and(|read| read > LARGEST) {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Replaces the texts of existing files, all or nothing: every text is first written to a temporary file next to its target.
/// Links are followed, and permissions are kept.
///
/// # Errors
/// A file that cannot be written; in that case no file has changed, unless the last step, the renaming, failed halfway. In WebAssembly
/// the last step is the writing.
#[doc(hidden)]
pub fn replace<P: AsRef<Path>, T: AsRef<str>>(
    files: &[(P, T)],
) -> Result<(), (PathBuf, io::Error)> {
    // There files have no permissions that could be read or set, so a new file could not have those of the old one.
    if cfg!(target_os = "wasi") {
        return overwrite(files);
    }
    let mut staging = Staging::default();
    for (path, text) in files {
        let path = path.as_ref();
        let failed = |error| (path.to_path_buf(), error);
        let place = fs::canonicalize(path).map_err(failed)?;
        let permissions = fs::metadata(&place).map_err(failed)?.permissions();
        if permissions.readonly() {
            return Err(failed(io::ErrorKind::PermissionDenied.into()));
        }
        staging.write(&place, text.as_ref()).map_err(failed)?;
        staging.permit(permissions).map_err(failed)?;
    }
    staging.publish()
}

/// Writes into the files themselves, after all of them could be opened for that.
fn overwrite<P: AsRef<Path>, T: AsRef<str>>(files: &[(P, T)]) -> Result<(), (PathBuf, io::Error)> {
    let failed = |path: &P| {
        let path = path.as_ref().to_path_buf();
        |error| (path, error)
    };
    for (path, _) in files {
        OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(failed(path))?;
    }
    for (path, text) in files {
        fs::write(path, text.as_ref()).map_err(failed(path))?;
    }
    Ok(())
}

fn too_large() -> io::Error {
    let words =
        "it is larger than 64 MiB, the limit for a protocol file; split it and use `import`";
    io::Error::new(io::ErrorKind::FileTooLarge, words)
}
