//! What a hostile peer can do to memory that two processes share, by `docs/wire.md`: where everything is in it, and what is wrong in each state.

use super::payload::Payloads;
use super::{Case, Expected, Kind, Model};
use crate::robots::Node;
use crate::sizes::Encoding;
use crate::talk::payload_length;
use std::fmt;

/// The bytes that a region begins with.
pub const MAGIC: [u8; 8] = *b"duologue";
/// The version of the layout.
pub const VERSION: u32 = 2;
/// The offsets in a region of what the process that creates it says.
pub const VERSION_AT: u64 = 8;
/// The number of lines.
pub const LINES_AT: u64 = 12;
/// The number of bytes for long messages.
pub const BYTES_AT: u64 = 16;
/// Where the sides are; the first is the one that sends first.
pub const SIDES_AT: [u64; 2] = [64, 256];
/// Where the lines begin.
pub const HEAD: u64 = 448;
/// The size of a line, and of its cells.
pub const LINE: u64 = 64;
/// What its cells hold.
pub const CELLS: usize = 56;

/// The offsets in a side.
pub const FLAGS: u64 = 0;
/// The processor on which it last waited.
pub const PROCESSOR: u64 = 4;
/// How many lines it has finished.
pub const LINES_FINISHED: u64 = 64;
/// How many bytes it has finished.
pub const BYTES_FINISHED: u64 = 72;
/// The state of its handshake.
pub const STATE: u64 = 128;
/// Its verdict.
pub const VERDICT: u64 = 132;
/// Whether it participates in the barrier.
pub const BARRIER: u64 = 140;
/// The largest message that it accepts.
pub const LARGEST: u64 = 152;
/// Its fingerprint.
pub const FINGERPRINT: u64 = 160;

/// The flags of a side.
pub const ASLEEP: u32 = 1;
/// It has disconnected.
pub const LEFT: u32 = 2;
/// It has sent or read the last message.
pub const DONE: u32 = 4;

/// The word of a line: where its count begins, and its flags. The parity is added where it is written.
pub const COUNT_SHIFT: u64 = 1;
/// The next message is in the next line.
pub const FULL: u64 = 0x10;
/// The line has a part of a long message.
pub const LONG: u64 = 0x20;
/// A further part follows.
pub const MORE: u64 = 0x40;
/// Where the tags begin.
pub const TAG_SHIFT: u64 = 8;

/// Something that is done to a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Poke {
    /// Writes bytes at an offset of the region.
    Region(u64, Vec<u8>),
    /// Writes bytes at an offset of this side.
    Own(u64, Vec<u8>),
    /// Writes bytes at an offset of the other side.
    Peer(u64, Vec<u8>),
    /// Writes the cells of the next line.
    Cells(Vec<u8>),
    /// Publishes the next line, with this word and the right parity.
    Word(u64),
    /// Goes to the line after it.
    NextLine,
    /// Writes something into all lines and the bytes after them, which follows from this number.
    Anything(u64),
    /// Sends a message with this position and payload as the format says.
    Message(usize, Vec<u8>),
    /// Sets the flag of a side that has left.
    Leave,
    /// Releases the lock of this side, as if its process had ended.
    Die,
}

/// How many bytes of a poke are shown.
const SHOWN: usize = 64;

impl fmt::Display for Poke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut write = |what: &str, at: u64, bytes: &[u8]| {
            write!(f, "{what} {at}: ")?;
            for byte in &bytes[..bytes.len().min(SHOWN)] {
                write!(f, "{byte:02x}")?;
            }
            f.write_str(if bytes.len() > SHOWN { "..." } else { "" })
        };
        match self {
            Poke::Region(at, bytes) => write("at", *at, bytes),
            Poke::Own(at, bytes) => write("in its side at", *at, bytes),
            Poke::Peer(at, bytes) => write("in the other side at", *at, bytes),
            Poke::Cells(bytes) => write("in the line at", 8, bytes),
            Poke::Message(position, payload) => write("message", *position as u64, payload),
            Poke::Word(word) => write!(f, "the word {word:#x} and the parity"),
            Poke::NextLine => f.write_str("to the next line"),
            Poke::Anything(seed) => write!(f, "anything from {seed} in all lines"),
            Poke::Leave => f.write_str("it leaves"),
            Poke::Die => f.write_str("its lock is released"),
        }
    }
}

fn word(count: u64, flags: u64, tag: u64) -> u64 {
    count << COUNT_SHIFT | flags | tag << TAG_SHIFT
}

fn case(kind: Kind, name: impl Into<String>, pokes: Vec<Poke>, expected: Expected) -> Case {
    Case {
        pokes,
        ..Case::new(kind, name, Vec::new(), expected)
    }
}

/// What is wrong in a state.
#[must_use]
pub fn memory_cases(model: &Model<'_>, node: &Node) -> Vec<Case> {
    let is_turn = node.sender == model.own;
    let mut cases = Vec::new();
    beside(
        if is_turn { Kind::Control } else { Kind::Turn },
        model,
        &mut cases,
    );
    cases.push(case(
        Kind::Cut,
        "a process that ends between messages",
        vec![Poke::Die],
        Expected::Closed,
    ));
    if !is_turn {
        return cases;
    }
    let state = model.plan.state(node);
    let mut broken =
        |name: String, pokes| cases.push(case(Kind::Frame, name, pokes, Expected::Broken));
    let missing = state.messages.len() as u64;
    if missing < 256 {
        for (flags, what) in [
            (0, "a message"),
            (FULL, "a full line"),
            (LONG | FULL, "a long message"),
        ] {
            for tag in [missing, 255] {
                let pokes = vec![
                    Poke::Cells([8_u64.to_le_bytes(), 8_u64.to_le_bytes()].concat()),
                    Poke::Word(word(1, flags, tag)),
                ];
                broken(
                    format!("{what} with the tag {tag}, which the state does not have"),
                    pokes,
                );
            }
        }
        broken(
            "seven messages with the tag 255".to_owned(),
            vec![Poke::Word(!(LONG | MORE | 1))],
        );
    }
    for (position, encoding) in model.sizes.messages(state, &node.arguments).enumerate() {
        of_message(model, node, position, encoding, &mut cases);
    }
    cases
}

/// What a side can write besides its messages.
fn beside(kind: Kind, model: &Model<'_>, cases: &mut Vec<Case>) {
    // What has left does not wait for an answer, so the other side must end the session whatever it has found before.
    let mut add = |name: String, mut pokes: Vec<Poke>| {
        pokes.push(Poke::Leave);
        cases.push(case(kind, name, pokes, Expected::Closed));
    };
    for flags in [LEFT, DONE, LEFT | DONE, 8, !(LEFT | DONE), u32::MAX] {
        let bytes = flags.to_le_bytes().to_vec();
        add(
            format!("the flags {flags:#x}"),
            vec![Poke::Own(FLAGS, bytes.clone())],
        );
        add(
            format!("the flags {flags:#x} of the other side"),
            vec![Poke::Peer(FLAGS, bytes)],
        );
    }
    for number in [1_u64, 1 << 32, 1 << 63, u64::MAX] {
        let bytes = number.to_le_bytes().to_vec();
        add(
            format!("{number} lines and bytes that were finished"),
            vec![
                Poke::Own(LINES_FINISHED, bytes.clone()),
                Poke::Own(BYTES_FINISHED, bytes.clone()),
            ],
        );
        add(
            format!("{number} lines and bytes that the other side has finished"),
            vec![
                Poke::Peer(LINES_FINISHED, bytes.clone()),
                Poke::Peer(BYTES_FINISHED, bytes),
            ],
        );
    }
    add(
        "the processor 2^32 - 1".to_owned(),
        vec![Poke::Own(PROCESSOR, vec![255; 4])],
    );
    for byte in [0, 255] {
        add(
            format!("a head of bytes of {byte}"),
            vec![Poke::Region(0, vec![byte; 24])],
        );
        add(
            format!("hellos of bytes of {byte}"),
            vec![
                Poke::Own(STATE, vec![byte; 48]),
                Poke::Peer(STATE, vec![byte; 48]),
            ],
        );
    }
    for number in 0..8_u64 {
        add(
            format!("anything in all lines, number {number}"),
            vec![Poke::Anything(model.seed.wrapping_add(number))],
        );
    }
}

fn of_message(
    model: &Model<'_>,
    node: &Node,
    position: usize,
    encoding: Encoding,
    cases: &mut Vec<Case>,
) {
    let message = &model.plan.state(node).messages[position];
    let (name, tag) = (&message.name, position as u64);
    let limit = encoding.limit.unwrap_or(u64::MAX).min(model.largest);
    let size = encoding.size;
    let part = |part: u64, whole: u64, count: u64, flags: u64| {
        vec![
            Poke::Cells([part.to_le_bytes(), whole.to_le_bytes()].concat()),
            Poke::Word(word(count, LONG | FULL | flags, tag)),
        ]
    };
    let mut broken = |what: String, pokes: Vec<Poke>| {
        let words = format!("{what} for `{name}`");
        cases.push(case(Kind::Frame, words, pokes, Expected::Broken));
    };
    broken("a long message without bytes".to_owned(), part(0, 0, 1, 0));
    for whole in [1 << 63, u64::MAX] {
        broken(
            format!("a long message of {whole} bytes"),
            part(64, whole, 1, MORE),
        );
        broken(
            format!("a part of {whole} bytes, and no more"),
            part(whole, whole, 1, 0),
        );
    }
    if let Some(larger) = limit.checked_add(1) {
        broken(
            format!("a long message of {larger} bytes"),
            part(64, larger, 1, MORE),
        );
    }
    if let Some(larger) = size.most.and_then(|most| most.checked_add(1)) {
        broken(
            format!("a long message of {larger} bytes, which no payload has"),
            part(larger, larger, 1, 0),
        );
    }
    if let Some(less) = size.least.checked_sub(1).filter(|less| *less > 0) {
        broken(
            format!("a long message of {less} bytes, which no payload has"),
            part(less, less, 1, 0),
        );
    }
    if size.least > CELLS as u64 {
        broken(
            "a short message, which no payload has,".to_owned(),
            vec![Poke::Cells(vec![0; CELLS]), Poke::Word(word(1, 0, tag))],
        );
    }
    // A size that a long message can have.
    let whole = size
        .least
        .max(1_024)
        .min(limit)
        .min(size.most.unwrap_or(u64::MAX));
    if whole > CELLS as u64 {
        let wrong = [
            ("a part without bytes", 0, whole, 1, MORE),
            (
                "a part that is larger than the message",
                whole + 1,
                whole,
                1,
                0,
            ),
            ("a last part that is too small", whole - 1, whole, 1, 0),
            ("a whole message that more follows", whole, whole, 1, MORE),
            (
                "a part that is larger than the region",
                1 << 40,
                whole,
                1,
                MORE,
            ),
            ("two long messages in a line", whole, whole, 2, 0),
            ("seven long messages in a line", whole, whole, 7, MORE),
        ];
        for (what, size, whole, count, flags) in wrong {
            broken(what.to_owned(), part(size, whole, count, flags));
        }
        let begun = part(64.min(whole - 1), whole, 1, MORE);
        let mut pokes = begun.clone();
        pokes.extend([Poke::NextLine, Poke::Word(word(1, 0, tag))]);
        broken("a short message within a long one".to_owned(), pokes);
        let mut pokes = begun.clone();
        pokes.push(Poke::NextLine);
        pokes.extend(part(u64::MAX, 0, 1, 0));
        broken("a second part of 2^64 - 1 bytes".to_owned(), pokes);
        let mut pokes = begun.clone();
        pokes.push(Poke::Die);
        let words = format!("a process that ends within `{name}`");
        cases.push(case(Kind::Cut, words, pokes, Expected::Closed));
        let mut pokes = begun;
        pokes.push(Poke::NextLine);
        pokes.extend(part(0, 0, 1, 0));
        pokes.push(Poke::Leave);
        let words = format!("`{name}`, given up after a part");
        cases.push(case(Kind::Legal, words, pokes, Expected::Taken));
    }
    of_payloads(model, node, position, encoding, cases);
}

fn of_payloads(
    model: &Model<'_>,
    node: &Node,
    position: usize,
    encoding: Encoding,
    cases: &mut Vec<Case>,
) {
    let message = &model.plan.state(node).messages[position];
    let fixed = encoding.size.fixed();
    let payloads = Payloads::of(
        model.program,
        &model.sizes,
        &message.entries,
        &node.arguments,
        fixed.is_some(),
        model.seed,
    );
    let limit = encoding.limit.unwrap_or(u64::MAX).min(model.largest);
    for (what, payload) in &payloads.wrong {
        let words = format!("`{}`: {what}", message.name);
        let tag = position as u64;
        let pokes = if payload.len() <= CELLS {
            // The length of a short payload follows from its bytes, and those after it mean nothing.
            let mut cells = payload.clone();
            cells.resize(CELLS, 255);
            let (program, sizes) = (model.program, &model.sizes);
            if payload_length(program, sizes, &message.entries, &node.arguments, &cells).is_some() {
                continue;
            }
            vec![Poke::Cells(cells), Poke::Word(word(1, 0, tag))]
        } else if payload.len() as u64 <= limit && payload.len() < 1 << 16 {
            vec![Poke::Message(position, payload.clone())]
        } else {
            continue;
        };
        cases.push(case(Kind::Payload, words, pokes, Expected::Broken));
    }
    for (what, payload) in &payloads.unusual {
        if payload.len() as u64 <= limit && payload.len() < 1 << 16 {
            let words = format!("`{}`: {what}", message.name);
            let pokes = vec![Poke::Message(position, payload.clone()), Poke::Leave];
            let mut legal = case(Kind::Legal, words, pokes, Expected::Taken);
            legal.message = Some(position);
            cases.push(legal);
        }
    }
}

/// What can be wrong about a region, and about what the other side finds there when it attaches: after [`Poke`]s of a correct side.
#[must_use]
pub fn regions() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, pokes| {
        cases.push(case(Kind::Hello, name, pokes, Expected::Closed));
    };
    for version in [0, 1, 3, u32::MAX] {
        add(
            format!("version {version}"),
            vec![Poke::Region(VERSION_AT, version.to_le_bytes().to_vec())],
        );
    }
    for lines in [0_u32, 1, 4, 9, 512, 1 << 17, 1 << 31, u32::MAX] {
        add(
            format!("{lines} lines"),
            vec![Poke::Region(LINES_AT, lines.to_le_bytes().to_vec())],
        );
    }
    for bytes in [0_u64, 64, 4_097, 1 << 20, 1 << 40, 1 << 63, u64::MAX] {
        add(
            format!("{bytes} bytes for long messages"),
            vec![Poke::Region(BYTES_AT, bytes.to_le_bytes().to_vec())],
        );
    }
    for state in [3_u32, u32::MAX] {
        add(
            format!("the state {state} of a side"),
            vec![Poke::Own(STATE, state.to_le_bytes().to_vec())],
        );
    }
    for verdict in [3_u32, 4, u32::MAX] {
        add(
            format!("the verdict {verdict}"),
            vec![Poke::Own(VERDICT, verdict.to_le_bytes().to_vec())],
        );
    }
    for verdict in [1_u32, 3, 4] {
        add(
            format!("another fingerprint, and the verdict {verdict}"),
            vec![
                Poke::Own(FINGERPRINT, vec![7; 16]),
                Poke::Own(VERDICT, verdict.to_le_bytes().to_vec()),
            ],
        );
    }
    for largest in [0, 1, u64::MAX] {
        add(
            format!("a limit of {largest} bytes for messages"),
            vec![Poke::Own(LARGEST, largest.to_le_bytes().to_vec())],
        );
    }
    add(
        "a barrier of 2^32 - 1".to_owned(),
        vec![Poke::Own(BARRIER, vec![255; 4])],
    );
    for flags in [LEFT, DONE, u32::MAX] {
        add(
            format!("the flags {flags:#x}"),
            vec![Poke::Own(FLAGS, flags.to_le_bytes().to_vec())],
        );
    }
    add("anything in all lines".to_owned(), vec![Poke::Anything(1)]);
    cases
}
