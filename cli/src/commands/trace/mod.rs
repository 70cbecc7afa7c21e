//! `duologue trace`: recorded sessions, checked against their protocols.

mod logs;

use crate::args::named::{Named, select};
use crate::args::{Findings, Format, Sources, Style, TEMPLATE};
use crate::interrupt;
use crate::output::answer::Answer;
use crate::output::progress::Progress;
use crate::terminal::{ERROR, GOOD, NAME, QUIET, Terminal, WARNING, styled};
use askama::Template;
use clap::Args;
use duologue::check::CheckedProgram;
use duologue::compile::{Compilation, Request};
use duologue::diagnostic::Level;
use duologue::files::Disk;
use duologue::languages::Options;
use duologue::protocol::FileId;
use duologue::report::{self, counted};
use duologue_project::baseline::checked;
use duologue_project::{Failure, Outcome};
use duologue_traces::{Checker, Counts, Finding, Mapping, Summary, Table, Tables};
use logs::{Log, Taken};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const EXAMPLES: &str = "  duologue trace sessions.jsonl --protocol bank.proto
                                      does each session in a log follow its protocol?
  duologue trace client=a.jsonl server=b.jsonl --protocol bank
                                      the logs of both sides: who is to blame?
  duologue trace gateway.log --mapping gateway
                                      a log of another program, which duologue.toml describes
  tail -f sessions.jsonl | duologue trace - --follow --protocol bank.proto
                                      report what is wrong as soon as it is logged
";

/// Check recorded sessions: the first wrong event of each, who is to blame, unfinished sessions, and coverage
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Trace {
    /// The logs, or - for standard input; client=FILE and server=FILE say which side wrote a log
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// The protocol of sessions that do not name theirs, and where to find protocols: NAME, FILE or FILE#NAME
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Option<PathBuf>,
    /// What the lines look like: auto, json, transcript or otlp
    #[arg(long, default_value = "auto", value_name = "KIND")]
    log_format: logs::Format,
    /// Read lines as the configuration describes under [traces.NAME]
    #[arg(long, value_name = "NAME")]
    mapping: Option<String>,
    /// Wait for more lines at the end of the logs, and report what is wrong at once
    #[arg(long)]
    follow: bool,
    /// Fail if a session is unfinished
    #[arg(long)]
    require_finished: bool,
    /// How many sessions may be open, or wrong, at once
    #[arg(long, value_name = "COUNT", default_value = "1000000")]
    max_sessions: usize,
    #[command(flatten)]
    style: Style,
    #[command(flatten)]
    sources: Sources,
}

/// What a run has found.
enum Found {
    /// The protocols have errors.
    Protocols,
    Sessions {
        outcome: duologue_traces::Outcome,
        /// Whether something wrong was printed while the logs were read.
        is_wrong: bool,
    },
}

impl Answer for Found {
    fn traces(&self) -> Option<&duologue_traces::Outcome> {
        match self {
            Found::Protocols => None,
            Found::Sessions { outcome, .. } => Some(outcome),
        }
    }
}

/// Which protocols there are.
struct Chosen {
    paths: Vec<PathBuf>,
    name: Option<String>,
}

impl Chosen {
    /// A protocol's file, its name, or both.
    fn of(text: Option<&Path>) -> Chosen {
        let here = || vec![PathBuf::from(".")];
        let Some(text) = text else {
            return Chosen {
                paths: here(),
                name: None,
            };
        };
        let named = Named::parse(text);
        let is_file = named.protocol.is_some() || named.file.exists();
        let has_extension = duologue::files::has_protocol_extension(text);
        match is_file || has_extension || text.as_os_str() == "-" {
            true => Chosen {
                paths: vec![named.file],
                name: named.protocol,
            },
            false => Chosen {
                paths: here(),
                name: Some(text.to_string_lossy().into_owned()),
            },
        }
    }
}

impl Trace {
    pub fn run(mut self, terminal: &Terminal) -> Outcome {
        let is_text = matches!(self.style.format, Format::Human | Format::Short);
        if self.follow && !is_text {
            bail_usage!(
                "`--follow` prints findings one by one: use it with `--format human` or `short`"
            );
        }
        if self.follow && self.sources.reports.is_any() {
            bail_usage!("`--follow` prints findings one by one: it cannot be used with `--report`");
        }
        let stdin = self.logs.iter().map(|log| logs::named(log).1);
        match stdin.filter(|log| log.as_os_str() == "-").count() {
            0 => {}
            1 if !self.follow || self.logs.len() == 1 => {}
            1 => {
                bail_usage!("`-` cannot be followed together with other logs");
            }
            _ => {
                bail_usage!("`-` can be given only once: there is one standard input");
            }
        }
        let chosen = Chosen::of(self.protocol.as_deref());
        let mapping = self.mapping(&chosen.paths, terminal)?;
        interrupt::expect();
        let logs = (0_u32..).zip(&self.logs);
        let logs = logs.map(|(number, log)| Log::open(number, log, self.log_format, self.follow));
        let mut logs: Vec<Log> = logs.collect::<Result<_, _>>()?;
        let (format, options) = (self.style.format, Options::default());
        let sources = std::mem::take(&mut self.sources);
        let by = |request: &Request| self.check(request, &chosen, &mapping, &mut logs, terminal);
        let product = Findings::Product;
        let (compiled, found) =
            sources.compile_by(by, &chosen.paths, options, format, product, terminal)?;
        let Found::Sessions { outcome, is_wrong } = found else {
            return Err(Failure::Findings);
        };
        let found = outcome;
        if !terminal.quiet {
            let table = Sessions {
                protocols: &found.protocols,
            }
            .to_string();
            format.accompany(table, terminal)?;
        }
        if found.more > 0 {
            let more = counted(found.more, "more finding");
            terminal.tell(format_args!("{}: {more}\n", styled(WARNING, "not shown")))?;
        }
        let is_cut = !self.follow && logs.iter().any(|log| !log.is_over);
        let cut = "interrupted: the logs were not read to their end";
        let wrong: u64 = found.protocols.iter().map(|one| one.counts.wrong).sum();
        let mut list = compiled.diagnostics.iter();
        if is_wrong || wrong > 0 || found.more > 0 || list.any(|found| found.level == Level::Deny) {
            if is_cut {
                terminal.insist(format_args!("{}: {cut}\n", styled(WARNING, "warning")))?;
            }
            return Err(Failure::Findings);
        }
        match is_cut {
            true => Err(Failure::Environment(cut.to_owned())),
            false => Ok(()),
        }
    }

    fn mapping(&self, paths: &[PathBuf], terminal: &Terminal) -> Result<Mapping, Failure> {
        let Some(name) = &self.mapping else {
            return Ok(Mapping::own());
        };
        // The configuration beside the log describes it; that of the protocols or of this directory may.
        let logs = self.logs.iter().map(|log| logs::named(log).1);
        let logs = logs.filter(|log| log.as_os_str() != "-");
        let mut read = Vec::new();
        let mut others = Vec::new();
        let here = std::iter::once(PathBuf::from("."));
        for path in logs.chain(paths.iter().cloned()).chain(here) {
            let mut config = self.sources.config(&[path], terminal)?;
            let mut known = config.mappings.iter();
            if let Some(at) = known.position(|(known, _)| known == name) {
                return Ok(config.mappings.swap_remove(at).1);
            }
            if !config.path.is_empty() && !read.contains(&config.path) {
                let names = config.mappings.iter().map(|(name, _)| format!("`{name}`"));
                others.extend(names);
                read.push(config.path);
            }
        }
        let why = match (read.is_empty(), others.is_empty()) {
            (true, _) => {
                "no `duologue.toml` is beside or above the logs, the protocols or this directory"
                    .to_owned()
            }
            (false, true) => format!("{} has no [traces.{name}]", read.join(" and ")),
            (false, false) => format!("{} has only {}", read.join(" and "), others.join(", ")),
        };
        Err(usage!("there is no mapping `{name}`: {why}"))
    }

    /// Checks the protocols and then the logs. The findings are those in the logs, or in the protocols if these have errors.
    fn check(
        &self,
        request: &Request,
        chosen: &Chosen,
        mapping: &Mapping,
        logs: &mut [Log],
        terminal: &Terminal,
    ) -> Result<(Compilation, Found), Failure> {
        let mut compiled = checked(request, &Disk)?;
        let Some(program) = compiled.checked.take() else {
            return Ok((compiled, Found::Protocols));
        };
        let tables = tables(&program, chosen.name.as_deref())?;
        let options = duologue_traces::Options {
            sessions: self.max_sessions,
            has_both: logs.len() > 1,
            is_online: self.follow,
        };
        let names: Vec<String> = logs.iter().map(|log| log.name.clone()).collect();
        let mut checker = Checker::new(&tables, options);
        let mut is_wrong = false;
        let progress = (!self.follow).then(|| reading(logs, terminal));
        while logs.iter().any(|log| !log.is_over) && !interrupt::has_come() {
            let mut is_waiting = true;
            for log in logs.iter_mut().filter(|log| !log.is_over) {
                let before = log.byte;
                is_waiting &= log.take(mapping, &mut checker)? == Taken::Nothing;
                if let Some(progress) = &progress {
                    progress.add(log.byte.saturating_sub(before));
                }
            }
            if self.follow {
                let found = checker.findings();
                let sources = &mut compiled.sources;
                self.show(&tables, &found, &names, sources, terminal)?;
                is_wrong |= !found.iter().all(Finding::is_partial);
                if is_waiting {
                    thread::sleep(Duration::from_millis(20));
                }
            }
        }
        drop(progress);
        let (mut found, more, counts) = checker.finish();
        if self.follow {
            self.show(&tables, &found, &names, &mut compiled.sources, terminal)?;
            is_wrong |= !found.iter().all(Finding::is_partial);
            found.clear();
        }
        logs::complete(&mut found, &self.logs);
        let level = match self.require_finished {
            true => Level::Deny,
            false => Level::Warn,
        };
        let outcome = duologue_traces::Outcome::of(&tables, &counts, &found, more, &names);
        let sources = &mut compiled.sources;
        let list = duologue_traces::diagnostics(&tables, &counts, &found, &names, sources, level);
        compiled.diagnostics = list;
        drop(tables);
        compiled.checked = Some(program);
        Ok((compiled, Found::Sessions { outcome, is_wrong }))
    }

    /// Prints findings as soon as there are some, and keeps nothing of them.
    fn show(
        &self,
        tables: &Tables<'_>,
        found: &[Finding],
        names: &[String],
        sources: &mut duologue::source::Sources,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        for one in found.chunks(1) {
            let list = duologue_traces::diagnostics(tables, &[], one, names, sources, Level::Warn);
            for diagnostic in &list {
                let text = match self.style.format == Format::Short {
                    true => report::short(diagnostic, sources) + "\n",
                    false => report::full(diagnostic, sources, terminal.render_options()) + "\n\n",
                };
                terminal.print(text)?;
            }
            names.iter().for_each(|_| sources.forget_last());
        }
        Ok(())
    }
}

/// Shows how much of some logs has been read.
fn reading(logs: &[Log], terminal: &Terminal) -> Progress {
    let all: Option<u64> = logs.iter().map(|log| log.length).sum();
    Progress::start(terminal, move |read| match all {
        Some(all) => format!("reading logs: {} %", read.min(all) * 100 / all.max(1)),
        None => format!("reading logs: {} MiB", read >> 20),
    })
}

/// The tables of all protocols that were read, with the names that events can use.
fn tables<'p>(program: &'p CheckedProgram, usual: Option<&str>) -> Result<Tables<'p>, Failure> {
    let resolved = program.program();
    let names = |file: FileId, name: &str| {
        let full = resolved.full_name(file, name);
        [full.replace('.', "::"), full, name.to_owned()]
    };
    let mut instances = resolved.instances.iter();
    let is_usual = |name: &str, file: FileId| {
        usual.is_some_and(|usual| names(file, name).iter().any(|name| name == usual))
    };
    let instance = instances.find(|one| is_usual(one.name.text(), one.file));
    let protocols = program.protocols().map(|one| one.id());
    let mut qualified = protocols.filter(|id| {
        let protocol = resolved.protocol(*id);
        usual.is_some_and(|usual| usual.contains(['.', ':']))
            && is_usual(protocol.name.text(), protocol.file)
    });
    let wanted = match (instance, qualified.next(), usual) {
        (Some(instance), ..) => Some(instance.protocol),
        (None, Some(id), _) => Some(id),
        (None, None, Some(_)) => select(program, usual)?.first().copied(),
        (None, None, None) => match select(program, None)?[..] {
            [only] => Some(only),
            _ => None,
        },
    };
    let mut list = Vec::new();
    let mut at = None;
    for one in program.protocols() {
        if wanted == Some(one.id()) {
            at = Some(list.len());
        }
        let protocol = one.protocol();
        let mut all = names(protocol.file, protocol.name.text()).to_vec();
        let instances = resolved.instances.iter();
        for instance in instances.filter(|instance| instance.protocol == one.id()) {
            all.extend(names(instance.file, instance.name.text()));
        }
        let name = resolved.full_name(protocol.file, protocol.name.text());
        list.push((Table::of(name, protocol), all));
    }
    Ok(Tables::new(list, at))
}

/// How many missing transitions are listed.
const MOST_MISSING: usize = 20;

/// The sessions of protocols for people.
#[derive(Template)]
#[template(path = "trace.jinja")]
struct Sessions<'a> {
    protocols: &'a [Summary],
}

impl Sessions<'_> {
    /// How many sessions ended in which way, for each way that occurs.
    fn ends(counts: &Counts) -> impl Iterator<Item = (u64, &'static str, anstyle::Style)> {
        let all = [
            (counts.finished, "finished", GOOD),
            (counts.left, "left early", QUIET),
            (counts.unfinished, "unfinished", WARNING),
            (counts.partial, "seen in part", WARNING),
            (counts.wrong, "wrong", ERROR),
        ];
        all.into_iter().filter(|(count, ..)| *count > 0)
    }
}
