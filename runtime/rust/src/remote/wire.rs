//! How values travel between processes: `docs/wire.md`, "Payloads".

use super::decoder::{Decoder, Malformed};
use super::encoder::Encoder;

/// The least and the largest number of bytes that encoded values of a type take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// The least.
    pub least: usize,
    /// The largest; `None` if there is no bound.
    pub most: Option<usize>,
}

impl Size {
    /// Values that begin with a count.
    pub const COUNTED: Size = Size {
        least: 1,
        most: None,
    };
    /// An enum without variants, which has no values.
    pub const NEVER: Size = Size {
        least: usize::MAX,
        most: Some(0),
    };

    /// Always this many bytes.
    #[must_use]
    pub const fn exactly(bytes: usize) -> Size {
        Size {
            least: bytes,
            most: Some(bytes),
        }
    }

    /// One value after another.
    #[must_use]
    pub const fn and(self, other: Size) -> Size {
        Size {
            least: self.least.saturating_add(other.least),
            most: match (self.most, other.most) {
                (Some(one), Some(two)) => one.checked_add(two),
                (Some(_) | None, _) => None,
            },
        }
    }

    /// One value or another.
    #[must_use]
    pub const fn or(self, other: Size) -> Size {
        Size {
            least: if self.least < other.least {
                self.least
            } else {
                other.least
            },
            most: match (self.most, other.most) {
                (Some(one), Some(two)) => Some(if one > two { one } else { two }),
                (Some(_) | None, _) => None,
            },
        }
    }

    /// The position of an enum's variant, which precedes its entries.
    #[must_use]
    pub const fn variant(position: u32) -> Size {
        let bits = (u32::BITS - position.leading_zeros()) as usize;
        Size::exactly(if bits == 0 { 1 } else { bits.div_ceil(7) })
    }

    /// The number of bytes of every value, if all have the same.
    #[must_use]
    pub const fn fixed(self) -> Option<usize> {
        match self.most {
            Some(most) if most == self.least => Some(most),
            Some(_) | None => None,
        }
    }

    /// Whether some value takes this many bytes.
    #[must_use]
    pub fn admits(self, bytes: usize) -> bool {
        self.least <= bytes && self.most.is_none_or(|most| bytes <= most)
    }
}

/// A type whose values can travel between processes.
///
/// The runtime implements it for numbers, `bool`, `String`, `Vec`, `Option` and tuples. `duologue gen --remote`
/// implements it for the structs and enums that protocols declare.
pub trait Wire: Sized {
    /// How many bytes values take.
    const SIZE: Size;

    /// Appends the value.
    fn put(&self, out: &mut Encoder);

    /// Reads a value, from a peer that is not trusted.
    fn get(from: &mut Decoder<'_>) -> Result<Self, Malformed>;

    /// Appends the values of a list.
    #[doc(hidden)]
    #[inline]
    fn put_all(items: &[Self], out: &mut Encoder) {
        for item in items {
            item.put(out);
        }
    }

    /// Reads the values of a list. The caller has checked their number.
    #[doc(hidden)]
    #[inline]
    fn get_all(count: usize, from: &mut Decoder<'_>) -> Result<Vec<Self>, Malformed> {
        from.list(count, Self::get)
    }
}

macro_rules! numbers {
    ($($number:ident),*) => {$(
        impl Wire for $number {
            const SIZE: Size = Size::exactly(size_of::<$number>());

            #[inline]
            fn put(&self, out: &mut Encoder) {
                out.put(&self.to_le_bytes());
            }

            #[inline]
            fn get(from: &mut Decoder<'_>) -> Result<$number, Malformed> {
                Ok($number::from_le_bytes(from.array()?))
            }
        }
    )*};
}

numbers!(u16, u32, u64, i8, i16, i32, i64, f32, f64);

impl Wire for u8 {
    const SIZE: Size = Size::exactly(1);

    #[inline]
    fn put(&self, out: &mut Encoder) {
        out.put(&[*self]);
    }

    #[inline]
    fn get(from: &mut Decoder<'_>) -> Result<u8, Malformed> {
        let [byte] = from.array()?;
        Ok(byte)
    }

    fn put_all(items: &[u8], out: &mut Encoder) {
        out.put(items);
    }

    fn get_all(count: usize, from: &mut Decoder<'_>) -> Result<Vec<u8>, Malformed> {
        Ok(from.take(count)?.to_vec())
    }
}

impl Wire for bool {
    const SIZE: Size = Size::exactly(1);

    #[inline]
    fn put(&self, out: &mut Encoder) {
        out.put(&[u8::from(*self)]);
    }

    #[inline]
    fn get(from: &mut Decoder<'_>) -> Result<bool, Malformed> {
        match from.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [_] => Err(Malformed("a `bool` is neither 0 nor 1")),
        }
    }
}

impl Wire for String {
    const SIZE: Size = Size::COUNTED;

    fn put(&self, out: &mut Encoder) {
        out.count(self.len() as u64);
        out.put(self.as_bytes());
    }

    fn get(from: &mut Decoder<'_>) -> Result<String, Malformed> {
        let count = from.items(1, 1)?;
        let text = std::str::from_utf8(from.take(count)?);
        text.map(str::to_owned)
            .map_err(|_| Malformed("text is not UTF-8"))
    }
}

impl<T: Wire> Wire for Vec<T> {
    const SIZE: Size = Size::COUNTED;

    fn put(&self, out: &mut Encoder) {
        out.count(self.len() as u64);
        out.nested(|out| T::put_all(self, out));
    }

    fn get(from: &mut Decoder<'_>) -> Result<Vec<T>, Malformed> {
        let count = from.items(T::SIZE.least, size_of::<T>())?;
        from.nested(|from| T::get_all(count, from))
    }
}

impl<T: Wire> Wire for Option<T> {
    const SIZE: Size = Size::exactly(1).or(Size::exactly(1).and(T::SIZE));

    fn put(&self, out: &mut Encoder) {
        out.put(&[u8::from(self.is_some())]);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn get(from: &mut Decoder<'_>) -> Result<Option<T>, Malformed> {
        match from.array()? {
            [0] => Ok(None),
            [1] => T::get(from).map(Some),
            [_] => Err(Malformed("an option begins with neither 0 nor 1")),
        }
    }
}

impl Wire for () {
    const SIZE: Size = Size::exactly(0);

    #[inline]
    fn put(&self, _: &mut Encoder) {}

    #[inline]
    fn get(_: &mut Decoder<'_>) -> Result<(), Malformed> {
        Ok(())
    }
}

macro_rules! tuples {
    () => {};
    ($first:ident $($rest:ident)*) => {
        impl<$first: Wire, $($rest: Wire),*> Wire for ($first, $($rest,)*) {
            const SIZE: Size = $first::SIZE$(.and($rest::SIZE))*;

            #[inline]
            fn put(&self, out: &mut Encoder) {
                #[allow(non_snake_case)]
                let ($first, $($rest,)*) = self;
                $first.put(out);
                $($rest.put(out);)*
            }

            #[inline]
            fn get(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
                Ok(($first::get(from)?, $($rest::get(from)?,)*))
            }
        }
        tuples!($($rest)*);
    };
}

// A message has at most 100 values.
tuples!(
    T0 T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 T15 T16 T17 T18 T19 T20 T21 T22 T23 T24 T25 T26 T27 T28 T29
    T30 T31 T32 T33 T34 T35 T36 T37 T38 T39 T40 T41 T42 T43 T44 T45 T46 T47 T48 T49 T50 T51 T52 T53 T54 T55 T56 T57
    T58 T59 T60 T61 T62 T63 T64 T65 T66 T67 T68 T69 T70 T71 T72 T73 T74 T75 T76 T77 T78 T79 T80 T81 T82 T83 T84 T85
    T86 T87 T88 T89 T90 T91 T92 T93 T94 T95 T96 T97 T98 T99
);
