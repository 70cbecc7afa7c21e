//! The messages of customer and bank over plain channels, and what each side expects.

/// A message of either side.
pub enum Word {
    /// The customer's name and password.
    Login(u64, u64),
    /// The customer is known.
    Ok,
    /// The customer makes a deposit.
    Deposit(u64),
    /// The customer asks for money.
    Withdrawal(u64),
    /// The customer gets the money.
    Money(u64),
}

/// Unwraps the message that has to come next.
macro_rules! must_be {
    ($word:expr, $message:ident $(($($value:ident),+))?) => {
        let $crate::cases::bank_words::Word::$message $(($($value),+))? = $word else {
            panic!("an unexpected message");
        };
    };
}

pub(super) use must_be;
