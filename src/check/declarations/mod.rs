//! Rules about declarations that nothing uses or documents.

pub mod misplaced_documentation;
pub mod missing_docs;
pub mod references;
pub mod unused_declaration;
pub mod unused_import;
pub mod unused_type_parameter;
