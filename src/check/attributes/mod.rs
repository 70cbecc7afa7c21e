//! Rules about what attributes say.

pub mod unknown_rule;
pub mod unusable_acceptance;
pub mod unusable_limit;
pub mod unused_suppression;
