//! Rules about states and messages: what a session can do.

pub mod cannot_finish;
pub mod equivalent_states;
pub mod missing_direction;
pub mod never_ends;
pub mod not_dual;
pub mod stuck_state;
pub mod too_many_messages;
pub mod unbounded_run;
pub mod unreachable_state;
pub mod verbose_terminal;
