//! Robots: peers that play a side of a protocol by themselves. Generated code has the loop over the states, and asks these modules
//! for everything else.

pub(crate) mod choices;
pub(crate) mod coverage;
pub(crate) mod line;
pub(crate) mod play;
pub(crate) mod table;
pub(crate) mod values;
