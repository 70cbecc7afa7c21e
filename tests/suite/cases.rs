//! The protocols of `protocols/` and of the literature: verdicts, numbers and snapshots.
