//! The queue within a process, over sockets, and as a program.
#![forbid(unsafe_code)]

mod in_process;
mod over_sockets;
mod program;
mod talk;
