//! A region of shared memory into which a peer writes whatever it likes, while this process reads or sends. Whatever that is, nothing
//! panics or waits, and the session ends.
#![no_main]

#[path = "../../conversations/src/regions/after.rs"]
mod after;
mod protocols {
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}

use after::after;
use duologue::{TryRecvError, TrySendError};
use duologue_shm::{Attach, Region};
use libfuzzer_sys::fuzz_target;
use protocols::payloads::{All, client, server};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::thread;

/// The bytes for long messages, and where they are: `runtime/shared-memory.md`, "Shared memory".
const SPACE: usize = 4096;
const BYTES_AT: u64 = 448 + 64 * 256;

/// How many messages are read or sent after each part of an input. A region holds more.
const MESSAGES: usize = 200;

/// The endpoint after up to this many messages that are there, if the session goes on.
fn read(mut all: server::All) -> Option<server::All> {
    for _ in 0..MESSAGES {
        all = match all.try_recv() {
            Ok(message) => after(message)?,
            Err(TryRecvError::Empty(all)) => return Some(all),
            Err(TryRecvError::Closed(_)) => return None,
        };
    }
    Some(all)
}

/// The endpoint after as many messages as fit, short and long ones, if the session goes on.
fn send(mut all: client::All) -> Option<client::All> {
    for number in 0..MESSAGES {
        let sent = match number % 8 {
            0 => all.try_str("x".repeat(number)).map_err(|error| match error {
                TrySendError::Full((all, _)) => Some(all),
                TrySendError::Closed(_) => None,
            }),
            _ => all.try_u64(number as u64).map_err(|error| match error {
                TrySendError::Full((all, _)) => Some(all),
                TrySendError::Closed(_) => None,
            }),
        };
        all = match sent {
            Ok(next) => next,
            Err(full) => return full,
        };
    }
    Some(all)
}

// The first byte: whether this process reads or sends. Then parts, each with a place in words of 8 bytes, a number of bytes, and these
// bytes: in the head and the first lines or, with the highest bit of the number, in the bytes of long messages.
fuzz_target!(|input: &[u8]| {
    let Some((choice, mut rest)) = input.split_first() else {
        return;
    };
    let region = Region::with_space(SPACE).expect("there is memory");
    // A payload of this protocol takes little memory, so that none of a size that a peer invents is taken.
    let options = Attach::new().max_payload(1 << 16);
    let (server, client) = thread::scope(|scope| {
        let client = scope.spawn(|| options.attach::<client::All>(&region));
        let server = options.attach::<server::All>(&region);
        let client = client.join().expect("it does not panic");
        (server.expect("it is free"), client.expect("it is free"))
    });
    let region = File::from(OwnedFd::from(region));
    let (mut server, mut client) = (Some(server), Some(client));
    while let [place, number, bytes @ ..] = rest {
        let (part, others) = bytes.split_at(bytes.len().min(1 + usize::from(number & 63)));
        let at = 8 * u64::from(*place) + u64::from(number >> 7) * BYTES_AT;
        region.write_all_at(part, at).expect("it is in the region");
        rest = others;
        if number & 64 == 0 {
            match choice & 1 {
                0 => server = server.and_then(read),
                _ => client = client.and_then(send),
            }
        }
    }
    server = server.and_then(read);
    // Neither side waits for the other, although what each says about itself may be gone.
    drop(client);
    drop(server);
});
