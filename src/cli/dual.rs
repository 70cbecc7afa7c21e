//! `duologue dual`: protocols from the server's side.

use super::args::{Findings, Format, Sources};
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE};
use clap::Args;
use duologue::check::CheckedProgram;
use duologue::dual;
use duologue::name::nearest;
use duologue::protocol::{FileId, ProtocolId};
use duologue::target::Options;
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue dual bank.proto            the file with the server's view of every protocol
  duologue dual bank.proto bank       the server's view of one protocol
  duologue dual bank.proto | duologue dual -
                                      the file as it was
";

/// Print protocols from the server's side, as protocol text.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Dual {
    /// A protocol file, or - for standard input
    file: PathBuf,
    /// Print the declaration of this protocol only
    protocol: Option<String>,
    #[command(flatten)]
    sources: Sources,
}

impl Dual {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let files = [self.file];
        let options = Options::default();
        let compiled =
            self.sources
                .compile(&files, options, Format::Human, Findings::Reason, terminal)?;
        let checked = compiled.checked.as_ref().ok_or(Failure::Findings)?;
        let (program, sources) = (checked.program(), &compiled.sources);
        if self.protocol.is_some() {
            for id in select(checked, self.protocol.as_deref())? {
                terminal.print(dual::protocol(program, sources, id))?;
            }
        } else {
            let files = (0..program.files.len()).map(FileId::new);
            for id in files.filter(|id| program.file(*id).is_input) {
                terminal.print(dual::file(program, sources, id))?;
            }
        }
        Ok(())
    }
}

/// The protocols of the input files, or the one that is named.
pub fn select(checked: &CheckedProgram, name: Option<&str>) -> Result<Vec<ProtocolId>, Failure> {
    let program = checked.program();
    let inputs = program.files.iter().filter(|file| file.is_input);
    let ids = inputs.flat_map(|file| file.protocols.iter().copied());
    let Some(name) = name else {
        return Ok(ids.collect());
    };
    let names = ids.clone().map(|id| program.protocol(id).name.text());
    match ids
        .clone()
        .find(|id| program.protocol(*id).name.text() == name)
    {
        Some(id) => Ok(vec![id]),
        None => Err(Failure::Usage(match nearest(name, names.clone()) {
            Some(near) => format!("there is no protocol `{name}`; did you mean `{near}`?"),
            None => {
                let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>();
                format!("there is no protocol `{name}`, only {}", names.join(", "))
            }
        })),
    }
}
