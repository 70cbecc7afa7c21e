//! `duologue dual`: protocols from the server's side.

mod compare;

use crate::args::named::{Named, select};
use crate::args::{Sources, TEMPLATE};
use crate::terminal::Terminal;
use clap::Args;
use duologue::dual;
use duologue::protocol::FileId;
use duologue_project::Outcome;
use std::path::PathBuf;

const EXAMPLES: &str =
    "  duologue dual bank.proto            the file with the server's view of every protocol
  duologue dual bank.proto bank       the server's view of one protocol
  duologue dual bank.proto | duologue dual -
                                      the original file
  duologue dual --against theirs.proto#bank ours.proto#bank_server
                                      is our protocol the other side of theirs?
";

/// Print protocols from the server's side, or check that a protocol is the dual of another.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Dual {
    /// A protocol file, or - for standard input; FILE#PROTOCOL names a protocol in it
    file: PathBuf,
    /// Print only the declaration of this protocol
    protocol: Option<String>,
    /// Print nothing, and fail unless the protocol is the dual of this one
    #[arg(long, value_name = "FILE#PROTOCOL")]
    against: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
}

impl Dual {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let mut named = Named::parse(&self.file);
        named.protocol = self.protocol.or(named.protocol);
        if let Some(theirs) = &self.against {
            return compare::compare(&named, &Named::parse(theirs), self.sources, terminal);
        }
        let (checked, sources) = named.compile(self.sources, terminal)?;
        let program = checked.program();
        if named.protocol.is_some() {
            for id in select(&checked, named.protocol.as_deref())? {
                terminal.print_exactly(&dual::protocol(program, &sources, id))?;
            }
        } else {
            let files = (0..program.files.len()).map(FileId::new);
            for id in files.filter(|id| program.file(*id).is_input) {
                terminal.print_exactly(&dual::file(program, &sources, id))?;
            }
        }
        Ok(())
    }
}
