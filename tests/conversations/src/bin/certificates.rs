//! Writes the certificates for the tests of TLS: `certificates FOLDER`. The tests of all languages use it.
#![forbid(unsafe_code)]

fn main() {
    match std::env::args_os().nth(1) {
        Some(folder) => conversations::certificates::write(folder.as_ref()),
        None => eprintln!("usage: certificates FOLDER"),
    }
}
