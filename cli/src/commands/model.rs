//! `duologue model`: the checked program as JSON.

use crate::args::{Names, Sources, TEMPLATE};
use crate::terminal::Terminal;
use clap::Args;
use duologue::languages::Options;
use duologue_project::Outcome;
use duologue_reports::model;
use std::path::PathBuf;

const EXAMPLES: &str =
    "  duologue model bank.proto           everything that the compiler knows about a file, as JSON
  duologue model protocols | jq -r '.protocols[].full_name'
                                      the names of all protocols below a directory
  duologue model --schema             the JSON Schema of the model
";

/// Print the checked protocols as JSON, for other programs: names resolved, with documentation, capacities and positions
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Model {
    /// Files, directories, or - for standard input
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print the JSON Schema of the model, and read no files
    #[arg(long, conflicts_with = "paths")]
    schema: bool,
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    names: Names,
}

impl Model {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        if self.schema {
            return terminal.print_exactly(model::SCHEMA);
        }
        let is_part = |path: &&PathBuf| path.to_string_lossy().contains('#') && !path.exists();
        if let Some(part) = self.paths.iter().find(is_part) {
            bail_usage!(
                "`{}` names a part of a file, and a model has whole files: leave out `#` and what follows it",
                part.display()
            );
        }
        let options: Options = self.names.into();
        let sources = self.sources;
        let (checked, sources) = sources.checked(&self.paths, options.clone(), terminal)?;
        let model = model::Model::of(&checked, &sources, &options);
        terminal.print_exactly(&model.pretty())
    }
}
