//! `duologue play`: the playground in a browser, served from this machine.

use super::baseline::checked;
use super::config::Exclude;
use super::play_server::{Asset, serve};
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE, inputs};
use clap::Args;
use duologue::compile::Request;
use duologue::files::Disk;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue play                       a page with examples to check, draw, play and compile
  duologue play protocols/bank.proto  the same with your files
  duologue play --port 8421           at an address that stays the same
";

/// Serve a page on this machine that checks, draws, plays and compiles protocols
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Play {
    /// Files to open, with the files that they import; nothing is written to them
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The port, at 127.0.0.1 only [default: one that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// The directory with the page, as editors/web/build writes it [default: that of DUOLOGUE_PLAYGROUND, or the one that is installed
    /// with the program, ../share/duologue/playground]
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
}

/// The files of the page, with their types.
const PAGES: [(&str, &str); 4] = [
    ("index.html", "text/html; charset=utf-8"),
    ("play.css", "text/css; charset=utf-8"),
    ("play.js", "text/javascript; charset=utf-8"),
    ("duologue.wasm", "application/wasm"),
];

impl Play {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let mut assets = read_pages(&directory(self.pages)?)?;
        let mut address = String::new();
        if !self.files.is_empty() {
            let files = serde_json::to_vec(&texts(&self.files)?);
            assets.push(Asset {
                path: "/files.json".to_owned(),
                kind: "application/json",
                bytes: files.expect("texts can be written as JSON"),
            });
            address.push_str("?files");
        }
        let port = self.port;
        let unusable = |error| {
            let words = format!("cannot listen on 127.0.0.1:{port}: {error}");
            Failure::Environment(words)
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(unusable)?;
        let port = listener.local_addr().map_err(unusable)?.port();
        terminal.print(format_args!("http://127.0.0.1:{port}/{address}\n"))?;
        terminal.tell("The playground is at this address until you press Ctrl-C.\n")?;
        serve(&listener, port, &assets).map_err(unusable)
    }
}

/// Where the page is.
fn directory(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let variable = env::var_os("DUOLOGUE_PLAYGROUND").map(PathBuf::from);
    if let Some(directory) = named.or(variable) {
        return Ok(directory);
    }
    let program = env::current_exe().and_then(fs::canonicalize);
    let root = program
        .ok()
        .and_then(|program| Some(program.parent()?.parent()?.to_path_buf()));
    let installed = root.map(|root| root.join("share/duologue/playground"));
    installed.filter(|found| found.join("index.html").is_file()).ok_or_else(|| {
        Failure::Environment(
            "the page of the playground is not installed with this program; build it in a copy of the repository with \
             `editors/web/build DIR`, and run `duologue play --pages DIR`"
                .to_owned(),
        )
    })
}

fn read_pages(directory: &Path) -> Result<Vec<Asset>, Failure> {
    let pages = PAGES.map(|(name, kind)| {
        let path = directory.join(name);
        let read = duologue::files::open(&path).and_then(duologue::files::read_limited);
        let bytes = read.map_err(|error| {
            Failure::Environment(format!(
                "cannot read {}: {error}; `editors/web/build DIR` in a copy of the repository writes the playground",
                path.display()
            ))
        })?;
        let path = match name {
            "index.html" => "/".to_owned(),
            name => format!("/{name}"),
        };
        Ok(Asset { path, kind, bytes })
    });
    pages.into_iter().collect()
}

/// The texts of the files and of everything they import, by their paths. Errors in them are for the page to show.
fn texts(paths: &[PathBuf]) -> Result<BTreeMap<String, String>, Failure> {
    let mut request = Request::default();
    request.inputs = inputs::find(paths, &[], &Exclude::default())?.inputs;
    let compiled = checked(&request, &Disk)?;
    let texts = compiled.sources.iter();
    let texts = texts.map(|(_, source)| (source.name().to_owned(), source.text().to_owned()));
    Ok(texts.collect())
}
