//! The command line: commands, exit codes, what is printed and what is written.
