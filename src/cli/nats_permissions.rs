//! `duologue nats-permissions`: what the users of a NATS server need for the sessions of a protocol.

use super::args::Sources;
use super::named::Named;
use super::talk::find;
use super::terminal::Terminal;
use super::{Failure, Outcome, TEMPLATE};
use clap::Args;
use duologue::fingerprint::{Fingerprint, accepts};
use duologue::protocol::Side;
use duologue::relation::{View, canonical};
use duologue::talk::{is_dotted, name_problem};
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue nats-permissions bank.proto > users.conf
                                      for the users `server` and `client`, as a file that the
                                      configuration of nats-server can include
  duologue nats-permissions bank.proto --name eu.bank --server teller --client web --client tv
                                      for servers at nats://HOST:PORT/eu.bank, and three users
  duologue nats-permissions bank.proto --any-version
                                      also for versions of the protocol that do not exist yet
  duologue nats-permissions bank.proto --discoverable
                                      for servers that `nats micro ls` lists
";

const AFTER: &str = "\
Each user has a password in an environment variable. nats-server reads it as a value of its configuration, so one that is not a \
word needs double quotes. The programs of a user have to set its name as their prefix: see docs/wire.md, \"Permissions\".";

/// Print the permissions that servers and clients of a protocol need at a NATS server
///
/// The output is a configuration of nats-server. A user with these permissions can take part in sessions of this protocol, on its side, and cannot
/// read the messages of others.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, after_help = AFTER, help_template = TEMPLATE)]
pub struct NatsPermissions {
    /// A protocol file; FILE#NAME names a protocol or an instance in it
    file: PathBuf,
    /// The name of the servers in their address, nats://HOST:PORT/NAME [default: the name of the protocol]
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    name: Option<String>,
    /// A user whose programs are servers; may be given more than once
    #[arg(long, value_name = "USER", default_value = "server", value_parser = user_name)]
    server: Vec<String>,
    /// A user whose programs are clients; may be given more than once
    #[arg(long, value_name = "USER", default_value = "client", value_parser = user_name)]
    client: Vec<String>,
    /// Permit every protocol at this name, not only this version and those that it accepts
    #[arg(long)]
    any_version: bool,
    /// Permit servers to take part in the service discovery of NATS, which they do if their program says so
    #[arg(long)]
    discoverable: bool,
    #[command(flatten)]
    sources: Sources,
}

impl NatsPermissions {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let twice = self.server.iter().find(|user| self.client.contains(user));
        if let Some(user) = twice {
            let words = format!("`{user}` is a server and a client: use two names");
            return Err(Failure::Usage(words));
        }
        let named = Named::parse(&self.file);
        let compiled = named.compile(self.sources, terminal)?;
        let checked = compiled.checked.as_ref().ok_or(Failure::Findings)?;
        let program = checked.program();
        let (protocol, instance) = find(&named, checked)?;
        let name = match instance {
            Some(instance) => &instance.name,
            None => &program.protocol(protocol).name,
        };
        if instance.is_none() && program.protocol(protocol).is_generic() {
            let words =
                format!("`{name}` has type parameters: name an instance, as in FILE#INSTANCE");
            return Err(Failure::Usage(words));
        }
        let view = match instance {
            Some(instance) => View::instance(program, instance),
            None => View::of(program, protocol),
        };
        let canonical = canonical(view);
        if let Some(obstacle) = &canonical.obstacle {
            let words = format!("`{name}` stays in one process: {obstacle}");
            return Err(Failure::Usage(words));
        }
        let own = Fingerprint::of_text(&canonical);
        let versions = |side: Side| {
            let older = accepts(view).iter().filter(|older| older.side == side);
            let all = [own]
                .into_iter()
                .chain(older.map(|it| Fingerprint(it.fingerprint)));
            all.collect::<Vec<_>>()
        };
        let servers = self.name.unwrap_or_else(|| name.to_string());
        let subjects = |side: Side| match self.any_version {
            true => vec![format!("duo.{servers}.*")],
            false => subjects(&servers, &versions(side)),
        };
        let mut users = Vec::new();
        for user in &self.server {
            let groups = subjects(Side::Server).into_iter();
            let groups = groups.map(|subject| format!("{subject} duo"));
            let mut subscribe: Vec<_> = [own_messages(user)].into_iter().chain(groups).collect();
            if self.discoverable {
                subscribe.extend(requests(&servers));
            }
            users.push(entry(
                user,
                &[OTHERS.to_owned()],
                subscribe,
                self.discoverable,
            ));
        }
        for user in &self.client {
            let publish = [vec![OTHERS.to_owned()], subjects(Side::Client)].concat();
            users.push(entry(user, &publish, vec![own_messages(user)], false));
        }
        terminal.print(format!(
            "# What users need for sessions of `{name}` at nats://HOST:PORT/{servers}.\n\
             # Passwords are in the environment of nats-server.\n\
             authorization {{\n  users: [\n{}  ]\n}}\n",
            users.concat()
        ))?;
        Ok(())
    }
}

/// What every user may publish: messages to the sessions of others, whose addresses contain random tokens.
const OTHERS: &str = "duo.at.>";

/// Where the messages for programs of this user arrive.
fn own_messages(user: &str) -> String {
    format!("duo.at.{user}.>")
}

/// Where the servers of these versions are, both those that can take a session and those that have been full.
fn subjects(name: &str, versions: &[Fingerprint]) -> Vec<String> {
    let kinds = ["", "full-"].into_iter();
    let all = kinds.flat_map(|kind| {
        versions
            .iter()
            .map(move |version| format!("duo.{name}.{kind}{version}"))
    });
    all.collect()
}

/// Where requests of service discovery arrive: for all servers, for those of this name, and for one.
fn requests(name: &str) -> [String; 3] {
    let name = name.replace('.', "_");
    [
        "$SRV.*".to_owned(),
        format!("$SRV.*.{name}"),
        format!("$SRV.*.{name}.*"),
    ]
}

/// The permissions of a user. `responds`: it may answer each request once, wherever the answer goes.
fn entry(user: &str, publish: &[String], subscribe: Vec<String>, responds: bool) -> String {
    let variable = user.to_uppercase().replace(['-', '.'], "_");
    let mut text = format!(
        "    {{\n      user: \"{user}\"\n      password: ${variable}_PASSWORD\n      permissions: {{\n"
    );
    for (what, subjects) in [("publish", publish), ("subscribe", &subscribe)] {
        let lines = subjects
            .iter()
            .map(|subject| format!("          \"{subject}\"\n"));
        let lines = lines.collect::<String>();
        // Writing into memory does not fail.
        let _ = write!(text, "        {what}: [\n{lines}        ]\n");
    }
    if responds {
        text += "        allow_responses: true\n";
    }
    text + "      }\n    }\n"
}

fn server_name(text: &str) -> Result<String, String> {
    match name_problem(text) {
        Some(problem) => Err(problem.into()),
        None => Ok(text.to_owned()),
    }
}

fn user_name(text: &str) -> Result<String, String> {
    if !is_dotted(text) || text.len() > 128 {
        return Err(
            "a name has at most 128 letters, digits, `-`, `_` and dots between them".into(),
        );
    }
    match text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        true => Ok(text.to_owned()),
        false => Err("the name of a user begins with a letter".into()),
    }
}
