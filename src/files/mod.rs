//! The disk: reading protocol files, finding them, and writing outputs so that a failure leaves nothing half done.
//!
//! Shared by the command line and by build scripts; the stages between reading and writing know no file.

mod find;
mod outputs;
mod staging;

pub use find::protocol_files;
pub use outputs::{Change, MARKER, OutputError, Outputs, Planned, Tree};

use crate::compile::Files;
use staging::Staging;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
pub const LARGEST: u64 = 64 << 20;

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "this is a directory",
            ));
        }
        if metadata.len() > LARGEST {
            return Err(too_large());
        }
        read_limited(file)
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }
}

/// Reads to the end, giving up behind [`LARGEST`] bytes: a device or a pipe does not tell its size beforehand.
///
/// # Errors
/// What the system says, or that there is more than [`LARGEST`] bytes.
pub fn read_limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if u64::try_from(read).is_ok_and(|read| read > LARGEST) {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Gives files that are there new texts, all or nothing: every text is first written beside its place. Links are followed, and permissions stay as they are.
///
/// # Errors
/// A file that cannot be written; then no file has changed, unless the last step, the renaming, failed half-way.
pub fn replace<P: AsRef<Path>, T: AsRef<str>>(
    files: &[(P, T)],
) -> Result<(), (PathBuf, io::Error)> {
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

fn too_large() -> io::Error {
    let words = "larger than 64 MiB, which no protocol file needs to be; split it and use `import`";
    io::Error::new(io::ErrorKind::FileTooLarge, words)
}
