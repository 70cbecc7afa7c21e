//! What the tests share: the repository, scratch folders, and the tools they call.

pub mod c;
pub mod program;
pub mod rust;
pub mod scala;
pub mod texts;
