//! Where a robot's decisions come from.

/// The decisions of robots, as a string of bytes: which messages they send, with which values, and when they leave.
///
/// The same bytes make the same sessions, in every language. Fewer and smaller bytes make shorter sessions with simpler values, so
/// whatever shrinks a list of bytes shrinks a session.
#[derive(Clone, Debug)]
pub struct Choices(Source);

#[derive(Clone, Debug)]
enum Source {
    Bytes {
        bytes: Vec<u8>,
        at: usize,
    },
    Seed {
        state: u64,
        word: [u8; 8],
        left: usize,
    },
    Covering,
}

impl Choices {
    /// These bytes. When none are left, robots take the shortest way to the end of the session.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Choices {
        let bytes = bytes.into();
        Choices(Source::Bytes { bytes, at: 0 })
    }

    /// An endless stream of bytes that follows from the seed.
    pub fn seed(seed: u64) -> Choices {
        Choices(Source::Seed {
            state: seed,
            word: [0; 8],
            left: 0,
        })
    }

    /// Always towards the nearest transition that has not been seen, and to the end if there is none.
    pub fn covering() -> Choices {
        Choices(Source::Covering)
    }

    /// The next byte; `None` if none are left.
    pub(crate) fn next(&mut self) -> Option<u8> {
        match &mut self.0 {
            Source::Bytes { bytes, at } => {
                let byte = bytes.get(*at).copied();
                *at += usize::from(byte.is_some());
                byte
            }
            Source::Seed { state, word, left } => {
                if *left == 0 {
                    *word = split_mix(state).to_le_bytes();
                    *left = 8;
                }
                *left -= 1;
                Some(word[7 - *left])
            }
            Source::Covering => Some(1),
        }
    }

    /// The next byte, or 0 if none are left.
    pub(crate) fn byte(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }
}

/// SplitMix64, by Steele, Lea and Flood (2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
