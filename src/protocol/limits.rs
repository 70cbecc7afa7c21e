//! The limits of the language, in the order of the table in `docs/language.md`. How deeply brackets and comments nest is a number of the
//! grammar.

/// The most characters in a name: names become file names.
pub const NAME: usize = 100;

/// The most messages in a state.
pub const MESSAGES: usize = 256;

/// The most values of a message or variant, and fields of a struct. The Java virtual machine limits a method to 255 parameters, where 64-bit
/// numbers count twice, and the endpoints need some of them.
pub const VALUES: usize = 100;

/// The maximum depth of a payload type, counted through aliases, structs, enums and type arguments. rustc's recursion limit is
/// 128. Each list costs four levels (`Vec`, its buffer, its pointer, its item), and the text or number at the end costs a few.
pub const TYPE_DEPTH: u32 = 96;
/// How many levels a list counts as; everything else counts as one.
pub const LIST_DEPTH: u32 = 4;

/// How many parts one type argument may grow to by being passed on.
pub const ARGUMENT_PARTS: usize = 128;

/// How many versions the states of a protocol, or of the whole program, may have in total, beyond one for each state.
pub const MORE_VERSIONS: usize = 10_000;

/// How many rules the attributes of one declaration may name: each is checked for every finding inside the declaration.
pub const LEVELS: usize = 64;

/// The largest file, in bytes.
pub const FILE_SIZE: usize = 64 << 20;

/// How many older fingerprints a side can accept: as many as a connecting side can send, by `docs/wire.md`.
pub const ACCEPTED: usize = 16;
