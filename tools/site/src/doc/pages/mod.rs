//! The pages of a site.

pub mod index;
pub mod listing;
pub mod page;
pub mod protocol;
pub mod state;
pub mod types;
