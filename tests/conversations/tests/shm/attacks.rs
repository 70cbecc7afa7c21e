//! A peer in shared memory that breaks the rules: no crash, no endless wait, and a result. The programs of `tests/processes` do the
//! same to a reader in C.

use conversations::protocols::bank::{self, WithdrawalResponse};
use conversations::regions::{Reader, after, pair_of};
use conversations::sockets::logged_in;
use conversations::wire::payloads::{All, client, server};
use duologue::{PortSet, Select, Why};
use duologue_shm::{Attach, Error, Region};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

// The region, as runtime/shared-memory.md describes it.
const PARITY: u64 = 1;
const ONE: u64 = 2;
const FULL: u64 = 0x10;
const LONG: u64 = 0x20;
const MORE: u64 = 0x40;
const LINES: u64 = 256;
const LINES_AT: u64 = 448;
const BYTES_AT: u64 = LINES_AT + 64 * LINES;
const SIZE: usize = BYTES_AT as usize + 4096;

// Tags of `payloads.all`.
const U64: u64 = 5;
const STR: u64 = 12;
const EMPTIES: u64 = 19;

/// The word of a line full of numbers, the first time that it is used.
const ALL_NUMBERS: u64 = PARITY | (7 * ONE) | FULL | (U64 * 0x0001_0101_0101_0101) << 8;

/// A session whose client says nothing, while something else writes into the region.
struct Attack {
    region: File,
    reader: Reader,
    /// Its process has the side, so that it counts as alive.
    client: client::All,
}

impl Attack {
    fn begin() -> Attack {
        Attack::with(&Attach::new().max_payload(1 << 16))
    }

    fn with(options: &Attach) -> Attack {
        let region = Region::with_space(4096).expect("there is memory");
        let (server, client): (server::All, client::All) =
            pair_of(&region, options, &Attach::new());
        Attack {
            region: File::from(OwnedFd::from(region)),
            reader: Reader::new(server),
            client,
        }
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        write(&self.region, at, bytes);
    }

    fn numbers(&self, line: u64, numbers: &[u64]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
        self.write(LINES_AT + 64 * line + 8, &bytes);
    }

    fn word(&self, line: u64, word: u64) {
        self.write(LINES_AT + 64 * line, &word.to_ne_bytes());
    }

    /// Reads one message that is there.
    fn take(&mut self) -> Option<All> {
        self.reader.read(false)
    }

    fn finished(&self) -> u64 {
        let mut count = [0; 8];
        let read = self.region.read_exact_at(&mut count, 256 + 64);
        read.expect("the region is there");
        u64::from_ne_bytes(count)
    }

    /// Why the session was closed, if the reader has noticed that, and how many messages it has received. The client notices the
    /// end as well: otherwise this would not return.
    fn end(self) -> (Option<Why>, usize) {
        drop(self.reader.server);
        let mut client = Some(self.client);
        while let Some(open) = client {
            client = open.none().ok();
        }
        (self.reader.why, self.reader.taken)
    }
}

fn write(region: &File, at: u64, bytes: &[u8]) {
    let written = region.write_all_at(bytes, at);
    written.expect("the region is there");
}

struct Random(u64);

impl Random {
    fn any(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.any() % limit
    }

    fn byte(&mut self) -> u8 {
        let any = self.any();
        (if self.below(3) == 0 { any } else { any % 6 }) as u8
    }

    /// Lines with words that look right and everything else at random, then the bytes.
    fn lines(&mut self, region: &File) {
        let count = 1 + self.below(12);
        for line in 0..count {
            let mut word = self.any();
            if self.below(4) != 0 {
                word |= PARITY;
            }
            if self.below(3) != 0 {
                word &= !(LONG | MORE);
            }
            if self.below(8) != 0 {
                word &= 0x1f1f_1f1f_1f1f_1fff;
            }
            let mut cells: Vec<u8> = (0..56).map(|_| self.byte()).collect();
            if word & LONG != 0 {
                let part = self.below(2000);
                let mut whole = self.below(3000);
                if self.below(2) == 0 {
                    whole = part;
                    word = (word & !(MORE | 14)) | ONE;
                }
                cells[..8].copy_from_slice(&part.to_ne_bytes());
                cells[8..16].copy_from_slice(&whole.to_ne_bytes());
            }
            if self.below(4) == 0 {
                word = ALL_NUMBERS;
            }
            if self.below(16) == 0 {
                word ^= 1 << self.below(64);
            }
            write(region, LINES_AT + 64 * line + 8, &cells);
            write(region, LINES_AT + 64 * line, &word.to_ne_bytes());
        }
        let bytes: Vec<u8> = (0..4096).map(|_| self.byte()).collect();
        write(region, BYTES_AT, &bytes);
    }

    fn anything(&mut self, region: &File, from: usize, to: usize) {
        let words = (from..to).step_by(8).flat_map(|_| self.any().to_ne_bytes());
        write(region, from as u64, &words.collect::<Vec<u8>>());
    }
}

#[test]
fn garbage_at_rest() {
    let mut random = Random(88_172_645_463_325_252);
    let (mut broken, mut taken) = (0, 0);
    for round in 0..3000 {
        let mut attack = Attack::begin();
        match round % 16 {
            0 => random.anything(&attack.region, 0, SIZE),
            _ => random.lines(&attack.region),
        }
        attack.reader.read_some(200);
        let (why, count) = attack.end();
        broken += usize::from(why == Some(Why::Broken));
        taken += count;
    }
    assert!(broken > 150 && taken > 150, "{broken} {taken}");
}

#[test]
fn garbage_while_it_reads() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..100 {
        let mut attack = Attack::begin();
        let region = attack.region.try_clone().expect("a descriptor is free");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    random.lines(&region);
                    random.anything(&region, 64, LINES_AT as usize);
                    if random.below(8) == 0 {
                        random.anything(&region, 64, SIZE);
                    }
                }
            });
            for _ in 0..50 {
                attack.reader.read_some(100);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        attack.end();
    }
}

/// Also a thread that waits comes to an end, because the peer's flags say so, or because the format is broken.
#[test]
fn garbage_while_it_waits() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..100 {
        let mut attack = Attack::begin();
        let region = attack.region.try_clone().expect("a descriptor is free");
        let reader = &mut attack.reader;
        thread::scope(|scope| {
            let reading = scope.spawn(|| reader.read_to_the_end());
            while !reading.is_finished() {
                random.lines(&region);
                random.anything(&region, 64, LINES_AT as usize);
            }
        });
        assert!(attack.reader.server.is_none());
        attack.end();
    }
}

/// A sender whose peer's counts are garbage, and whose own flags change.
#[test]
fn garbage_while_it_sends() {
    let mut random = Random(0x0f0e_0d0c_0b0a_0908);
    for _ in 0..20 {
        let attack = Attack::begin();
        let region = attack.region;
        let mut client = Some(attack.client);
        let is_over = AtomicBool::new(false);
        // The reader does not read: its side writes nothing.
        let server = attack.reader.server;
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                for n in 0..100_000_u64 {
                    let sent = match n % 100 {
                        0 => client
                            .take()
                            .map(|client| client.str("x".repeat(3000)).map_err(drop)),
                        _ => client.take().map(|client| client.u64(n).map_err(drop)),
                    };
                    client = sent.and_then(Result::ok);
                    if client.is_none() {
                        break;
                    }
                }
            });
            while !sending.is_finished() {
                random.anything(&region, 256, LINES_AT as usize);
                // A peer that has left is the only way out of a full region.
                let flags = random.below(8) as u32;
                write(&region, 256, &flags.to_ne_bytes());
            }
            is_over.store(true, Ordering::Relaxed);
        });
        drop(server);
    }
}

/// A peer that reads a message may answer and leave before the sender of the message sees its flags. Here it does so before it has read the
/// message, into a line that it has read.
#[test]
fn an_answer_of_a_peer_that_has_left_is_read() {
    const LEFT: u32 = 2;
    const MONEY: u64 = 0;
    let region = Region::with_space(4096).expect("there is memory");
    let pair: (bank::server::Login, bank::client::Login) =
        pair_of(&region, &Attach::new(), &Attach::new());
    let region = File::from(OwnedFd::from(region));
    // The server is only there.
    let (_server, mut client) = logged_in(pair);
    for _ in 0..8 {
        client = client.deposit(1.0).expect("it is open");
    }
    let written = || {
        let mut word = [0; 8];
        let read = region.read_exact_at(&mut word, LINES_AT + 64);
        read.expect("the region is there");
        u64::from_ne_bytes(word) & 0xf
    };
    // One message in the second line, which is used for the first time.
    while written() != PARITY | ONE {
        thread::yield_now();
    }
    write(&region, LINES_AT + 8, &7.0_f64.to_ne_bytes());
    // The fourth use of the line.
    write(&region, LINES_AT, &(FULL | ONE | MONEY << 8).to_ne_bytes());
    write(&region, 256, &LEFT.to_ne_bytes());
    let waiting = client.withdrawal(50.0).expect("it is open");
    let Ok(WithdrawalResponse::Money(money, _)) = waiting.recv() else {
        panic!("the answer arrives")
    };
    assert_eq!(money, 7.0);
}

/// A long text of which a part arrives, and then a short message: what did not arrive is not read.
#[test]
fn a_long_message_that_is_not_completed() {
    let mut attack = Attack::begin();
    // 298 bytes of text, in two bytes.
    attack.write(BYTES_AT, b"\xaa\x02");
    attack.numbers(0, &[64, 300]);
    attack.word(0, PARITY | LONG | MORE | FULL | ONE | STR << 8);
    assert!(attack.take().is_none() && attack.reader.why.is_none());
    attack.word(1, PARITY | ONE | STR << 8);
    assert!(attack.take().is_none());
    assert_eq!(attack.end().0, Some(Why::Broken));
}

/// A long text that is withdrawn after a part; then a withdrawal when there is nothing to withdraw.
#[test]
fn a_message_is_withdrawn_and_nothing_is() {
    let mut attack = Attack::begin();
    let part = PARITY | LONG | FULL | ONE;
    attack.numbers(0, &[64, 300]);
    attack.numbers(1, &[0, 0]);
    attack.numbers(2, &[7]);
    attack.numbers(3, &[0, 0]);
    attack.word(0, part | MORE | STR << 8);
    assert!(attack.take().is_none() && attack.reader.why.is_none());
    attack.word(1, part);
    assert!(attack.take().is_none() && attack.reader.why.is_none());
    attack.word(2, PARITY | FULL | ONE | U64 << 8);
    let Some(All::U64(7, next)) = attack.take() else {
        panic!("the number after it arrives")
    };
    attack.reader.server = Some(next);
    attack.word(3, part);
    assert!(attack.take().is_none());
    assert_eq!(attack.end().0, Some(Why::Broken));
}

/// Lines full of numbers, and then one whose last number has a tag that does not exist: the valid ones arrive, in order.
#[test]
fn a_wrong_tag_among_numbers() {
    const SOUND: u64 = 20;
    let mut attack = Attack::begin();
    for line in 0..=SOUND {
        let numbers: Vec<u64> = (line * 7..line * 7 + 7).collect();
        attack.numbers(line, &numbers);
        attack.word(
            line,
            if line < SOUND {
                ALL_NUMBERS
            } else {
                ALL_NUMBERS | 0xff << 56
            },
        );
    }
    for n in 0..SOUND * 7 + 6 {
        let Some(All::U64(found, next)) = attack.take() else {
            panic!("{n} arrives")
        };
        assert_eq!(found, n);
        attack.reader.server = Some(next);
    }
    assert!(attack.take().is_none());
    assert_eq!(attack.end().0, Some(Why::Broken));

    // A line that was full in another use of it is not received.
    let mut attack = Attack::begin();
    for line in 0..SOUND {
        let other = if line == SOUND / 2 { PARITY } else { 0 };
        attack.word(line, ALL_NUMBERS ^ other);
    }
    attack.reader.read_some(1000);
    assert_eq!(attack.end(), (None, SOUND as usize / 2 * 7));
}

/// Items without bytes: a message of a few bytes that is large in memory.
#[test]
fn the_memory_of_a_short_message_is_bounded() {
    for (memory, fits) in [(65_534, false), (65_535, true)] {
        let mut attack = Attack::with(&Attach::new().max_memory(memory));
        attack.write(LINES_AT + 8, b"\xff\xff\x03");
        attack.word(0, PARITY | ONE | FULL | EMPTIES << 8);
        match attack.take() {
            Some(All::Empties {
                empties: items,
                next,
            }) => {
                assert!(fits && items.len() == 65_535);
                attack.reader.server = Some(next);
            }
            other => assert!(!fits && other.is_none()),
        }
        assert_eq!(attack.end().0, (!fits).then_some(Why::TooLarge));
    }
}

#[test]
fn the_size_of_a_long_message_is_bounded() {
    for (whole, fits) in [(1 << 16, true), ((1 << 16) + 1, false), (u64::MAX, false)] {
        let mut attack = Attack::begin();
        attack.numbers(0, &[64, whole]);
        attack.word(0, PARITY | LONG | MORE | FULL | ONE | STR << 8);
        assert!(attack.take().is_none());
        assert_eq!(attack.end().0, (!fits).then_some(Why::Broken), "{whole}");
    }
    // A message that always has 8 bytes, and messages that do not exist.
    for tag in [U64, 26, 255] {
        let mut attack = Attack::begin();
        attack.numbers(0, &[64, 64]);
        attack.word(0, PARITY | LONG | FULL | ONE | tag << 8);
        assert!(attack.take().is_none());
        assert_eq!(attack.end().0, Some(Why::Broken), "{tag}");
    }
    // Parts that are empty, too long for the message or the region, or have the wrong flag.
    for (part, whole, more) in [
        (0, 300, MORE),
        (301, 300, 0),
        (300, 300, MORE),
        (64, 300, 0),
        (4097, 5000, MORE),
    ] {
        let mut attack = Attack::begin();
        attack.numbers(0, &[part, whole]);
        attack.word(0, PARITY | LONG | FULL | ONE | more | STR << 8);
        assert!(attack.take().is_none());
        assert_eq!(attack.end().0, Some(Why::Broken), "{part} {whole}");
    }
}

/// A whole text in parts of one byte, all there at once.
fn write_parts(attack: &Attack, count: u64) {
    for part in 0..count {
        let byte = if part == 0 { count as u8 - 1 } else { b'x' };
        attack.write(BYTES_AT + 64 * part, &[byte]);
        attack.numbers(part, &[1, count]);
        let more = if part + 1 < count { MORE } else { 0 };
        attack.word(part, PARITY | ONE | FULL | LONG | more | STR << 8);
    }
}

/// One check receives a limited number of parts: a thread that serves many sessions is not held up.
#[test]
fn the_time_of_one_check_is_bounded() {
    const PARTS: u64 = 64;
    let mut attack = Attack::begin();
    write_parts(&attack, PARTS);
    let mut checks = 0;
    let text = loop {
        let before = attack.finished();
        let message = attack.take();
        checks += 1;
        assert!(attack.finished() <= before + 16 && checks <= PARTS);
        if let Some(All::Str(text, _)) = message {
            break text;
        }
        assert!(attack.reader.why.is_none());
    };
    assert!(checks > 1 && text.len() == PARTS as usize - 1);
}

/// What waits for several sessions does not go to sleep while there are parts to receive.
#[test]
fn checks_go_on_while_there_are_parts() {
    let mut attack = Attack::begin();
    write_parts(&attack, 64);
    let mut server = attack.reader.server.take().expect("it is open");
    let mut select = Select::new();
    let only = select.add(&mut server);
    assert_eq!(select.ready(), Ok(only));
    assert!(matches!(server.try_recv(), Ok(All::Str(..))));

    let mut attack = Attack::begin();
    let mut set = PortSet::new();
    set.insert(attack.reader.server.take().expect("it is open"), ());
    write_parts(&attack, 64);
    let (_, message) = set.recv().expect("there is an endpoint");
    assert!(after(message.expect("it arrives")).is_some());
}

#[test]
fn a_large_region_is_not_touched() {
    let region = Region::with_space(1 << 21).expect("there is memory");
    let small = Attach::new().max_region(1 << 20);
    let refused = small.attach::<server::All>(&region);
    assert!(matches!(refused, Err(Error::LargeRegion { .. })));
    // The side is still free.
    let large = Attach::new().timeout(std::time::Duration::from_millis(1));
    let late = large.attach::<server::All>(&region);
    assert!(matches!(late, Err(Error::TimedOut)), "{:?}", late.err());
}

/// A head with other numbers than a region has, and regions that were cut.
#[test]
fn a_wrong_head_is_no_region() {
    let head = |at: u64, bytes: &[u8]| {
        let region = Region::with_space(4096).expect("there is memory");
        let file = File::from(region.as_fd().try_clone_to_owned().expect("it is open"));
        write(&file, at, bytes);
        let refused = duologue_shm::attach::<server::All>(&region);
        assert!(matches!(refused, Err(Error::NotARegion)), "{at} {bytes:?}");
    };
    head(0, b"Duologue");
    head(0, b"eugoloud");
    head(8, &3_u32.to_ne_bytes());
    for lines in [0, 4, 255, 512, 1 << 17, 1 << 31, u32::MAX] {
        head(12, &lines.to_ne_bytes());
    }
    for bytes in [0, 2048, 4095, 8192, 1 << 63, u64::MAX] {
        head(16, &bytes.to_ne_bytes());
    }
}
