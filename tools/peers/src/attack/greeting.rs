//! What can be wrong about the first bytes of either side: a hello, or the answer to one.

use super::{Case, Expected, Kind, LEAVE};

/// Where the parts that both have begin.
pub const LENGTH: usize = 10;
pub const REST: usize = 12;
pub const LARGEST: usize = 28;

/// The cases of a hello or an answer.
pub struct Greeting<'g> {
    /// One with which a session begins.
    right: &'g [u8],
    /// What it is called.
    what: &'static str,
    cases: Vec<Case>,
}

impl<'g> Greeting<'g> {
    /// Cases that begin with those of another format.
    pub fn new(right: &'g [u8], what: &'static str, wrong: Expected) -> Greeting<'g> {
        let cases = Vec::new();
        let mut greeting = Greeting { right, what, cases };
        for (at, byte) in right.iter().enumerate().take(8) {
            let name = format!("byte {at} of the magic is wrong");
            greeting.change(at, &[byte ^ 0x20], name, wrong);
        }
        greeting.add("64 bytes of 255", [255; 64], wrong);
        greeting
    }

    pub fn add(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>, expected: Expected) {
        let case = Case::new(Kind::Hello, name, bytes, expected);
        self.cases.push(case);
    }

    /// The right bytes with others from `at` on.
    pub fn changed(&self, at: usize, with: &[u8]) -> Vec<u8> {
        let mut changed = self.right.to_vec();
        changed[at..at + with.len()].copy_from_slice(with);
        changed
    }

    pub fn change(&mut self, at: usize, with: &[u8], name: impl Into<String>, expected: Expected) {
        self.add(name, self.changed(at, with), expected);
    }

    /// Limits for payloads that are too small.
    pub fn limits(&mut self, expected: Expected) {
        for largest in [0_u32, 1_023] {
            let name = format!("a limit of {largest} for payloads");
            self.change(LARGEST, &largest.to_le_bytes(), name, expected);
        }
    }

    /// Another fingerprint.
    pub fn fingerprint(&mut self, name: &str, expected: Expected) {
        let other = self.right[REST..LARGEST].iter().map(|byte| !byte);
        self.change(REST, &other.collect::<Vec<_>>(), name, expected);
    }

    /// All cases, with those that are right: `slow`, of which each byte is sent alone, and one that leaves at once.
    pub fn finish(mut self, slow: Vec<u8>, expected: Expected) -> Vec<Case> {
        let what = self.what;
        for length in 0..self.right.len() {
            let name = format!("{what} that ends after {length} bytes");
            self.cases.push(Case::cut(name, &self.right[..length]));
        }
        let name = format!("{what} of which each byte is sent alone");
        let mut slow = Case::new(Kind::Legal, name, slow, expected);
        slow.is_slow = true;
        let name = format!("{what}, and in the same write the end of its session");
        let both = [self.right, &LEAVE].concat();
        let both = Case::new(Kind::Legal, name, both, expected);
        self.cases.extend([slow, both]);
        self.cases
    }
}

/// Nothing, and the first half, after which nothing comes.
pub fn silence(right: &[u8], names: [&str; 2], expected: Expected) -> [Case; 2] {
    let [none, half] = names;
    [(none, 0), (half, right.len() / 2)]
        .map(|(name, end)| Case::new(Kind::Silence, name, &right[..end], expected))
}
