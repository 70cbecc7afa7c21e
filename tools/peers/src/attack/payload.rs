//! The ways in which the bytes of a payload can be wrong.

use super::sample::{Fixed, VALUES};
use super::{count, malformed};
use crate::talk::{Encoder, Maker, Spot, SpotKind, Value, is_payload};
use duologue::protocol::{Entry, Program, Type};
use duologue::sizes::Sizes;

/// How many variants of an enum get payloads of their own.
const VARIANTS: usize = 16;

/// How many bytes a value beyond its bound has at most, where an item without bytes counts as one.
const BEYOND: u64 = 64 << 10;

/// How many random changes each sample gets.
const CHANGES: u64 = 8;

/// A list may have this many items that take no bytes.
const EMPTY_ITEMS: u64 = 65_535;

/// Changed payloads of a message, each with what was changed.
#[derive(Debug, Default)]
pub struct Payloads {
    /// A payload that is right.
    pub right: Option<Vec<u8>>,
    /// Payloads that a reader must reject.
    pub wrong: Vec<(String, Vec<u8>)>,
    /// Payloads that a reader must accept.
    pub unusual: Vec<(String, Vec<u8>)>,
}

impl Payloads {
    /// Of a message with these entries, changed from those with the known values and from others. All payloads have the same size if
    /// `is_fixed`.
    pub fn of(
        program: &Program,
        sizes: &Sizes,
        entries: &[Entry],
        arguments: &[Type],
        is_fixed: bool,
        seed: u64,
        known: &[Vec<Value>],
    ) -> Payloads {
        let mut payloads = Payloads::default();
        let mut add = |values: &[Value], random: u64| {
            let mut sample = Encoder::new(program);
            let is_encoded = entries.iter().zip(values).all(|(entry, value)| {
                let (ty, name) = (entry.ty.substitute(arguments), entry.name.text());
                sample.value(&ty, &entry.lengths, value, name).is_ok()
            });
            if !is_encoded {
                return;
            }
            payloads.add(&sample, sizes);
            let mut random = seed.wrapping_add(random);
            for number in 0..CHANGES {
                let bytes = change(&sample.bytes, &mut random);
                if !is_payload(program, sizes, entries, arguments, &bytes) {
                    payloads
                        .wrong
                        .push((format!("random change {number}"), bytes));
                }
            }
            payloads.right.get_or_insert(sample.bytes);
        };
        let (mut choice, mut count) = (0, 1);
        while choice < count.min(VARIANTS) {
            let variants = 1;
            let mut choices = Fixed { choice, variants };
            let mut maker = Maker {
                program,
                choices: &mut choices,
                left: VALUES,
            };
            let Some(values) = maker.payload(entries, arguments) else {
                break;
            };
            count = choices.variants;
            add(&values, choice as u64);
            choice += 1;
        }
        for values in known.iter().take(VARIANTS) {
            add(values, 0);
        }
        if is_fixed {
            let size = payloads.right.as_ref().map_or(0, Vec::len);
            payloads.wrong.retain(|(_, bytes)| bytes.len() == size);
        }
        let mut known = std::collections::BTreeSet::new();
        payloads
            .wrong
            .retain(|(_, bytes)| known.insert(bytes.clone()));
        payloads
            .unusual
            .retain(|(_, bytes)| known.insert(bytes.clone()));
        payloads
    }

    fn add(&mut self, sample: &Encoder<'_>, sizes: &Sizes) {
        for spot in &sample.spots {
            let path = &spot.path;
            match &spot.kind {
                SpotKind::Flag => {
                    for byte in [2, 255] {
                        let name = format!("{byte} for a `bool` or an option in `{path}`");
                        self.wrong.push((name, replaced(sample, spot, &[byte])));
                    }
                }
                SpotKind::Real => {
                    // A signaling NaN with a payload.
                    let width = spot.end - spot.at;
                    let mut number = vec![0x55; width];
                    number[width - 2..].copy_from_slice(match width {
                        4 => &[0x85, 0xff],
                        _ => &[0xf5, 0x7f],
                    });
                    let bytes = replaced(sample, spot, &number);
                    self.unusual.push((format!("NaN in `{path}`"), bytes));
                }
                SpotKind::Variant(most) => {
                    let own = number(&sample.bytes[spot.at..spot.end]);
                    for (name, bytes) in counts(*most as u64, "variant", own) {
                        let bytes = replaced(sample, spot, &bytes);
                        self.wrong.push((format!("{name} in `{path}`"), bytes));
                    }
                }
                SpotKind::Counted { .. } => self.add_counted(sample, spot, sizes),
            }
        }
        let name = "a byte after the payload's last value".to_owned();
        self.wrong.push((name, [&sample.bytes[..], &[0]].concat()));
        for length in missing(sample.bytes.len()) {
            let less = sample.bytes.len() - length;
            let name = format!("a payload without its last {less} bytes");
            self.wrong.push((name, sample.bytes[..length].to_vec()));
        }
    }

    fn add_counted(&mut self, sample: &Encoder<'_>, spot: &Spot, sizes: &Sizes) {
        let SpotKind::Counted {
            content,
            ref item,
            most,
            is_text,
        } = spot.kind
        else {
            return;
        };
        let least = item.as_ref().map_or(1, |item| sizes.of_type(item).least);
        let is_list = item.is_some();
        let path = &spot.path;
        let own = number(&sample.bytes[spot.at..content]);
        let left = (sample.bytes.len() - content) as u64;
        let beyond = match least {
            0 => EMPTY_ITEMS + 1,
            least => left / least + 1,
        };
        for (name, bytes) in counts(beyond, "count", own) {
            let bytes = [&bytes[..], &sample.bytes[content..spot.end]].concat();
            let bytes = replaced(sample, spot, &bytes);
            self.wrong.push((format!("{name} in `{path}`"), bytes));
        }
        let item = &sample.bytes[content..spot.end];
        let unit = if is_list { item } else { &b"a"[..] };
        let can_repeat = !is_list || own == 1;
        let size = (unit.len() as u64).max(1);
        if let Some(most) = most
            && can_repeat
            && most < BEYOND / size
        {
            let full = |number: u64| {
                let content = unit.repeat(number as usize);
                replaced(sample, spot, &[&count(number)[..], &content].concat())
            };
            let name = format!("one more than the bound {most} in `{path}`");
            self.wrong.push((name, full(most + 1)));
            let name = format!("as much as the bound {most} in `{path}`");
            self.unusual.push((name, full(most)));
        }
        if is_text {
            let texts: [(&str, &[u8]); 6] = [
                ("the byte 255", b"\xff"),
                ("an overlong form", b"\xc0\x80"),
                ("a surrogate", b"\xed\xa0\x80"),
                ("a code point above 10FFFF", b"\xf4\x90\x80\x80"),
                ("half a character", b"\xe2\x82"),
                ("a continuation without a beginning", b"a\x80"),
            ];
            for (name, text) in texts {
                let bytes = [&[text.len() as u8], text].concat();
                let bytes = replaced(sample, spot, &bytes);
                self.wrong.push((format!("{name} in `{path}`"), bytes));
            }
        }
        if !is_list {
            let bytes = replaced(sample, spot, &[0]);
            self.unusual.push((format!("nothing in `{path}`"), bytes));
        }
    }
}

/// Counts that are wrong where at most `beyond` - 1 is right, or that encode `own` wrongly.
fn counts(beyond: u64, what: &str, own: u64) -> Vec<(String, Vec<u8>)> {
    let large = [beyond, 1 << 31, 1 << 63, u64::MAX].into_iter();
    let large = large.filter(|number| *number >= beyond);
    let large = large.map(|number| (format!("the {what} {number}"), count(number)));
    let mut longer = count(own);
    if let Some(last) = longer.last_mut() {
        *last |= 0x80;
    }
    longer.push(0);
    let longer = (format!("a {what} that is longer than necessary"), longer);
    let rest = [longer].into_iter().chain(malformed(what));
    large.chain(rest).collect()
}

/// The number that a count says.
fn number(count: &[u8]) -> u64 {
    let digits = count.iter().rev();
    digits.fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f))
}

/// The sample with other bytes at a spot.
fn replaced(sample: &Encoder<'_>, spot: &Spot, with: &[u8]) -> Vec<u8> {
    [&sample.bytes[..spot.at], with, &sample.bytes[spot.end..]].concat()
}

/// Where payloads are cut: after each byte of a short one.
fn missing(length: usize) -> Vec<usize> {
    const ALL: usize = 24;
    match length {
        0..=ALL => (0..length).collect(),
        _ => (0..ALL).chain([length / 2, length - 1]).collect(),
    }
}

/// Changes one to three bytes.
fn change(bytes: &[u8], random: &mut u64) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let mut next = || {
        *random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *random >> 33
    };
    if changed.is_empty() {
        return changed;
    }
    for _ in 0..=next() % 3 {
        let at = next() as usize % changed.len();
        changed[at] = next() as u8;
    }
    changed
}
