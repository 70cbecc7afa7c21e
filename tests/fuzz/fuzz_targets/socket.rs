//! Arbitrary bytes from a peer: as a hello or an answer with frames after it, or as frames of a session that has begun. Whatever they
//! are, the session ends, and with it the messages.
#![no_main]

mod protocols {
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}

use duologue::generated::Start;
use duologue_net::{Connector, Open, Socket, accept_over};
use libfuzzer_sys::fuzz_target;
use protocols::payloads::{All, server};
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

type State = <server::All as Open>::State;

/// The beginning of a session, as `docs/wire.md` has it: a hello of the connecting side, or an answer of the accepting side.
fn greeting(is_hello: bool) -> Vec<u8> {
    let mut bytes = b"duologue\x01\x00".to_vec();
    let rest: &[u8] = if is_hello { b"\x00\x00" } else { b"" };
    let size = 26 + rest.len() as u16;
    bytes.extend(size.to_le_bytes());
    bytes.extend(State::FINGERPRINT);
    bytes.extend(65_536u32.to_le_bytes());
    bytes.extend([0; 6]);
    bytes.extend(rest);
    bytes
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else {
        return;
    };
    let (ours, mut peers) = UnixStream::pair().expect("a pair of sockets can be made");
    let accepts = choice & 1 == 0;
    if choice & 2 == 0 {
        peers.write_all(&greeting(accepts)).expect("there is space");
    }
    peers.write_all(bytes).expect("there is space");
    peers.shutdown(Shutdown::Write).expect("it is connected");
    let ours = Socket::of(ours.into());
    let begun = match accepts {
        true => accept_over::<server::All>(ours),
        false => Connector::new().connect_over(ours),
    };
    let mut all = match begun {
        Ok(all) => all,
        Err(refused) => {
            assert!(choice & 2 != 0, "{refused}");
            return;
        }
    };
    while let Ok(message) = all.recv() {
        all = match message {
            All::None(next) => next,
            All::Bool(_, next) => next,
            All::U8(_, next) => next,
            All::U16(_, next) => next,
            All::U32(_, next) => next,
            All::U64(_, next) => next,
            All::I8(_, next) => next,
            All::I16(_, next) => next,
            All::I32(_, next) => next,
            All::I64(_, next) => next,
            All::F32(_, next) => next,
            All::F64(_, next) => next,
            All::Str(_, next) => next,
            All::Bytes(_, next) => next,
            All::List { next, .. } => next,
            All::Lists { next, .. } => next,
            All::Option { next, .. } => next,
            All::Options { next, .. } => next,
            All::Tuple { next, .. } => next,
            All::Empties { next, .. } => next,
            All::Record(_, next) => next,
            All::Tree(_, next) => next,
            All::Colour(_, next) => next,
            All::Shape(_, next) => next,
            All::Many(.., next) => next,
            All::Over => return,
        };
    }
});
