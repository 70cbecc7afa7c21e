//! Macros that generated code calls, so that it stays short and has one form.

/// Implements the encoding of a declared type.
#[doc(hidden)]
#[macro_export]
macro_rules! wire {
    (struct $name:ident { $($field:ident: $ty:ty $(=> $coding:ty)?,)* }) => {
        impl $crate::generated::Wire for $name {
            const SIZE: $crate::generated::Size = $crate::generated::Size::exactly(0)
                $(.and(<$ty as $crate::generated::Wire>::SIZE))*;

            #[allow(unused_variables)]
            fn put(&self, out: &mut $crate::generated::Encoder) {
                $($crate::coding!(put $($coding)?)(&self.$field, out);)*
            }

            #[allow(unused_variables)]
            fn get(
                from: &mut $crate::generated::Decoder<'_>,
            ) -> ::std::result::Result<Self, $crate::generated::Malformed> {
                ::std::result::Result::Ok($name {
                    $($field: $crate::coding!(get $($coding)?)(from)?,)*
                })
            }
        }
    };
    (enum $name:ident { $($position:literal => $variant:ident { $($at:tt $value:ident: $ty:ty $(=> $coding:ty)?),* $(,)? })* }) => {
        impl $crate::generated::Wire for $name {
            const SIZE: $crate::generated::Size = $crate::generated::Size::NEVER
                $(.or($crate::generated::Size::variant($position)
                    $(.and(<$ty as $crate::generated::Wire>::SIZE))*))*;

            #[allow(unused_variables)]
            fn put(&self, out: &mut $crate::generated::Encoder) {
                match *self {
                    $(Self::$variant { $($at: ref $value),* } => {
                        out.count($position);
                        $($crate::coding!(put $($coding)?)($value, out);)*
                    })*
                }
            }

            fn get(
                from: &mut $crate::generated::Decoder<'_>,
            ) -> ::std::result::Result<Self, $crate::generated::Malformed> {
                match from.count()? {
                    $($position => ::std::result::Result::Ok(Self::$variant {
                        $($at: $crate::coding!(get $($coding)?)(from)?),*
                    }),)*
                    _ => ::std::result::Result::Err($crate::generated::Malformed::VARIANT),
                }
            }
        }
    };
}

/// The function that encodes or decodes a value, with bounds or without.
#[doc(hidden)]
#[macro_export]
macro_rules! coding {
    ($function:ident) => {
        $crate::generated::Wire::$function
    };
    ($function:ident $coding:ty) => {
        <$coding as $crate::generated::Coding<_>>::$function
    };
}

/// Declares the state with which sessions between processes begin.
#[doc(hidden)]
#[macro_export]
macro_rules! start {
    (
        $state:ty: $name:literal, $fingerprint:literal, $capacity:path, $slot:expr
        $(; sender accepts $($sender:literal)+)?
        $(; receiver accepts $($receiver:literal)+)?
    ) => {
        impl $crate::generated::Start for $state {
            const FINGERPRINT: [u8; 16] = u128::to_be_bytes($fingerprint);
            const PROTOCOL: &'static str = $name;
            const CAPACITY: $crate::Capacity = $capacity;
            const SENDER_ACCEPTS: &'static [$crate::transport::Fingerprint] =
                &[$($($crate::transport::Fingerprint(u128::to_be_bytes($sender))),+)?];
            const RECEIVER_ACCEPTS: &'static [$crate::transport::Fingerprint] =
                &[$($($crate::transport::Fingerprint(u128::to_be_bytes($receiver))),+)?];

            fn slot() -> $crate::generated::Slot {
                $slot()
            }
        }
    };
}

/// Lets the sending endpoint of the first state begin a session between processes.
#[doc(hidden)]
#[macro_export]
macro_rules! opens {
    ($name:ident $(<$($parameter:ident),+>)?) => {
        impl $(<$($parameter),+>)? $crate::generated::Open for $name $(<$($parameter),+>)?
        where
            super::state::$name $(<$($parameter),+>)?: $crate::generated::Start,
        {
            type State = super::state::$name $(<$($parameter),+>)?;
            const SENDS_FIRST: bool = true;

            fn open(
                attach: impl ::std::ops::FnOnce(
                    $crate::generated::FarEnd,
                ) -> ::std::sync::Arc<dyn $crate::generated::Driver>,
            ) -> Self {
                $name($crate::generated::open_sender(attach))
            }
        }
    };
}
