//! The programs of `docs/patterns.md`, one after the other.

mod chat;
mod lookup;
mod pool;
mod topics;

mod protocols {
    include!(env!("PROTOCOLS"));
}

fn main() -> Result<(), duologue::Closed> {
    chat::main()?;
    lookup::main()?;
    pool::main();
    topics::main()
}
