//! The command line of Duologue: arguments in, exit code out.
fn main() {}
