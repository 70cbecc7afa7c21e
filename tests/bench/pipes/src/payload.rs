//! The payloads: numbers, small blocks, and a struct that owns a string.

/// A value made from a number. The receiver computes a number from it and adds it up.
pub trait Payload: Send + 'static {
    /// Its name in tables.
    const NAME: &'static str;

    /// The value that carries number `n`.
    fn make(n: u64) -> Self;

    /// Consumes and reads the whole value.
    fn read(self) -> u64;

    /// The wrapping sum of the first `count` values.
    fn sum(count: u64) -> u64;
}

/// The wrapping sum of the numbers below `count`.
pub fn triangle(count: u64) -> u64 {
    let (even, odd) = if count.is_multiple_of(2) {
        (count / 2, count.wrapping_sub(1))
    } else {
        ((count - 1) / 2, count)
    };
    even.wrapping_mul(odd)
}

impl Payload for u64 {
    const NAME: &'static str = "u64";

    fn make(n: u64) -> u64 {
        n
    }

    fn read(self) -> u64 {
        self
    }

    fn sum(count: u64) -> u64 {
        triangle(count)
    }
}

/// A block of `WORDS` words.
pub struct Block<const WORDS: usize>(pub [u64; WORDS]);

impl<const WORDS: usize> Payload for Block<WORDS> {
    const NAME: &'static str = match WORDS {
        3 => "24 bytes",
        7 => "56 bytes",
        _ => "block",
    };

    fn make(n: u64) -> Self {
        Block([n; WORDS])
    }

    fn read(self) -> u64 {
        self.0.iter().fold(0, |sum, word| word.wrapping_add(sum))
    }

    fn sum(count: u64) -> u64 {
        triangle(count).wrapping_mul(WORDS as u64)
    }
}

/// Three fields, one of which owns memory: the sender allocates, the receiver frees.
pub struct Record {
    id: u64,
    count: u32,
    name: String,
}

const WORDS: &str = "a name of usual length";

impl Payload for Record {
    const NAME: &'static str = "struct with String";

    fn make(n: u64) -> Record {
        Record {
            id: n,
            count: 1,
            name: WORDS.to_owned(),
        }
    }

    fn read(self) -> u64 {
        let length = self.name.len() as u64;
        self.id.wrapping_add(u64::from(self.count) * length)
    }

    fn sum(count: u64) -> u64 {
        triangle(count).wrapping_add(count.wrapping_mul(WORDS.len() as u64))
    }
}
