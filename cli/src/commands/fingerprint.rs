//! `duologue fingerprint`: prints the hashes by which two processes recognize that they use the same protocol.

use crate::args::{Sources, TEMPLATE};
use crate::terminal::Terminal;
use clap::Args;
use duologue::fingerprint::Fingerprint as Hash;
use duologue::languages::Options;
use duologue::relation::{View, canonical};
use duologue_project::Outcome;
use std::path::PathBuf;

const EXAMPLES: &str =
    "  duologue fingerprint bank.proto     a line for each protocol: its name and its fingerprint
  duologue fingerprint bank.proto --text
                                      also the text that is hashed; see docs/wire.md
";

/// Print each protocol's fingerprint, which two processes compare to check that they use the same protocol
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Fingerprint {
    /// Files and directories
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Also print the text from which each fingerprint is computed
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    sources: Sources,
}

impl Fingerprint {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let options = Options::default();
        let (checked, _) = self.sources.checked(&self.paths, options, terminal)?;
        let program = checked.program();
        for file in program.inputs() {
            let plain = file.protocols.iter().copied();
            let plain = plain.filter(|id| !program.protocol(*id).is_generic());
            let plain = plain.map(|id| (&program.protocol(id).name, View::of(program, id)));
            let instances = file.instances.iter().map(|id| program.instance(*id));
            let instances =
                instances.map(|instance| (&instance.name, View::instance(program, instance)));
            for (name, view) in plain.chain(instances) {
                let canonical = canonical(view);
                let package = file.package.iter().map(|part| format!("{part}."));
                let name = package.collect::<String>() + name.text();
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
