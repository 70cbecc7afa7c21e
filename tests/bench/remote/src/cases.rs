//! The cases, one family per file.

mod blocking;
mod memory;
#[cfg(feature = "peers")]
mod peers;
mod stream;
mod tasks;
mod tls;

use crate::harness::Family;

/// All families, in the order of the tables.
pub fn families() -> Vec<Family> {
    vec![
        blocking::family(),
        blocking::on_one_processor(),
        tls::family(),
        tasks::family(),
        stream::family(),
        memory::withdrawal(),
        memory::numbers(),
    ]
}

/// The name of our own case in every family.
const OURS: &str = "duologue";
/// The name of the case whose session does not leave the process.
const WITHIN: &str = "duologue, in one process";

/// A frame of a message whose payload is a number.
fn frame(tag: u8, number: f64) -> [u8; 9] {
    let mut frame = [tag; 9];
    frame[1..].copy_from_slice(&number.to_le_bytes());
    frame
}

/// The number in a frame, if it has this tag.
fn number(tag: u8, frame: &[u8]) -> Option<f64> {
    let (first, number) = frame.split_first()?;
    (*first == tag).then(|| number.try_into().ok().map(f64::from_le_bytes))?
}
