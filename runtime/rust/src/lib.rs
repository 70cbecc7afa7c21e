//! The Rust runtime of Duologue: sessions, endpoints and the pipes between them.
