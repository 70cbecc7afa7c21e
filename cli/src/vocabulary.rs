//! What the help texts of all commands share.

/// The parts of a help text, in their order.
pub const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}\n";
