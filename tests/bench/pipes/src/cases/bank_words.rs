//! What customer and bank say to each other where there is only a channel each way, and what they expect.

/// Either side's message.
#[derive(Clone, Debug, Default)]
pub enum Word {
    /// Nothing yet.
    #[default]
    Nothing,
    /// The customer's name and password.
    Login(u64, u64),
    /// The customer is known.
    Ok,
    /// The customer pays in.
    Deposit(u64),
    /// The customer wants money.
    Withdrawal(u64),
    /// The customer gets it.
    Money(u64),
}

/// Unwraps the message that has to come next.
macro_rules! must_be {
    ($word:expr, $message:ident $(($($value:ident),+))?) => {
        let $crate::cases::bank_words::Word::$message $(($($value),+))? = $word else {
            panic!("a message out of turn");
        };
    };
}

pub(super) use must_be;
