//! A payload type that no file declares.

use crate::check::Rule;
use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::check::wording::type_text;
use crate::diagnostic::{Diagnostic, Level};
use crate::name::{Slip, nearest, slip};
use crate::protocol::{Builtin, Definition, Entry, File, FileId, Program, Referent, Type, TypeId};
use crate::source::Span;

rule! {
    "undeclared-type", Warn,
    "a type is not declared, so the host program has to supply it"
}

/// The same for a name that can hardly be anything but a slip.
const SLIP: Rule = Rule {
    default: Some(Level::Deny),
    ..RULE
};

/// How many undeclared names are compared with all declared ones to suggest one of them: the time must not grow with the
/// product of both numbers.
pub const COMPARED: usize = 20;

/// Reports each undeclared type once, at its first use where the rule is not at level allow.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    if program.types.iter().all(|ty| ty.is_declared) {
        return;
    }
    let mut search = Search {
        program,
        findings,
        is_told: vec![false; program.types.len()],
        told: 0,
    };
    for (index, file) in program.files.iter().enumerate() {
        let file_id = FileId::new(index);
        search.declarations(file, file_id);
        for id in &file.instances {
            let instance = program.instance(*id);
            for argument in &instance.arguments {
                let location = Location::declaration(&instance.levels);
                search.ty(argument, (file_id, instance.span), None, location);
            }
        }
        for id in &file.protocols {
            search.protocol(program.protocol(*id), file_id);
        }
    }
}

struct Search<'a, 'f> {
    program: &'a Program,
    findings: &'f mut Findings,
    is_told: Vec<bool>,
    told: usize,
}

impl Search<'_, '_> {
    fn declarations(&mut self, file: &File, file_id: FileId) {
        for id in &file.types {
            let declaration = self.program.ty(*id);
            let location = Location::declaration(&declaration.levels);
            match &declaration.definition {
                Definition::Enum(variants) => {
                    for variant in variants {
                        self.entries(&variant.entries, file_id, location);
                    }
                }
                Definition::Alias(_) | Definition::Struct(_) | Definition::Extern(..) => {
                    for (ty, _, span) in declaration.parts() {
                        self.ty(ty, (file_id, span), None, location);
                    }
                }
            }
        }
    }

    fn protocol(&mut self, protocol: &crate::protocol::Protocol, file: FileId) {
        for state in &protocol.states {
            for message in &state.messages {
                let location = Location::message(protocol, state, message);
                self.entries(&message.entries, file, location);
                for argument in message.next.arguments() {
                    self.ty(argument, (file, message.next_span), None, location);
                }
            }
        }
    }

    fn entries(&mut self, entries: &[Entry], file: FileId, location: Location<'_>) {
        let mut behind: Vec<Option<&Entry>> = vec![None; entries.len()];
        let mut nearest = None;
        for (index, entry) in entries.iter().enumerate().rev() {
            nearest = if entry.is_derived {
                nearest
            } else {
                Some(entry)
            };
            behind[index] = nearest;
        }
        let mut before = None;
        for (entry, behind) in entries.iter().zip(behind) {
            before = if entry.is_derived {
                before
            } else {
                Some(entry)
            };
            let other = behind.or(before);
            let meant = other.filter(|_| entry.is_derived && matches!(entry.ty, Type::Named(_)));
            self.ty(&entry.ty, (file, entry.ty_span), meant, location);
        }
    }

    /// `meant` is a nearby entry with a name, if the type may have been meant as the name of an entry.
    fn ty(&mut self, ty: &Type, at: (FileId, Span), meant: Option<&Entry>, location: Location<'_>) {
        for id in ty.named() {
            let is_open = !self.program.ty(id).is_declared && !self.is_told[id.index()];
            if is_open && self.findings.hears(&RULE, location) {
                self.is_told[id.index()] = true;
                self.told += 1;
                let candidates = if self.told <= COMPARED { usize::MAX } else { 0 };
                let near = near(self.program, id, at.0, candidates);
                let is_slip = near.is_some_and(|near| near.is_slip);
                let rule = if is_slip { &SLIP } else { &RULE };
                let program = self.program;
                self.findings.report(rule, location, || {
                    let near = near.map(|near| near.word);
                    describe(program, id, (at.1, location), (meant, near), candidates)
                });
            }
        }
    }
}

fn describe(
    program: &Program,
    id: TypeId,
    (span, location): (Span, Location<'_>),
    (meant, near): (Option<&Entry>, Option<&str>),
    candidates: usize,
) -> Diagnostic {
    let name = &program.ty(id).name;
    // The name may be inside a larger type.
    let exact = program.uses.first_in(span, Referent::Type(id));
    let span = exact.unwrap_or(span);
    let message = format!("type `{name}` is not declared");
    let finding = RULE.finding(span, message);
    let state = location.protocol.and_then(|protocol| {
        let states = protocol.states.iter().take(candidates);
        let named = states.filter(|state| state.name.text() == name.text());
        named.map(|state| (protocol, state)).next()
    });
    let finding = if let Some((protocol, state)) = state {
        let finding = finding
            .label(format!("`{name}` is a state, not a type"))
            .related(state.name.span, "the state is declared here");
        ["client", "server"]
            .into_iter()
            .fold(finding, |finding, side| {
                let endpoint = format!("{}::{side}::{name}", protocol.name);
                finding.fix(format!("to send the {side}'s endpoint"), span, endpoint)
            })
    } else if let Some(state) = location.state.filter(|_| is_parameter_like(name.text())) {
        let finding = finding.label("a type parameter is declared by its state");
        if state.parameters.is_empty() && state.direction.is_some() {
            let after = state.direction_span.after();
            finding.fix("declare it", after, format!("<{name}>"))
        } else {
            finding.help(format!(
                "declare it: `{}:send<{name}> {{ ... }}`",
                state.name
            ))
        }
    } else if let Some(near) = near {
        finding
            .label("the host program would have to supply it")
            .fix(format!("did you mean `{near}`?"), span, near)
    } else if let Some(meant) = meant {
        let ty = type_text(program, &[], &meant.ty);
        let finding = finding.label("this is a type, not a name");
        let text = format!("did you mean `{name}: {ty}`? each entry has its own type");
        return finding.fix(text, span.after(), format!(": {ty}"));
    } else {
        finding.label("the host program would have to supply it")
    };
    finding.help(format!(
        "if the host program supplies it, declare it: `extern type {name};`"
    ))
}

/// A type that may have been meant.
#[derive(Clone, Copy)]
struct Near<'a> {
    word: &'a str,
    /// Whether the undeclared name can hardly be meant as it is written.
    is_slip: bool,
}

/// The type that an undeclared name was most likely meant to be. `candidates` is how many of the declared types are compared.
fn near<'a>(program: &'a Program, id: TypeId, file: FileId, candidates: usize) -> Option<Near<'a>> {
    let name = program.ty(id).name.text();
    if let Some(number) = near_number(name) {
        return Some(number);
    }
    if let Some(word) = Builtin::of_another_language(name) {
        // It may be the name of a type in the language of the host program.
        let is_slip = false;
        return Some(Near { word, is_slip });
    }
    let own = program.file(file);
    let imported = own.imports.iter().map(|import| program.file(*import));
    let visible = std::iter::once(own).chain(imported);
    let visible = visible.flat_map(|file| &file.types);
    let visible = visible
        .map(|id| program.ty(*id).name.text())
        .take(candidates);
    let builtin = Builtin::WORDS.iter().map(|(word, _)| *word);
    if let Some(word) = nearest(name, visible.chain(builtin)) {
        // What is written twice is meant.
        let is_once = program.uses.of(Referent::Type(id)).nth(1).is_none();
        let is_slip = is_once && matches!(slip(name, word), Some(Slip::Typing));
        return Some(Near { word, is_slip });
    }
    near_foreign(name)
}

/// The built-in type whose name in another language was misspelt. Short names are near to too much else.
fn near_foreign(name: &str) -> Option<Near<'static>> {
    let name = name.to_ascii_lowercase();
    let words = Builtin::foreign_words().map(|(known, _)| known);
    let words = words.filter(|known| known.len() >= 6 && name.starts_with(&known[..1]));
    let known = nearest(&name, words)?;
    let is_slip = match slip(&name, known) {
        Some(Slip::Typing | Slip::Letter) => true,
        Some(Slip::Replaced) => known.len() >= 7,
        None => false,
    };
    Builtin::of_another_language(known).map(|word| Near { word, is_slip })
}

/// The number type for a name that looks like one, such as `u9` and `f16`. Libraries have numbers of 128 bits and more, and of whole bytes.
fn near_number(name: &str) -> Option<Near<'static>> {
    let (kind, digits) = name.split_at_checked(1)?;
    let is_number = matches!(kind, "u" | "i" | "f")
        && (1..=3).contains(&digits.len())
        && digits.bytes().all(|digit| digit.is_ascii_digit());
    let width: u32 = is_number.then(|| digits.parse().ok())??;
    if width >= 128 {
        return None;
    }
    let words = Builtin::WORDS.iter().map(|(word, _)| *word);
    let widths = words.filter_map(|word| Some((word.strip_prefix(kind)?.parse().ok()?, word)));
    let widths: Vec<(u32, &str)> = widths.collect();
    let find = |is_meant: &dyn Fn(u32) -> bool| {
        let found = widths.iter().find(|(known, _)| is_meant(*known));
        found.map(|(_, word)| *word)
    };
    let swapped = width % 10 * 10 + width / 10;
    let word = find(&|known| known == swapped)
        .or_else(|| find(&|known| known.abs_diff(width) <= 1))
        .or_else(|| find(&|known| known >= width))
        .or(widths.last().map(|(_, word)| *word))?;
    let is_slip = !width.is_multiple_of(8);
    Some(Near { word, is_slip })
}

/// Whether a name is one that type parameters usually have.
fn is_parameter_like(name: &str) -> bool {
    name.len() == 1 && name.bytes().all(|letter| letter.is_ascii_uppercase())
}
