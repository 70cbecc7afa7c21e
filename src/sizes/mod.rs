//! How many bytes encoded values take, and how much the limits of a protocol allow.

mod bounded;

use crate::protocol::{Builtin, Definition, Lengths, Message, Program, State, Type, TypeId};
use bounded::Bounded;

/// How many bytes of payload a line of a shared memory region holds. Longer payloads have lines of their own.
const LINE: u64 = 56;
/// The payloads of a line are divided into cells of this many bytes.
const CELL: u64 = 8;

/// The minimum and maximum number of bytes that encoded values take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The minimum.
    pub least: u64,
    /// The maximum; `None` if there is no bound, or none that is known.
    pub most: Option<u64>,
}

impl Size {
    /// The size of a type parameter without an argument.
    const UNKNOWN: Size = Size {
        least: 0,
        most: None,
    };

    /// The size of an enum without variants, which has no values.
    const NOTHING: Size = Size {
        least: u64::MAX,
        most: Some(0),
    };

    /// Always this many bytes.
    #[must_use]
    pub fn exactly(bytes: u64) -> Size {
        Size {
            least: bytes,
            most: Some(bytes),
        }
    }

    /// The size that all values have, if they have the same.
    #[must_use]
    pub fn fixed(self) -> Option<u64> {
        self.most.filter(|most| *most == self.least)
    }

    /// How many cells of a line the largest value takes. A value that may not fit in one line counts as a whole line.
    #[must_use]
    pub fn cells(self) -> u64 {
        let most = self.most.filter(|most| *most <= LINE);
        most.unwrap_or(LINE).div_ceil(CELL)
    }

    fn and(self, other: Size) -> Size {
        Size {
            least: self.least.saturating_add(other.least),
            most: self.most.and_then(|most| most.checked_add(other.most?)),
        }
    }

    fn or(self, other: Size) -> Size {
        Size {
            least: self.least.min(other.least),
            most: self.most.and_then(|most| Some(most.max(other.most?))),
        }
    }
}

/// How the values of a built-in type are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinEncoding {
    /// As a byte that is 0 or 1.
    Bool,
    /// As the bytes of an integer or a floating point number.
    Number,
    /// As a count, followed by that many bytes of UTF-8.
    Text,
    /// As a count, followed by that many bytes.
    Bytes,
}

impl BuiltinEncoding {
    /// How the values of a type are encoded.
    #[must_use]
    pub fn of(builtin: Builtin) -> BuiltinEncoding {
        match builtin.width() {
            _ if builtin == Builtin::Bool => BuiltinEncoding::Bool,
            Some(_) => BuiltinEncoding::Number,
            None if builtin == Builtin::Str => BuiltinEncoding::Text,
            None => BuiltinEncoding::Bytes,
        }
    }
}

/// How a message is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Its position among the messages of its state.
    pub tag: u8,
    /// The size of its payload as far as it follows from the types. Bounds do not count: what is written before a payload
    /// depends on this size, and two versions with different bounds have to agree on it.
    pub size: Size,
    /// The largest payload that `at_most` and the bounds of its types allow, if that is less than the types do.
    pub limit: Option<u64>,
    /// Whether every entry is an integer or a floating point number. On a little-endian machine its bytes are then those in memory.
    pub is_numbers: bool,
}

/// The sizes of all types of a program.
#[derive(Debug)]
pub struct Sizes {
    /// For each declared type, what its values take.
    declared: Vec<Size>,
    /// For each declared type, whether it is another name for a number.
    numbers: Vec<bool>,
    bounded: Bounded,
}

impl Sizes {
    /// Computes the size of each declared type once. Types in a cycle by value, which only an unchecked program has, get any size.
    #[must_use]
    pub fn of(program: &Program) -> Sizes {
        let count = program.types.len();
        let mut sizes = Sizes {
            declared: vec![Size::UNKNOWN; count],
            numbers: vec![false; count],
            bounded: Bounded::default(),
        };
        let held = |id: TypeId| {
            let mut held = Vec::new();
            for part in program.ty(id).definition.parts() {
                held_by_value(part, &mut |part| held.push(part));
            }
            held
        };
        for id in program.parts_first(&held) {
            let (size, is_number) = sizes.of_definition(&program.ty(id).definition);
            sizes.declared[id.index()] = size;
            sizes.numbers[id.index()] = is_number;
        }
        sizes.bounded = Bounded::of(program);
        sizes
    }

    /// Whether there is a bound in a type, or in an alias that is written in it. Bounds in structs and enums do not count.
    #[must_use]
    pub fn is_bounded(&self, ty: &Type, lengths: &Lengths) -> bool {
        self.bounded.is_bounded(ty, lengths)
    }

    /// Whether there is a bound in any declared type of the program.
    #[must_use]
    pub fn has_bounds(&self) -> bool {
        self.bounded.has_any()
    }

    /// The size of a type's values. Type parameters have an unknown size.
    #[must_use]
    pub fn of_type(&self, ty: &Type) -> Size {
        self.with_arguments(ty, &[])
    }

    /// Whether values are integers or floating point numbers.
    #[must_use]
    pub fn is_number(&self, ty: &Type) -> bool {
        self.is_number_with(ty, &[])
    }

    fn is_number_with(&self, ty: &Type, arguments: &[Type]) -> bool {
        match ty {
            Type::Builtin(builtin) => BuiltinEncoding::of(*builtin) == BuiltinEncoding::Number,
            Type::Named(id) => self.numbers[id.index()],
            Type::Parameter(index) => {
                let argument = arguments.get(*index as usize);
                argument.is_some_and(|argument| self.is_number(argument))
            }
            Type::List(_) | Type::Option(_) | Type::Tuple(_) | Type::Endpoint(_) | Type::Error => {
                false
            }
        }
    }

    /// The encodings of a state's messages, in the order of their tags. `arguments` are those of the state's type parameters; without
    /// them, the sizes of parameters are unknown.
    pub fn messages<'s>(
        &'s self,
        state: &'s State,
        arguments: &'s [Type],
    ) -> impl Iterator<Item = Encoding> + 's {
        let tagged = (0..=u8::MAX).zip(&state.messages);
        tagged.map(|(tag, message)| self.message(tag, message, arguments))
    }

    fn message(&self, tag: u8, message: &Message, arguments: &[Type]) -> Encoding {
        let mut encoding = Encoding {
            tag,
            size: Size::exactly(0),
            limit: None,
            is_numbers: true,
        };
        let mut largest = Some(0);
        for entry in &message.entries {
            let size = self.with_arguments(&entry.ty, arguments);
            encoding.size = encoding.size.and(size);
            encoding.is_numbers &= self.is_number_with(&entry.ty, arguments);
            let most = self.bounded.most(&entry.ty, &entry.lengths, arguments);
            largest = plus(largest, most);
        }
        let at_most = message.at_most.map(|limit| limit.most);
        let limit = [largest, at_most].into_iter().flatten().min();
        let is_less = |limit: &u64| encoding.size.most.is_none_or(|most| *limit < most);
        encoding.limit = limit.filter(is_less);
        encoding
    }

    /// Recurses as deeply as the type is written.
    fn with_arguments(&self, ty: &Type, arguments: &[Type]) -> Size {
        match ty {
            Type::Builtin(builtin) => of_builtin(*builtin),
            Type::List(_) => COUNTED,
            Type::Option(item) => {
                let item = self.with_arguments(item, arguments);
                Size {
                    least: 1,
                    most: Size::exactly(1).and(item).most,
                }
            }
            Type::Tuple(items) => self.all(items, arguments),
            Type::Named(id) => self.declared[id.index()],
            Type::Parameter(index) => {
                let argument = arguments.get(*index as usize);
                argument.map_or(Size::UNKNOWN, |argument| self.of_type(argument))
            }
            // An obstacle: it has no encoding.
            Type::Endpoint(_) | Type::Error => Size::UNKNOWN,
        }
    }

    fn all<'t>(&self, types: impl IntoIterator<Item = &'t Type>, arguments: &[Type]) -> Size {
        let sizes = types.into_iter();
        let sizes = sizes.map(|ty| self.with_arguments(ty, arguments));
        sizes.fold(Size::exactly(0), Size::and)
    }

    /// The size of a declared type, and whether it is another name for a number; those of its parts are known.
    fn of_definition(&self, definition: &Definition) -> (Size, bool) {
        match definition {
            Definition::Alias(ty) => (self.of_type(ty), self.is_number(ty)),
            Definition::Struct(fields) => {
                (self.all(fields.iter().map(|field| &field.ty), &[]), false)
            }
            Definition::Enum(variants) => {
                let sizes = variants.iter().enumerate().map(|(position, variant)| {
                    let entries = variant.entries.iter().map(|entry| &entry.ty);
                    of_variant(position).and(self.all(entries, &[]))
                });
                (sizes.fold(Size::NOTHING, Size::or), false)
            }
            // An obstacle: it has no encoding.
            Definition::Extern(..) => (Size::UNKNOWN, false),
        }
    }
}

/// The size of a value that begins with a count.
const COUNTED: Size = Size {
    least: 1,
    most: None,
};

/// The sum, if both are known and it fits.
fn plus(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one?.checked_add(other?)
}

fn of_builtin(builtin: Builtin) -> Size {
    let width = builtin.width();
    width.map_or(COUNTED, |width| Size::exactly(width as u64))
}

/// The size of the count with which an enum's value begins.
fn of_variant(position: usize) -> Size {
    Size::exactly(of_count(position as u64))
}

/// The size of a count: seven bits per byte.
#[must_use]
pub fn of_count(count: u64) -> u64 {
    let bits = (u64::BITS - count.leading_zeros()).max(1);
    u64::from(bits.div_ceil(7))
}

/// Calls `visit` for each declared type that a value consists of. The items of lists do not matter to its size.
fn held_by_value(ty: &Type, visit: &mut impl FnMut(TypeId)) {
    match ty {
        Type::Named(id) => visit(*id),
        Type::Option(item) => held_by_value(item, visit),
        Type::Tuple(items) => items.iter().for_each(|item| held_by_value(item, visit)),
        Type::Builtin(_) | Type::List(_) | Type::Parameter(_) | Type::Endpoint(_) | Type::Error => {
        }
    }
}
