//! A session-types protocol compiler.
