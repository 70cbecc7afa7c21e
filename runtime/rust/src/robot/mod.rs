//! Robots: peers that play a side of a protocol by themselves. Generated code has a table of the protocol, plays one
//! state, and makes and shows values of its types.

pub(crate) mod choices;
pub(crate) mod coverage;
pub(crate) mod line;
pub(crate) mod play;
pub(crate) mod table;
pub(crate) mod values;
