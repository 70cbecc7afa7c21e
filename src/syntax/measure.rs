//! The numbers of a text: limits of sizes and durations in attributes, and bounds in types.

/// What a number says, and how it is written.
#[derive(Debug)]
pub struct Measure {
    /// What the number is called.
    pub what: &'static str,
    /// How it is written.
    pub write: &'static str,
    /// What closes the brackets around it.
    pub closing: char,
    /// What is wrong with a unit, if none is allowed.
    pub no_unit: Option<&'static str>,
    /// The units, each with its size in the first one.
    pub units: &'static [(&'static str, u64)],
    /// What is between a number and its unit.
    pub gap: &'static str,
    /// Which units there are.
    pub note: &'static str,
    /// What a number without a unit may count, with the unit.
    pub guesses: &'static [(&'static str, &'static str)],
    /// Other words for units, each with a unit and how many of it.
    pub spellings: &'static [(&'static str, &'static str, u64)],
    /// The largest number, in the first unit.
    pub most: u64,
    /// What is wrong with 0: message, note and help.
    pub zero: [&'static str; 3],
    /// What is wrong with more than the largest number.
    pub too_large: [&'static str; 3],
}

impl Measure {
    /// The size of a unit in the first one.
    pub fn unit(&self, word: &str) -> Option<u64> {
        let unit = self.units.iter().find(|(unit, _)| *unit == word)?;
        Some(unit.1)
    }
}

/// How the arguments of other attributes are written.
pub const ARGUMENTS: &str = "write `#[allow(rule-name)]` or `#[dual_of(protocol)]`";

/// The number of `#[at_most(...)]`.
pub const SIZE: Measure = Measure {
    what: "size",
    write: "write a whole number and a unit, such as `#[at_most(64 KiB)]`",
    closing: ')',
    no_unit: None,
    units: &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20)],
    gap: " ",
    note: "the units of sizes are `B`, `KiB` (1,024 bytes) and `MiB`",
    guesses: &[("bytes", "B")],
    spellings: &[
        ("b byte bytes", "B", 1),
        ("k kb kib", "KiB", 1),
        ("m mb mib", "MiB", 1),
        ("g gb gib", "MiB", 1 << 10),
    ],
    most: u64::MAX,
    zero: [
        "a limit of 0 bytes allows no payload",
        "a message without a payload needs no limit",
        "write a larger size, or remove the attribute",
    ],
    too_large: [
        "this size does not fit in 64 bits",
        "without the attribute, the size is not limited",
        "write a smaller size, or remove the attribute",
    ],
};

/// The number of `#[within(...)]`. Every runtime can represent the longest duration.
pub const DURATION: Measure = Measure {
    what: "duration",
    write: "write a whole number and a unit, such as `#[within(5s)]`",
    closing: ')',
    no_unit: None,
    units: &[("ms", 1), ("s", 1000), ("min", 60_000), ("h", 3_600_000)],
    gap: "",
    note: "the units of durations are `ms`, `s`, `min` and `h`",
    guesses: &[("seconds", "s"), ("milliseconds", "ms")],
    spellings: &[
        ("ms msec msecs millis millisecond milliseconds", "ms", 1),
        ("s sec secs second seconds", "s", 1),
        ("m min mins minute minutes", "min", 1),
        ("h hr hrs hour hours", "h", 1),
        ("d day days", "h", 24),
    ],
    most: 24 * 3_600_000,
    zero: [
        "nothing can be sent within a duration of 0",
        "without the attribute, a side waits indefinitely",
        "write a longer duration, or remove the attribute",
    ],
    too_large: [
        "this duration is longer than 24 hours",
        "without the attribute, a side waits indefinitely",
        "write at most `24h`, or remove the attribute",
    ],
};

/// The bound of a list.
pub const ITEMS: Measure = Measure {
    write: "write the largest number of items, such as `[u32; 1000]`",
    closing: ']',
    no_unit: Some("the bound of a list is a number of items, without a unit"),
    ..SIZE
};

/// The bound of `str` or `bytes`.
pub const BYTES: Measure = Measure {
    write: "write the largest number of bytes, such as `str<255>`",
    closing: '>',
    no_unit: Some("the bound of a type is a number of bytes, without a unit"),
    ..SIZE
};
