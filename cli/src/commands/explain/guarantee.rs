//! What programs can rely on, for each protocol of a file, and what makes sure of it. What is the same for every protocol is in
//! `claims.json`; `tests/suite/guarantee.rs` finds every test that is named there.

use askama::Template;
use duologue::check::{CheckedProgram, CheckedProtocol};
use duologue::graph::{Capacity, StateGraph};
use duologue::languages::Target;
use duologue::protocol::{Protocol, ProtocolId, Side};
use duologue::relation::View;
use duologue::report::{counted, quoted};
use duologue::wire::{Plan, Sizes};
use serde::{Deserialize, Serialize};

/// Something that a program can rely on, or not.
#[derive(Deserialize)]
struct Claim {
    id: &'static str,
    about: About,
    words: &'static str,
    /// One for all languages, or one each for Rust, C and Scala.
    proofs: Vec<Proof>,
}

/// What a protocol has to have so that a claim says something about it.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum About {
    Stuck,
    Turns,
    Reachability,
    Ends,
    Capacity,
    Waiting,
    Fingerprint,
    SizeLimits,
    TimeLimits,
    /// Every protocol, in the same words.
    All,
}

/// Who proves a claim in a language, how, and where to read on.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
struct Proof {
    by: By,
    how: &'static str,
    see: Vec<Place>,
}

/// What makes sure of something.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum By {
    /// `duologue check`.
    Checker,
    /// The compiler of the target language.
    Compiler,
    /// The runtime, while the program runs.
    Runtime,
    /// Nothing: the program has to.
    Nobody,
}

/// Within version 1, fields are only added.
#[derive(Serialize)]
pub struct Document {
    version: u32,
    pub protocols: Vec<Sheet>,
}

/// The claims about a protocol.
#[derive(Serialize, Template)]
#[template(path = "explain/guarantee.jinja")]
pub struct Sheet {
    name: String,
    claims: Vec<ClaimLine>,
}

#[derive(Serialize)]
struct ClaimLine {
    id: &'static str,
    claim: &'static str,
    /// Whether it is so for this protocol.
    holds: Holds,
    /// What this protocol has to do with it.
    detail: Option<String>,
    /// Empty unless it is so.
    proofs: Vec<ProofLine>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Holds {
    Yes,
    No,
    /// It says nothing about this protocol.
    NotApplicable,
}

impl Holds {
    fn because(self, detail: impl Into<String>) -> (Holds, Option<String>) {
        (self, Some(detail.into()))
    }
}

#[derive(Serialize)]
struct ProofLine {
    target: &'static str,
    #[serde(skip)]
    title: &'static str,
    #[serde(flatten)]
    proof: Proof,
}

impl By {
    fn words(self) -> &'static str {
        match self {
            By::Checker => "the checker",
            By::Compiler => "the language's compiler",
            By::Runtime => "the runtime",
            By::Nobody => "nobody",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
struct Place {
    /// In the repository.
    path: &'static str,
    /// A test or a heading in it; empty for the whole file.
    name: &'static str,
}

/// The sheets of some protocols.
pub fn document(checked: &CheckedProgram, protocols: &[ProtocolId]) -> Document {
    let claims: Vec<Claim> =
        serde_json::from_str(include_str!("claims.json")).expect("the claims are valid");
    let sizes = Sizes::of(checked.program());
    let protocols = protocols.iter();
    Document {
        version: 1,
        protocols: protocols
            .map(|id| sheet(&claims, checked.protocol(*id), &sizes))
            .collect(),
    }
}

fn sheet(claims: &[Claim], checked: CheckedProtocol<'_>, sizes: &Sizes) -> Sheet {
    let (program, protocol) = (checked.program(), checked.protocol());
    let claims = claims.iter().map(|claim| {
        let (holds, detail) = fact(claim, checked, sizes);
        let targets = Target::ALL.into_iter().zip(claim.proofs.iter().cycle());
        let proofs = targets.filter(|_| holds == Holds::Yes);
        let proofs = proofs.map(|(target, proof)| ProofLine {
            target: target.name(),
            title: target.title(),
            proof: proof.clone(),
        });
        ClaimLine {
            id: claim.id,
            claim: claim.words,
            holds,
            detail,
            proofs: proofs.collect(),
        }
    });
    Sheet {
        name: program.full_name(protocol.file, protocol.name.text()),
        claims: claims.collect(),
    }
}

/// Whether a claim holds for a protocol, and what the protocol has to do with it.
fn fact(claim: &Claim, checked: CheckedProtocol<'_>, sizes: &Sizes) -> (Holds, Option<String>) {
    let protocol = checked.protocol();
    match claim.about {
        About::All => (Holds::Yes, None),
        About::Stuck => {
            let states = protocol.states.iter();
            let sound: Vec<bool> = states
                .map(|state| state.direction.is_none() || !state.messages.is_empty())
                .collect();
            all_states(protocol, &sound, "nothing can be sent in")
        }
        About::Turns => Holds::Yes.because(turns(protocol)),
        About::Reachability => {
            let reached: Vec<bool> = protocol
                .state_ids()
                .map(|id| checked.is_reachable(id))
                .collect();
            all_states(protocol, &reached, "not reached")
        }
        About::Ends => {
            let can_finish = StateGraph::of(protocol).can_finish().into_iter();
            let ids = protocol.state_ids().zip(can_finish);
            let sound: Vec<bool> = ids
                .map(|(id, can_finish)| can_finish || !checked.is_reachable(id))
                .collect();
            all_states(protocol, &sound, "no end can be reached from")
        }
        About::Capacity => {
            let capacities = [
                ("server", checked.capacity_to_server()),
                ("client", checked.capacity_to_client()),
            ];
            let words =
                capacities.map(|(side, capacity)| format!("{} to the {side}", capacity.words()));
            is_bounded(checked).because(words.join(", "))
        }
        About::Waiting if is_bounded(checked) == Holds::Yes => (Holds::Yes, None),
        About::Waiting => {
            Holds::No.because("in a run without a bound, a sender waits while the ring is full")
        }
        About::Fingerprint => match Plan::of(View::of(checked.program(), checked.id())) {
            Ok(Plan { fingerprint, .. }) => {
                let print = fingerprint.map(|print| format!("the fingerprint is {print}"));
                let each = || "each instance has a fingerprint of its own".to_owned();
                Holds::Yes.because(print.unwrap_or_else(each))
            }
            Err(obstacle) => {
                Holds::NotApplicable.because(format!("sessions stay in one process: {obstacle}"))
            }
        },
        About::SizeLimits => size_limits(protocol, sizes),
        About::TimeLimits => {
            let timed = protocol.states.iter();
            let timed = timed.filter(|state| state.within.is_some()).count();
            let states = counted(protocol.states.len(), "state");
            match timed {
                0 => Holds::NotApplicable.because("the protocol has no time limits"),
                _ => Holds::Yes.because(format!("{timed} of {states} have a time limit")),
            }
        }
    }
}

fn turns(protocol: &Protocol) -> String {
    let of = |side| {
        let states = protocol.states.iter();
        states
            .filter(|state| state.active_side() == Some(side))
            .count()
    };
    let client = counted(of(Side::Client), "state");
    let server = counted(of(Side::Server), "state");
    format!("the client sends in {client}, the server in {server}")
}

fn is_bounded(checked: CheckedProtocol<'_>) -> Holds {
    match checked.capacity() {
        Capacity::Bounded(_) => Holds::Yes,
        Capacity::Unbounded => Holds::No,
    }
}

fn all_states(protocol: &Protocol, is_sound: &[bool], words: &str) -> (Holds, Option<String>) {
    let states = protocol.states.iter().zip(is_sound);
    let faulty = states.filter(|(_, is_sound)| !**is_sound);
    let faulty = quoted(faulty.map(|(state, _)| &state.name));
    match faulty.as_str() {
        "" => (Holds::Yes, None),
        faulty => Holds::No.because(format!("{words} {faulty}")),
    }
}

/// Whether every message has a largest size, by its types or by a limit.
fn size_limits(protocol: &Protocol, sizes: &Sizes) -> (Holds, Option<String>) {
    let mut open = Vec::new();
    let mut count = 0;
    for state in &protocol.states {
        let encodings = sizes.messages(state, &[]);
        for (message, encoding) in state.messages.iter().zip(encodings) {
            count += 1;
            if encoding.size.most.is_none() && encoding.limit.is_none() {
                open.push(format!("`{}` of `{}`", message.name, state.name));
            }
        }
    }
    match open.len() {
        0 => Holds::Yes.because("every message has a largest size"),
        all if all == count => Holds::NotApplicable.because("no message has a largest size"),
        _ => {
            let open = open.join(", ");
            Holds::Yes.because(format!("messages without a largest size: {open}"))
        }
    }
}

/// How many claims hold, and which do not, as Markdown.
pub fn summary(sheet: &Sheet) -> String {
    let of = |holds| {
        sheet
            .claims
            .iter()
            .filter(move |claim| claim.holds == holds)
    };
    let failing: Vec<String> = of(Holds::No)
        .map(|claim| format!("- {}\n", claim.claim))
        .collect();
    let held = counted(of(Holds::Yes).count(), "guarantee");
    match failing.is_empty() {
        true => format!("{held}: all that apply.\n"),
        false => format!("{held}. What does not hold:\n\n{}", failing.concat()),
    }
}

impl ClaimLine {
    /// The detail with a capital letter and a full stop.
    fn sentence(&self) -> String {
        let mut letters = self.detail.iter().flat_map(|detail| detail.chars());
        let Some(first) = letters.next() else {
            return String::new();
        };
        let rest = letters.chain(['.']);
        std::iter::once(first.to_ascii_uppercase())
            .chain(rest)
            .collect()
    }

    /// The different proofs, each with the languages that have it.
    fn groups(&self) -> Vec<(String, &Proof)> {
        let groups = self.proofs.chunk_by(|one, other| one.proof == other.proof);
        let groups = groups.map(|group| {
            let titles: Vec<&str> = group.iter().map(|line| line.title).collect();
            (titles.join(", "), &group[0].proof)
        });
        groups.collect()
    }
}

impl Place {
    fn link(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let Place { path, name } = self;
        let shown = match name.trim_start_matches(['#', ' ']) {
            "" => path.rsplit('/').next().unwrap_or(path),
            name => name,
        };
        format!("[{shown}](https://github.com/duologue/duologue/blob/v{version}/{path})")
    }
}
