//! How values with bounds travel: like any others, but values that exceed their bound are neither sent nor accepted.
//!
//! A bound is not part of the type of a value. So a [`Coding`] is chosen where the value is used: for a field, a payload, an item.

use std::marker::PhantomData;

use super::decoder::{Decoder, Malformed};
use super::encoder::Encoder;
use super::wire::Wire;

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
    ($first:ident $first_coding:ident) => {};
    ($first:ident $first_coding:ident $($ty:ident $coding:ident)+) => {
        impl<$first, $first_coding, $($ty, $coding),+> Coding<($first, $($ty),+)>
            for ($first_coding, $($coding),+)
        where
            $first_coding: Coding<$first>,
            $($coding: Coding<$ty>,)+
        {
            #[inline]
            fn put(value: &($first, $($ty),+), out: &mut Encoder) {
                #[allow(non_snake_case)]
                let ($first, $($ty),+) = value;
                $first_coding::put($first, out);
                $($coding::put($ty, out);)+
            }

            #[inline]
            fn get(from: &mut Decoder<'_>) -> Result<($first, $($ty),+), Malformed> {
                Ok(($first_coding::get(from)?, $($coding::get(from)?),+))
            }
        }
        tuples!($($ty $coding)+);
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
