//! How values travel between processes: `docs/wire.md`, "Payloads".
//!
//! Values with bounds travel like any others, but values that exceed their bound are neither sent nor accepted. A bound is
//! not part of the type of a value. So a [`Coding`] is chosen where the value is used: for a field, a payload, an item.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use crate::ring::driver::Why;

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

/// A way to encode values of type `T`, all with the same format.
pub trait Coding<T> {
    /// Appends the value. If it is longer than its bound, the message is not sent.
    fn put(value: &T, out: &mut Encoder);

    /// Reads a value, from a peer that is not trusted.
    fn get(from: &mut Decoder<'_>) -> Result<T, Malformed>;

    /// Appends the values of a list.
    #[doc(hidden)]
    fn put_all(items: &[T], out: &mut Encoder) {
        for item in items {
            Self::put(item, out);
        }
    }

    /// Reads the values of a list. The caller has checked their number.
    #[doc(hidden)]
    fn get_all(count: usize, from: &mut Decoder<'_>) -> Result<Vec<T>, Malformed> {
        from.list(count, Self::get)
    }
}

/// Without bounds.
pub enum Plain {}

impl<T: Wire> Coding<T> for Plain {
    #[inline]
    fn put(value: &T, out: &mut Encoder) {
        value.put(out);
    }

    #[inline]
    fn get(from: &mut Decoder<'_>) -> Result<T, Malformed> {
        T::get(from)
    }

    fn put_all(items: &[T], out: &mut Encoder) {
        T::put_all(items, out);
    }

    fn get_all(count: usize, from: &mut Decoder<'_>) -> Result<Vec<T>, Malformed> {
        T::get_all(count, from)
    }
}

/// Text of at most `MOST` bytes, or a list of at most `MOST` items, each encoded as `C` says.
pub struct AtMost<const MOST: u64, C = Plain>(PhantomData<C>);

/// A list of any length whose items have bounds.
pub type Each<C> = AtMost<{ u64::MAX }, C>;

impl<const MOST: u64> Coding<String> for AtMost<MOST> {
    fn put(value: &String, out: &mut Encoder) {
        out.count_at_most(MOST, value.len());
        out.put(value.as_bytes());
    }

    fn get(from: &mut Decoder<'_>) -> Result<String, Malformed> {
        let count = from.items_at_most(MOST, 1, 1)?;
        let text = std::str::from_utf8(from.take(count)?);
        text.map(str::to_owned)
            .map_err(|_| Malformed("text is not UTF-8"))
    }
}

impl<const MOST: u64, T: Wire, C: Coding<T>> Coding<Vec<T>> for AtMost<MOST, C> {
    fn put(value: &Vec<T>, out: &mut Encoder) {
        out.count_at_most(MOST, value.len());
        out.nested(|out| C::put_all(value, out));
    }

    fn get(from: &mut Decoder<'_>) -> Result<Vec<T>, Malformed> {
        let count = from.items_at_most(MOST, T::SIZE.least, size_of::<T>())?;
        from.nested(|from| C::get_all(count, from))
    }
}

/// An option whose value has a bound.
pub struct Maybe<C>(PhantomData<C>);

impl<T, C: Coding<T>> Coding<Option<T>> for Maybe<C> {
    fn put(value: &Option<T>, out: &mut Encoder) {
        out.put(&[u8::from(value.is_some())]);
        if let Some(value) = value {
            C::put(value, out);
        }
    }

    fn get(from: &mut Decoder<'_>) -> Result<Option<T>, Malformed> {
        match from.array()? {
            [0] => Ok(None),
            [1] => C::get(from).map(Some),
            [_] => Err(Malformed("an option begins with neither 0 nor 1")),
        }
    }
}

macro_rules! tuples {
    () => {};
    ($first:ident $first_coding:ident $($ty:ident $coding:ident)*) => {
        impl<$first: Wire, $($ty: Wire),*> Wire for ($first, $($ty,)*) {
            const SIZE: Size = $first::SIZE$(.and($ty::SIZE))*;

            #[inline]
            fn put(&self, out: &mut Encoder) {
                #[allow(non_snake_case)]
                let ($first, $($ty,)*) = self;
                $first.put(out);
                $($ty.put(out);)*
            }

            #[inline]
            fn get(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
                Ok(($first::get(from)?, $($ty::get(from)?,)*))
            }
        }

        impl<$first, $first_coding, $($ty, $coding),*> Coding<($first, $($ty,)*)> for ($first_coding, $($coding,)*)
        where
            $first_coding: Coding<$first>,
            $($coding: Coding<$ty>,)*
        {
            #[inline]
            fn put(value: &($first, $($ty,)*), out: &mut Encoder) {
                #[allow(non_snake_case)]
                let ($first, $($ty,)*) = value;
                $first_coding::put($first, out);
                $($coding::put($ty, out);)*
            }

            #[inline]
            fn get(from: &mut Decoder<'_>) -> Result<($first, $($ty,)*), Malformed> {
                Ok(($first_coding::get(from)?, $($coding::get(from)?,)*))
            }
        }

        tuples!($($ty $coding)*);
    };
}

// A message has at most 100 values.
tuples!(
    T0 C0 T1 C1 T2 C2 T3 C3 T4 C4 T5 C5 T6 C6 T7 C7 T8 C8 T9 C9
    T10 C10 T11 C11 T12 C12 T13 C13 T14 C14 T15 C15 T16 C16 T17 C17 T18 C18 T19 C19
    T20 C20 T21 C21 T22 C22 T23 C23 T24 C24 T25 C25 T26 C26 T27 C27 T28 C28 T29 C29
    T30 C30 T31 C31 T32 C32 T33 C33 T34 C34 T35 C35 T36 C36 T37 C37 T38 C38 T39 C39
    T40 C40 T41 C41 T42 C42 T43 C43 T44 C44 T45 C45 T46 C46 T47 C47 T48 C48 T49 C49
    T50 C50 T51 C51 T52 C52 T53 C53 T54 C54 T55 C55 T56 C56 T57 C57 T58 C58 T59 C59
    T60 C60 T61 C61 T62 C62 T63 C63 T64 C64 T65 C65 T66 C66 T67 C67 T68 C68 T69 C69
    T70 C70 T71 C71 T72 C72 T73 C73 T74 C74 T75 C75 T76 C76 T77 C77 T78 C78 T79 C79
    T80 C80 T81 C81 T82 C82 T83 C83 T84 C84 T85 C85 T86 C86 T87 C87 T88 C88 T89 C89
    T90 C90 T91 C91 T92 C92 T93 C93 T94 C94 T95 C95 T96 C96 T97 C97 T98 C98 T99 C99
);

/// How deeply lists may be nested, so that neither side recurses without a limit.
pub(crate) const DEEPEST: u32 = 256;

/// Collects encoded values. It keeps its memory, so that encoding allocates nothing once it has grown.
#[derive(Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    /// How many frames were appended, modulo 2^64.
    frames: u64,
    /// How many lists enclose the value that is encoded next.
    depth: u32,
    /// Whether a list was nested too deeply to be sent, or a value is longer than its bound.
    is_refused: bool,
}

impl Encoder {
    /// An encoder without any bytes. Allocates nothing yet.
    #[must_use]
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// What was encoded since the last [`clear`](Encoder::clear).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends these bytes as they are.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a count: seven bits per byte, the low ones first.
    #[inline]
    pub fn count(&mut self, mut count: u64) {
        while count >= 128 {
            self.bytes.push(count as u8 | 128);
            count >>= 7;
        }
        self.bytes.push(count as u8);
    }

    /// Appends the count of a value that may have at most `most` items. If it has more, the message is not sent.
    #[inline]
    pub(crate) fn count_at_most(&mut self, most: u64, count: usize) {
        let count = count as u64;
        self.is_refused |= count > most;
        self.count(count);
    }

    /// Forgets the bytes and keeps their memory, unless that is more than `keep` bytes.
    pub fn clear(&mut self, keep: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(keep);
    }

    /// How many bytes of memory it has.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets the first `count` bytes. There are at least that many.
    pub fn forget(&mut self, count: usize) {
        drop(self.bytes.drain(..count));
    }

    /// How many frames were appended since this encoder was made.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Appends a frame, which `put` encodes, and whose payload takes as many bytes as `put` returns. Appends nothing and
    /// returns false if that is more than `largest`, or if the payload has lists that are nested too deeply or a value
    /// that is longer than its bound.
    #[inline]
    pub(crate) fn framed(
        &mut self,
        largest: usize,
        put: impl FnOnce(&mut Encoder) -> usize,
    ) -> bool {
        let start = self.bytes.len();
        let length = put(self);
        if length > largest || self.is_refused {
            self.bytes.truncate(start);
            self.is_refused = false;
            return false;
        }
        self.frames = self.frames.wrapping_add(1);
        true
    }

    /// Encodes the items of a list.
    #[inline]
    pub(crate) fn nested(&mut self, put: impl FnOnce(&mut Encoder)) {
        if self.depth == DEEPEST {
            self.is_refused = true;
            return;
        }
        self.depth += 1;
        put(self);
        self.depth -= 1;
    }

    /// Appends a value preceded by the number of its bytes, which is returned.
    pub(crate) fn counted(&mut self, put: impl FnOnce(&mut Encoder)) -> usize {
        let start = self.bytes.len();
        // Most values take less than 128 bytes, so their count takes one.
        self.bytes.push(0);
        put(self);
        let length = self.bytes.len() - start - 1;
        if length < 128 {
            self.bytes[start] = length as u8;
            return length;
        }
        let (mut count, mut digits) = ([0; 10], 0);
        let mut rest = length as u64;
        loop {
            let more = if rest >= 128 { 128 } else { 0 };
            count[digits] = rest as u8 & 127 | more;
            digits += 1;
            rest >>= 7;
            if more == 0 {
                break;
            }
        }
        let _one = self
            .bytes
            .splice(start..=start, count[..digits].iter().copied());
        length
    }
}

/// How many items a list may contain if they take no bytes.
const MOST_EMPTY: u64 = 65_535;

/// Bytes that no correct peer sends, or whose values take too much memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed(pub(crate) &'static str);

impl Malformed {
    /// An enum has no variant at this position.
    pub const VARIANT: Malformed = Malformed("an enum has no such variant");

    /// The only case in which the peer has done nothing wrong.
    const TOO_LARGE: Malformed = Malformed("the values take more memory than is allowed");

    /// Why a session in which such a payload arrives ends.
    #[must_use]
    pub fn why(self) -> Why {
        match self {
            Malformed::TOO_LARGE => Why::TooLarge,
            _ => Why::Broken,
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Malformed {}

/// Reads one payload, from a peer that is not trusted. Nothing is allocated before it has been checked against the remaining bytes and the limit for
/// memory.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    /// How much memory the values may still take, in bytes.
    memory: usize,
    /// How many lists enclose the value that is decoded next.
    depth: u32,
    /// Whether the payload may end before the bytes do.
    may_end_early: bool,
}

impl<'a> Decoder<'a> {
    /// Reads these bytes. The decoded values may allocate `memory` bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8], memory: usize) -> Decoder<'a> {
        Decoder {
            bytes,
            memory,
            depth: 0,
            may_end_early: false,
        }
    }

    /// Reads a payload at the beginning of these bytes. What comes after it is not read.
    #[must_use]
    pub(crate) fn at_beginning(bytes: &'a [u8], memory: usize) -> Decoder<'a> {
        Decoder {
            may_end_early: true,
            ..Decoder::new(bytes, memory)
        }
    }

    /// Fails if bytes are left over where none may be. Returns how many are.
    pub(crate) fn end(self) -> Result<usize, Malformed> {
        match self.bytes {
            left if self.may_end_early => Ok(left.len()),
            [] => Ok(0),
            [..] => Err(Malformed("bytes are left over")),
        }
    }

    /// Fails if bytes are left over.
    pub fn finish(self) -> Result<(), Malformed> {
        match self.bytes {
            [] => Ok(()),
            [..] => Err(Malformed("bytes are left over")),
        }
    }

    /// Takes this many bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        match self.bytes.split_at_checked(count) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => Err(Malformed("bytes are missing")),
        }
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        match self.bytes.split_first_chunk() {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(*taken)
            }
            None => Err(Malformed("bytes are missing")),
        }
    }

    /// Takes a count: seven bits per byte, the low ones first, in as few bytes as possible.
    #[inline]
    pub fn count(&mut self) -> Result<u64, Malformed> {
        let mut count = 0;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 127);
            if shift == 63 && bits > 1 {
                break;
            }
            count |= bits << shift;
            if byte < 128 {
                if byte == 0 && shift > 0 {
                    return Err(Malformed("a count is longer than necessary"));
                }
                return Ok(count);
            }
        }
        Err(Malformed("a count is too large"))
    }

    /// Takes the count of a list whose items take at least `least` bytes each, and `size` bytes of memory each once
    /// they are decoded. Accounts for the memory.
    #[inline]
    pub(crate) fn items(&mut self, least: usize, size: usize) -> Result<usize, Malformed> {
        let count = self.count()?;
        self.reserve(count, least, size)
    }

    /// The same for a list, a text or bytes of at most `most` items.
    #[inline]
    pub(crate) fn items_at_most(
        &mut self,
        most: u64,
        least: usize,
        size: usize,
    ) -> Result<usize, Malformed> {
        let count = self.count()?;
        if count > most {
            return Err(Malformed("a value is longer than its bound"));
        }
        self.reserve(count, least, size)
    }

    #[inline]
    fn reserve(&mut self, count: u64, least: usize, size: usize) -> Result<usize, Malformed> {
        if least == 0 && count > MOST_EMPTY {
            return Err(Malformed("a list has too many items that take no bytes"));
        }
        let available = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        let needed = count.checked_mul(least as u64);
        if needed.is_none_or(|needed| needed > available) {
            return Err(Malformed("a list has more items than bytes"));
        }
        let count = usize::try_from(count).map_err(|_| Malformed("a count is too large"))?;
        // An item that takes neither bytes nor memory counts as one byte, so that lists of lists of them have a limit too.
        let memory = count.checked_mul(size.max(usize::from(least == 0)));
        match memory.and_then(|memory| self.memory.checked_sub(memory)) {
            Some(memory) => self.memory = memory,
            None => return Err(Malformed::TOO_LARGE),
        }
        Ok(count)
    }

    /// Reads the values of a list, each with `get`. The caller has checked their number.
    #[inline]
    pub(crate) fn list<T>(
        &mut self,
        count: usize,
        mut get: impl FnMut(&mut Decoder<'a>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut items = Vec::new();
        items
            .try_reserve_exact(count)
            .map_err(|_| Malformed::TOO_LARGE)?;
        for _ in 0..count {
            items.push(get(self)?);
        }
        Ok(items)
    }

    /// Decodes the items of a list.
    #[inline]
    pub(crate) fn nested<T>(
        &mut self,
        get: impl FnOnce(&mut Decoder<'a>) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        if self.depth == DEEPEST {
            return Err(Malformed("lists are nested too deeply"));
        }
        self.depth += 1;
        let value = get(self)?;
        self.depth -= 1;
        Ok(value)
    }
}
