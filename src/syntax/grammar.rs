//! The parser that pest makes of `grammar/duologue.pest`; its rules are documented there.
#![allow(missing_docs)]

#[derive(pest_derive::Parser)]
#[grammar = "grammar/duologue.pest"]
pub struct Grammar;
