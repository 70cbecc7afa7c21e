//! Peers for the other side of a session: sessions that a person, a script or a robot plays, everything that a hostile peer can send, and what
//! running programs report about their sessions.

#[macro_use]
extern crate duologue_project;

pub mod address;
pub mod attack;
pub mod campaign;
pub mod game;
pub mod socket;
pub mod talk;
pub mod top;
