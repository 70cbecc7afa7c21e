//! Memory that this process shares with one that it attacks, by `docs/wire.md`.

use super::Failure;
use super::attack_position::{BYTES, LINES, Position, RegionName};
use super::attack_shared::{Shared, lock, lock_is_held};
use super::attack_victim::{PAUSE, Victim};
use duologue::attack::memory::{
    ASLEEP, BARRIER, BYTES_AT, BYTES_FINISHED, CELLS, COUNT_SHIFT, DONE, FINGERPRINT, FLAGS, FULL,
    HEAD, LARGEST, LEFT, LINE, LINES_AT, LINES_FINISHED, LONG, MAGIC, MORE, Poke, SIDES_AT, STATE,
    TAG_SHIFT, VERDICT, VERSION, VERSION_AT,
};
use duologue::fingerprint::Fingerprint;
use duologue::protocol::{Program, Side};
use duologue::robots::Plan;
use duologue::sizes::{Encoding, Sizes};
use duologue::talk::{payload_length, write_count};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::thread;
use std::time::{Duration, Instant};

/// How much of a long message is sent at once.
const PART: u64 = 16 << 10;

/// The largest message that this side accepts, in bytes.
const ACCEPTED: u64 = 1 << 20;

/// How long to wait before the region is looked at again.
pub const MOMENT: Duration = Duration::from_micros(50);

/// The verdicts of sides.
const EQUAL: u32 = 1;
const REFUSES: u32 = 3;

/// A region with a session.
pub struct Region<'c> {
    program: &'c Program,
    plan: &'c Plan<'c>,
    sizes: Sizes,
    own: Side,
    pub path: PathBuf,
    file: File,
    shared: Shared,
    /// The description that has the lock of this side.
    lock: Option<File>,
    /// Which of the two sides this one is.
    place: usize,
    pub position: Position,
    /// What was written and is no whole frame yet; what was read and is not used yet.
    pub output: Vec<u8>,
    pub input: Vec<u8>,
    pub has_ended: bool,
    /// Whether something wrong is in the lines, so that they are not read any more.
    pub is_spoiled: bool,
    pub timeout: Duration,
}

impl<'c> Region<'c> {
    /// Creates a region in which this side has said what it is.
    pub fn create(
        name: &RegionName,
        program: &'c Program,
        plan: &'c Plan<'c>,
        own: Side,
        fingerprint: Fingerprint,
    ) -> Result<Region<'c>, Failure> {
        let path = name.0.clone();
        let failed = |error: io::Error| {
            Failure::Environment(format!("cannot create {}: {error}", path.display()))
        };
        // What an earlier attack has left there.
        let _ = fs::remove_file(&path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(failed)?;
        let size = HEAD + LINES * LINE + BYTES;
        // Written bytes are allocated, so no store fails later.
        let zeros = vec![0; size as usize];
        let written = file.write_all_at(&zeros, 0);
        let shared = written.and_then(|()| Shared::of(&file, size as usize));
        let shared = shared.map_err(failed)?;
        let place = usize::from(plan.nodes[0].sender != own);
        let side = SIDES_AT[place];
        let held = OpenOptions::new().read(true).write(true).open(&path);
        let held = held.and_then(|held| lock(&held, side).map(|()| held));
        let made = Region {
            program,
            plan,
            sizes: Sizes::of(program),
            own,
            lock: Some(held.map_err(failed)?),
            path: path.clone(),
            file,
            shared,
            place,
            position: Position::new(),
            output: Vec::new(),
            input: Vec::new(),
            has_ended: false,
            is_spoiled: false,
            timeout: Duration::ZERO,
        };
        let writes: [(u64, &[u8]); 9] = [
            (VERSION_AT, &VERSION.to_ne_bytes()),
            (LINES_AT, &(LINES as u32).to_ne_bytes()),
            (BYTES_AT, &BYTES.to_ne_bytes()),
            (side + LARGEST, &ACCEPTED.to_ne_bytes()),
            (side + BARRIER, &0_u32.to_ne_bytes()),
            (side + FINGERPRINT, &fingerprint.0),
            (side + STATE, &2_u32.to_ne_bytes()),
            (side + VERDICT, &0_u32.to_ne_bytes()),
            (0, &u64::from_le_bytes(MAGIC).to_ne_bytes()),
        ];
        for (at, bytes) in writes {
            made.write_at(at, bytes).map_err(failed)?;
        }
        Ok(made)
    }

    /// Waits until the other side is there and has agreed. Its hello is what is read first.
    pub fn meet(&mut self, victim: &mut Victim, deadline: Instant) -> Result<(), String> {
        let peer = self.peer();
        self.wait_for(victim, deadline, |region| region.number(peer + STATE) == 2)?;
        let mut fingerprint = [0; 16];
        let mut own = [0; 16];
        let read = self
            .file
            .read_exact_at(&mut fingerprint, peer + FINGERPRINT);
        let read = read.and_then(|()| self.file.read_exact_at(&mut own, self.side() + FINGERPRINT));
        read.map_err(|error| error.to_string())?;
        let verdict = if own == fingerprint { EQUAL } else { REFUSES };
        self.set(self.side() + VERDICT, verdict);
        self.wake();
        self.wait_for(victim, deadline, |region| {
            region.number(peer + VERDICT) != 0
        })?;
        let largest = self.long_number(peer + LARGEST).min(u32::MAX.into()) as u32;
        let receives_first = self.plan.nodes[0].sender == self.own;
        self.input.extend(b"duologue\x01");
        self.input.extend([u8::from(receives_first), 28, 0]);
        self.input.extend(fingerprint);
        self.input.extend(largest.to_le_bytes());
        self.input.extend([0; 8]);
        Ok(())
    }

    /// Waits for something that the other side does.
    fn wait_for(
        &self,
        victim: &mut Victim,
        deadline: Instant,
        is_done: impl Fn(&Region<'c>) -> bool,
    ) -> Result<(), String> {
        loop {
            let ended = victim.ended();
            if is_done(self) {
                return Ok(());
            }
            if let Some(status) = ended {
                return Err(format!(
                    "the program has ended before it attached: {status}"
                ));
            }
            if Instant::now() >= deadline {
                return Err("the program has not attached in time".to_owned());
            }
            thread::sleep(MOMENT);
        }
    }

    /// After something wrong was written where the other side attaches: waits until it has given up. If it takes what it found, this side leaves.
    pub fn is_given_up(&mut self, victim: &mut Victim, deadline: Instant) -> bool {
        let peer = self.peer();
        while Instant::now() < deadline {
            let flags = self.number(peer + FLAGS);
            if victim.ended().is_some() || flags & (LEFT | DONE) != 0 {
                return true;
            }
            if self.number(peer + STATE) == 2 {
                if self.number(self.side() + VERDICT) == 0 {
                    self.set(self.side() + VERDICT, EQUAL);
                }
                self.wake();
                if self.number(peer + VERDICT) != 0 {
                    self.leave();
                }
            }
            thread::sleep(PAUSE);
        }
        false
    }

    /// The offset of this side, and of the other.
    fn side(&self) -> u64 {
        SIDES_AT[self.place]
    }

    pub fn peer(&self) -> u64 {
        SIDES_AT[1 - self.place]
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    pub fn number(&self, at: u64) -> u32 {
        self.shared.number(at).load(Acquire)
    }

    fn set(&self, at: u64, number: u32) {
        self.shared.number(at).store(number, Release);
    }

    fn long_number(&self, at: u64) -> u64 {
        self.shared.word(at).load(Acquire)
    }

    pub fn leave(&self) {
        let flags = self.shared.number(self.side() + FLAGS);
        flags.fetch_or(LEFT, AcqRel);
        self.wake();
    }

    /// Wakes the other side, whether it sleeps or not.
    fn wake(&self) {
        let flags = self.shared.number(self.peer() + FLAGS);
        flags.fetch_and(!ASLEEP, AcqRel);
        self.shared.wake(self.peer() + FLAGS);
    }

    /// The encoding of a message in the state, and where it leads.
    pub fn message(&self, position: usize) -> Option<(Encoding, Option<usize>)> {
        let node = &self.plan.nodes[self.position.node?];
        let edge = node.edges.get(position)?;
        let state = self.plan.state(node);
        let mut all = self.sizes.messages(state, &node.arguments);
        Some((all.nth(position)?, edge.next))
    }

    /// Whether each message that the same side may send next fits into this many bytes.
    fn fits(&self, next: usize, space: usize) -> bool {
        let node = &self.plan.nodes[next];
        let state = self.plan.state(node);
        let mut all = self.sizes.messages(state, &node.arguments);
        all.all(|encoding| encoding.size.most.is_some_and(|most| most <= space as u64))
    }

    /// Goes on after a message. `is_long`: it had lines of its own.
    fn advance(&mut self, next: Option<usize>, is_full: bool) {
        let sender = |node: usize| self.plan.nodes[node].sender;
        let turns = match (self.position.node, next) {
            (Some(from), Some(to)) => sender(from) != sender(to),
            _ => false,
        };
        self.position.node = next;
        if turns {
            self.position.begin_run();
        } else if is_full && next.is_some() {
            self.position.begin_line();
        }
    }

    /// Sends a message.
    pub fn send(&mut self, position: usize, payload: &[u8]) -> io::Result<()> {
        let wrong = || io::Error::other("the session has no such message");
        let (_, next) = self.message(position).ok_or_else(wrong)?;
        let from = self.position.node.ok_or_else(wrong)?;
        let goes_on =
            next.filter(|next| self.plan.nodes[*next].sender == self.plan.nodes[from].sender);
        if payload.len() > CELLS {
            return self.send_long(position, payload, next);
        }
        let at = self.position.line() + 8 + self.position.cells as u64;
        self.write_at(at, payload)?;
        let place = self.position.count;
        self.position.count += 1;
        self.position.cells += payload.len().next_multiple_of(8);
        let space = CELLS - self.position.cells;
        let is_full =
            goes_on.is_some_and(|next| self.position.count == 7 || !self.fits(next, space));
        let mut word = self.position.word & !(7 << COUNT_SHIFT);
        word |= self.position.count << COUNT_SHIFT | (position as u64) << (TAG_SHIFT + 8 * place);
        if is_full {
            word |= FULL;
        }
        self.position.word = word;
        self.publish(word);
        self.advance(next, is_full);
        Ok(())
    }

    fn send_long(
        &mut self,
        position: usize,
        payload: &[u8],
        next: Option<usize>,
    ) -> io::Result<()> {
        let taken = self.position.bytes - self.position.run_bytes;
        if taken + payload.len() as u64 + PART > BYTES {
            return Err(io::Error::other(
                "the messages of a run are too long for the region",
            ));
        }
        let mut left = payload;
        let whole = payload.len() as u64;
        while !left.is_empty() {
            let (at, space) = self.position.next_bytes();
            let (part, rest) = left.split_at(left.len().min(PART.min(space) as usize));
            self.write_at(at, part)?;
            let numbers = [(part.len() as u64).to_ne_bytes(), whole.to_ne_bytes()].concat();
            self.write_at(self.position.line() + 8, &numbers)?;
            let more = if rest.is_empty() { 0 } else { MORE };
            let word = 1 << COUNT_SHIFT | LONG | FULL | more | (position as u64) << TAG_SHIFT;
            self.publish(word | self.position.parity());
            self.position.add_bytes(part.len() as u64);
            if !rest.is_empty() {
                self.position.begin_line();
            }
            left = rest;
        }
        self.advance(next, true);
        Ok(())
    }

    fn publish(&self, word: u64) {
        self.shared.word(self.position.line()).store(word, Release);
        self.wake();
    }

    /// Reads the next message or part into `input`, as a frame; false if there is none.
    pub fn receive(&mut self) -> io::Result<bool> {
        let sender = self.position.node.map(|node| self.plan.nodes[node].sender);
        if self.is_spoiled || sender != Some(self.own.dual()) {
            return Ok(false);
        }
        let word = self.long_number(self.position.line());
        let count = word >> COUNT_SHIFT & 7;
        if word & 1 != self.position.parity() || count <= self.position.count {
            return Ok(false);
        }
        let wrong = |words: &str| Err(io::Error::other(words));
        let tag = word >> (TAG_SHIFT + 8 * self.position.count) & 0xff;
        let Some((encoding, next)) = self.message(tag as usize) else {
            return wrong("it has sent a message that its state does not have");
        };
        let mut payload = Vec::new();
        let mut is_full = word & FULL != 0 && count == self.position.count + 1;
        if word & LONG != 0 {
            is_full = true;
            if !self.receive_long(&mut payload)? {
                return wrong("it has not sent the rest of a long message");
            }
        } else {
            let mut cells = [0; CELLS];
            self.file
                .read_exact_at(&mut cells, self.position.line() + 8)?;
            let rest = &cells[self.position.cells..];
            let Some(node) = self.position.node.map(|node| &self.plan.nodes[node]) else {
                return wrong("it has sent something after the last message");
            };
            let entries = &self.plan.state(node).messages[tag as usize].entries;
            let length = payload_length(self.program, &self.sizes, entries, &node.arguments, rest);
            let Some(length) = length else {
                return wrong("it has sent a malformed payload");
            };
            payload.extend(&rest[..length]);
            self.position.count += 1;
            self.position.cells += length.next_multiple_of(8);
        }
        write_count(&mut self.input, tag + 1);
        if encoding.size.fixed().is_none() {
            write_count(&mut self.input, payload.len() as u64);
        }
        self.input.extend(payload);
        self.advance(next, is_full);
        self.report()?;
        Ok(true)
    }

    /// Says which lines and bytes are finished.
    fn report(&self) -> io::Result<()> {
        let side = self.side();
        let lines = self.position.lines - 1;
        self.write_at(side + LINES_FINISHED, &lines.to_ne_bytes())?;
        self.write_at(side + BYTES_FINISHED, &self.position.bytes.to_ne_bytes())?;
        self.wake();
        Ok(())
    }

    /// Reads all parts of a long message; false if no more come.
    fn receive_long(&mut self, payload: &mut Vec<u8>) -> io::Result<bool> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let word = self.long_number(self.position.line());
            if word & 1 != self.position.parity() || word >> COUNT_SHIFT & 7 == 0 {
                if Instant::now() >= deadline || self.is_gone() {
                    return Ok(false);
                }
                thread::sleep(MOMENT);
                continue;
            }
            let mut numbers = [0; 16];
            self.file
                .read_exact_at(&mut numbers, self.position.line() + 8)?;
            let mut part = [0; 8];
            part.copy_from_slice(&numbers[..8]);
            let part = u64::from_ne_bytes(part);
            let (at, space) = self.position.next_bytes();
            if part > space || payload.len() as u64 + part > ACCEPTED {
                return Ok(false);
            }
            let begin = payload.len();
            payload.resize(begin + part as usize, 0);
            self.file.read_exact_at(&mut payload[begin..], at)?;
            self.position.add_bytes(part);
            if word & MORE == 0 {
                return Ok(true);
            }
            self.position.begin_line();
            self.report()?;
        }
    }

    /// Whether the other side has left, or its process has ended.
    pub fn is_gone(&self) -> bool {
        let flags = self.number(self.peer() + FLAGS);
        flags & (LEFT | DONE) != 0 || !lock_is_held(&self.file, self.peer())
    }

    /// Does something to the region.
    pub fn poke(&mut self, poke: &Poke) -> io::Result<()> {
        match poke {
            Poke::Region(at, bytes) => self.write_at(*at, bytes)?,
            Poke::Own(at, bytes) => self.write_at(self.side() + at, bytes)?,
            Poke::Peer(at, bytes) => self.write_at(self.peer() + at, bytes)?,
            Poke::Cells(bytes) => self.write_at(self.position.line() + 8, bytes)?,
            Poke::Word(word) => {
                self.is_spoiled = true;
                self.publish(word | self.position.parity());
            }
            Poke::NextLine => {
                self.position.add_bytes(LINE);
                self.position.begin_line();
            }
            Poke::Anything(seed) => {
                self.is_spoiled = true;
                let mut bytes = Vec::new();
                let mut number = *seed;
                while (bytes.len() as u64) < LINES * LINE + BYTES / 16 {
                    // SplitMix64.
                    number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let mixed = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                    bytes.extend((mixed ^ mixed >> 31).to_ne_bytes());
                }
                self.write_at(HEAD, &bytes)?;
            }
            Poke::Message(position, payload) => self.send(*position, payload)?,
            Poke::Leave => self.leave(),
            Poke::Die => self.lock = None,
        }
        self.wake();
        Ok(())
    }
}
