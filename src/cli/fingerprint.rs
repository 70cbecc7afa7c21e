//! `duologue fingerprint`: by what two processes know that they speak the same protocol.

use super::args::{Findings, Format, Sources};
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE};
use clap::Args;
use duologue::fingerprint::Fingerprint as Hash;
use duologue::relation::{View, canonical};
use duologue::target::Options;
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue fingerprint bank.proto     a line for each protocol: its name and its fingerprint
  duologue fingerprint bank.proto --text
                                      what is hashed, as docs/wire.md explains it
";

/// Print by what two processes know that they speak the same protocol
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Fingerprint {
    /// Files and directories
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print behind each fingerprint the text that it is the hash of
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    sources: Sources,
}

impl Fingerprint {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let options = Options::default();
        let compiled = self.sources.compile(
            &self.paths,
            options,
            Format::Human,
            Findings::Reason,
            terminal,
        )?;
        let program = compiled
            .checked
            .as_ref()
            .ok_or(Failure::Findings)?
            .program();
        for file in program.files.iter().filter(|file| file.is_input) {
            let plain = file.protocols.iter().copied();
            let plain = plain.filter(|id| !program.protocol(*id).is_generic());
            let plain = plain.map(|id| (&program.protocol(id).name, View::of(program, id)));
            let instances = file.instances.iter().map(|id| program.instance(*id));
            let instances =
                instances.map(|instance| (&instance.name, View::instance(program, instance)));
            for (name, view) in plain.chain(instances) {
                let canonical = canonical(view);
                let name = match file.package.as_slice() {
                    [] => name.to_string(),
                    package => {
                        let parts: Vec<&str> = package.iter().map(|part| part.text()).collect();
                        format!("{}.{name}", parts.join("."))
                    }
                };
                terminal.print(format!("{name} {}\n", Hash::of_text(&canonical)))?;
                if self.text {
                    terminal.print(canonical.text)?;
                }
                if let Some(obstacle) = canonical.obstacle {
                    terminal.tell(format!("`{name}` stays in one process: {obstacle}\n"))?;
                }
            }
        }
        Ok(())
    }
}
