//! The command line of Duologue: arguments in, exit code out.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A WebAssembly module starts in the root of the file system; the program that runs it says where it is started.
    #[cfg(target_os = "wasi")]
    if let Some(here) = std::env::var_os("PWD")
        && let Err(error) = std::env::set_current_dir(&here)
    {
        eprintln!("error: cannot enter {}: {error}", here.display());
        return ExitCode::from(3);
    }
    cli::main(std::env::args_os().collect())
}
