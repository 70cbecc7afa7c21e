//! What the server answers to requests.

pub mod capabilities;
pub mod edits;
pub mod params;
pub mod requests;
