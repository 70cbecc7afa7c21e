//! What can be wrong in a session: tags, sizes, control frames, and messages at the wrong time.

use super::payload::Payloads;
use super::{Case, Expected, Kind, LEAVE, Model, count, malformed};
use duologue::robots::Node;
use duologue::sizes::Encoding;

/// How many positions in a frame are cut.
const CUTS: usize = 64;

/// How many bytes a frame of an attack has at most.
const LONGEST: usize = 1 << 20;

/// Control frames that no side may send, with their names.
const CONTROLS: [(&str, &[u8]); 5] = [
    ("the control frame 0", &[0, 0]),
    ("credit, which is not used over byte streams", &[0, 2, 1]),
    ("the control frame 5", &[0, 5]),
    ("the control frame 127", &[0, 127]),
    ("the control frame 255", &[0, 255]),
];

/// The frame that only the accepting side may send.
const DRAIN: (&str, &[u8]) = ("drain, which only the accepting side sends", &[0, 4]);

/// Control frames that a side must not send.
fn controls(model: &Model<'_>, kind: Kind) -> impl Iterator<Item = Case> + use<> {
    let drain = (!model.accepts).then_some(DRAIN);
    let all = CONTROLS.into_iter().chain(drain);
    all.map(move |(name, bytes)| Case::broken(kind, name, bytes))
}

/// Tags that no state has. The tag is sent plus 1.
fn tags(kind: Kind) -> impl Iterator<Item = Case> {
    let control = "a control frame that is longer than necessary";
    let tags = [
        ("the tag 256, which no state has", count(257)),
        ("the tag 2^31", count((1 << 31) + 1)),
        ("the tag 2^63", count((1 << 63) + 1)),
        ("the tag 2^64 - 2", count(u64::MAX)),
        ("a tag that is longer than necessary", vec![0x81, 0]),
        (control, vec![0x80, 0, 1]),
    ];
    let tags = tags.map(|(name, bytes)| (name.to_owned(), bytes));
    let tags = tags.into_iter().chain(malformed("tag"));
    tags.map(move |(name, bytes)| Case::broken(kind, name, bytes))
}

/// What is wrong in a state in which the attacker sends.
#[must_use]
pub fn in_turn(model: &Model<'_>, node: &Node) -> Vec<Case> {
    let mut cases: Vec<Case> = controls(model, Kind::Control).collect();
    if model.accepts {
        cases.push(Case::legal("drain", DRAIN.1, None));
    }
    cases.extend(tags(Kind::Frame));
    let state = model.plan.state(node);
    if state.messages.len() < 256 {
        let tag = count(state.messages.len() as u64 + 1);
        let name = "the first tag that the state does not have";
        let bytes = [&tag[..], &[0; 32]].concat();
        cases.push(Case::broken(Kind::Frame, name, bytes));
    }
    cases.push(Case::cut("half a control frame", [0]));
    cases.push(Case::cut("leave without its reason", [0, 3]));
    cases.push(Case::cut("a connection that ends between messages", b""));
    let name = "leave with reason 99, and then more";
    let more = [&[0, 3, 99][..], &[255; 64]].concat();
    cases.push(Case::new(Kind::Control, name, more, Expected::Closed));
    cases.push(Case::legal("100 signs of life", &[0, 1].repeat(100), None));
    for (position, encoding) in model.sizes.messages(state, &node.arguments).enumerate() {
        of_message(model, node, position, encoding, &mut cases);
    }
    cases
}

fn of_message(
    model: &Model<'_>,
    node: &Node,
    position: usize,
    encoding: Encoding,
    cases: &mut Vec<Case>,
) {
    let message = &model.plan.state(node).messages[position];
    let name = &message.name;
    let fixed = encoding.size.fixed();
    let tag = count(position as u64 + 1);
    if fixed.is_none() {
        for (what, size) in sizes(model, encoding) {
            let bytes = [&tag[..], &size].concat();
            let words = format!("{what} for `{name}`");
            cases.push(Case::broken(Kind::Frame, words, bytes));
        }
    }
    let known = model.values.get(&(node.state, position));
    let payloads = Payloads::of(
        model.program,
        &model.sizes,
        &message.entries,
        &node.arguments,
        fixed.is_some(),
        model.seed,
        known.map_or(&[], Vec::as_slice),
    );
    let frame = |payload: &[u8]| {
        let size = fixed.map_or_else(|| count(payload.len() as u64), |_| Vec::new());
        [&tag[..], &size, payload].concat()
    };
    let legal = |words: String, bytes: &[u8]| {
        let mut case = Case::legal(words, bytes, Some(position));
        if node.edges[position].next.is_none() {
            // What follows the last message is read as a hello, which need not be checked before its head is there.
            case.bytes.extend([0; 16]);
        }
        case
    };
    let limit = encoding.limit.unwrap_or(u64::MAX).min(model.largest);
    for (what, payload) in &payloads.wrong {
        let bytes = frame(payload);
        if bytes.len() <= LONGEST {
            let words = format!("`{name}`: {what}");
            cases.push(Case::broken(Kind::Payload, words, bytes));
        }
    }
    for (what, payload) in &payloads.unusual {
        if payload.len() as u64 <= limit {
            let words = format!("`{name}`: {what}");
            cases.push(legal(words, &frame(payload)));
        }
    }
    if let Some(right) = &payloads.right {
        let whole = frame(right);
        for length in (0..whole.len()).skip(1).take(CUTS) {
            let words = format!("`{name}`, cut after {length} of {} bytes", whole.len());
            cases.push(Case::cut(words, &whole[..length]));
        }
        if right.len() as u64 <= limit {
            let words = format!("`{name}`, of which each byte is sent alone");
            let mut slow = legal(words, &whole);
            slow.is_slow = true;
            cases.push(slow);
        }
    }
}

/// Sizes of a payload that are wrong before the payload is read.
fn sizes(model: &Model<'_>, encoding: Encoding) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut add = |name: String, size: u64| all.push((name, count(size)));
    add("a size of 2^63".to_owned(), 1 << 63);
    add("a size of 2^64 - 1".to_owned(), u64::MAX);
    let larger = model.largest.saturating_add(1);
    add(
        format!("the size {larger}, beyond the limit of the other side"),
        larger,
    );
    if let Some(limit) = encoding.limit
        && limit < model.largest
    {
        let larger = limit + 1;
        add(
            format!("the size {larger}, beyond the bounds of the protocol"),
            larger,
        );
    }
    if let Some(most) = encoding.size.most
        && most < model.largest
    {
        let larger = most + 1;
        add(format!("the size {larger}, which no payload has"), larger);
    }
    if let Some(less) = encoding.size.least.checked_sub(1) {
        add(format!("the size {less}, which no payload has"), less);
    }
    let longer = "a size that is longer than necessary".to_owned();
    all.push((longer, vec![0x85, 0x80, 0]));
    all.extend(malformed("size"));
    all
}

/// What is wrong in a state in which the other side sends. It may send first, so none of this is right in any other state.
#[must_use]
pub fn in_their_turn(model: &Model<'_>) -> Vec<Case> {
    let wrong = controls(model, Kind::Turn).chain(tags(Kind::Turn));
    let end = "a connection that ends while the other side has the turn";
    let life = Case::legal("a sign of life", &[0, 1], None);
    wrong.chain([Case::cut(end, b""), life]).collect()
}

/// What is wrong after the last message.
#[must_use]
pub fn after_the_end(hello: &[u8]) -> Vec<Case> {
    let wrong: [(&str, &[u8]); 3] = [
        ("a message after the last one", &[1; 16]),
        ("leave after the last message", &[0, 3, 0, 0, 0, 0, 0, 0]),
        ("64 bytes of 255 after the last message", &[255; 64]),
    ];
    let case = |name, bytes, expected| Case::new(Kind::End, name, bytes, expected);
    let wrong = wrong.map(|(name, bytes)| case(name, bytes.to_vec(), Expected::Dropped));
    let name = "a second session on the connection";
    let second = [hello, &LEAVE].concat();
    let second = case(name, second, Expected::BegunOrDropped);
    let name = "half a hello after the last message";
    let mut half = Case::cut(name, &hello[..hello.len() / 2]);
    half.kind = Kind::End;
    wrong.into_iter().chain([second, half]).collect()
}
