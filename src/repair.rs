//! Automatic repairs: which of the safe repairs of a compilation make the program better.
//!
//! That a repair is safe means that what was written has only one reading; whether the repair helps is tried. A repair is made if
//! the program has fewer errors with it and none where it was made. If it reveals another mistake instead, it is made together with
//! the repair of that. A warning is repaired only in a text without errors, if the program then has fewer findings and no errors.

use crate::compile::{Compilation, Files, Input, Request, Unreadable, compile};
use crate::diagnostic::{Diagnostic, Edit, Help, Level};
use crate::resolve::load::slashed;
use crate::source::{SourceId, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How many bytes of text are compiled to try repairs; those that were not tried are left to the user.
const WORK: usize = 32 << 20;
/// How often a program of any size is compiled for that.
const ATTEMPTS: usize = 8;

/// A program after its repairs.
#[derive(Debug)]
pub struct Repaired {
    /// The program, checked again.
    pub compilation: Compilation,
    /// The texts that changed, by the identities of their files.
    pub texts: BTreeMap<PathBuf, String>,
    /// How many repairs were made.
    pub repairs: usize,
}

/// The files of a run, some of them with a different text.
pub struct Edited<'a> {
    /// The files.
    pub files: &'a dyn Files,
    /// The other texts, by what identifies their files.
    pub texts: &'a BTreeMap<PathBuf, String>,
}

impl Files for Edited<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.texts.get(&self.identity(path)?) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => self.files.read(path),
        }
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.identity(path)
    }
}

/// Makes the safe repairs of the inputs that `is_wanted` accepts by their names until none is left. Comments and layout are kept.
///
/// # Errors
/// An input that cannot be read.
pub fn repair(
    request: &Request,
    files: &dyn Files,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Repaired, Unreadable> {
    let mut now = Repaired {
        compilation: compile(request, files)?,
        texts: BTreeMap::new(),
        repairs: 0,
    };
    let mut trial = Trial::new(request, files, is_wanted, &now.compilation);
    loop {
        let candidates = trial.candidates(&now.compilation, offered(&now.compilation));
        let mut better = None;
        trial.each_half(&candidates, |trial, part| {
            if better.is_none() {
                better = trial.better(&now, part)?;
            }
            Ok(better.is_some())
        })?;
        match better {
            Some(better) => now = better,
            None => return Ok(now),
        }
    }
}

/// Which of some repairs would be made automatically, by their addresses.
///
/// # Errors
/// An input that cannot be read.
pub fn automatic<'a>(
    request: &Request,
    files: &dyn Files,
    compilation: &'a Compilation,
    repairs: impl Iterator<Item = (&'a Diagnostic, &'a Help)>,
) -> Result<BTreeSet<*const Help>, Unreadable> {
    let mut trial = Trial::new(request, files, &|_| true, compilation);
    let candidates = trial.candidates(compilation, repairs);
    let mut made = BTreeSet::new();
    let texts = BTreeMap::new();
    trial.each_half(&candidates, |trial, part| {
        let is_better = trial.improves(compilation, &texts, part)?.is_some();
        if is_better {
            made.extend(part.iter().map(|(help, _)| std::ptr::from_ref(*help)));
        }
        Ok(is_better)
    })?;
    Ok(made)
}

/// Leaves [`Help::is_safe`] only to repairs that would be made automatically.
///
/// # Errors
/// An input that cannot be read.
pub fn verify(
    request: &Request,
    files: &dyn Files,
    compilation: &mut Compilation,
) -> Result<(), Unreadable> {
    let made = automatic(request, files, compilation, offered(compilation))?;
    let found = compilation.diagnostics.iter_mut();
    for help in found.flat_map(|found| &mut found.helps) {
        help.is_safe &= made.contains(&std::ptr::from_ref(help));
    }
    Ok(())
}

fn offered(of: &Compilation) -> impl Iterator<Item = (&Diagnostic, &Help)> {
    let found = of.diagnostics.iter();
    found.flat_map(|found| found.helps.iter().map(move |help| (found, help)))
}

/// A safe repair, and whether what it repairs is an error.
type Candidate<'a> = (&'a Help, bool);

/// A program with some repairs, its texts that changed, and how many repairs it has.
type Attempt = (Compilation, BTreeMap<PathBuf, String>, usize);

/// Tries repairs.
struct Trial<'r> {
    request: &'r Request,
    files: &'r dyn Files,
    is_wanted: &'r dyn Fn(&str) -> bool,
    /// The inputs that may be edited, by the names that reports show.
    identities: BTreeMap<String, PathBuf>,
    /// How often the program may still be compiled.
    attempts: usize,
}

impl<'r> Trial<'r> {
    fn new(
        request: &'r Request,
        files: &'r dyn Files,
        is_wanted: &'r dyn Fn(&str) -> bool,
        compilation: &Compilation,
    ) -> Trial<'r> {
        let sizes = compilation.sources.iter();
        let size: usize = sizes.map(|(_, source)| source.text().len()).sum();
        Trial {
            request,
            files,
            is_wanted,
            identities: identities(request, files),
            attempts: (WORK / size.max(1)).max(ATTEMPTS),
        }
    }

    /// Tries repairs together, and those that fail together in halves.
    fn each_half<'a, F>(
        &mut self,
        candidates: &[Candidate<'a>],
        mut succeeds: F,
    ) -> Result<(), Unreadable>
    where
        F: FnMut(&mut Self, &[Candidate<'a>]) -> Result<bool, Unreadable>,
    {
        let mut parts = vec![candidates];
        while let Some(part) = parts.pop() {
            if !part.is_empty() && !succeeds(self, part)? && part.len() > 1 {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
        }
        Ok(())
    }

    /// The safe repairs of texts that may be edited, without those that touch an earlier one.
    fn candidates<'a>(
        &self,
        base: &'a Compilation,
        repairs: impl Iterator<Item = (&'a Diagnostic, &'a Help)>,
    ) -> Vec<Candidate<'a>> {
        let errors = base.diagnostics.iter().filter(|found| is_error(found));
        let wrong: BTreeSet<SourceId> = errors.map(|found| found.primary.span.source).collect();
        // Starts and ends of the chosen edits. No two touch unless they belong to one repair, so the ends are in the order of the
        // starts.
        let mut taken: BTreeMap<(SourceId, u32), u32> = BTreeMap::new();
        let mut candidates = Vec::new();
        for (found, help) in repairs.filter(|(_, help)| help.is_safe) {
            let touches = |edit: &Edit| {
                let key = (edit.span.source, edit.span.end);
                let nearest = taken.range(..=key).next_back();
                nearest.is_some_and(|((source, _), end)| {
                    *source == edit.span.source && *end >= edit.span.start
                })
            };
            let Some(source) = help.edits.first().map(|edit| edit.span.source) else {
                continue;
            };
            let name = base.sources.get(source).name();
            let may_edit = self.identities.contains_key(name) && (self.is_wanted)(name);
            let is_judged = is_error(found) || !wrong.contains(&source);
            if !may_edit || !is_judged || help.edits.iter().any(touches) {
                continue;
            }
            for Edit { span, .. } in &help.edits {
                let end = taken.entry((span.source, span.start)).or_default();
                *end = span.end.max(*end);
            }
            candidates.push((help, is_error(found)));
        }
        candidates
    }

    fn better(
        &mut self,
        now: &Repaired,
        part: &[Candidate<'_>],
    ) -> Result<Option<Repaired>, Unreadable> {
        let found = self.improves(&now.compilation, &now.texts, part)?;
        Ok(found.map(|(compilation, texts, repairs)| Repaired {
            compilation,
            texts,
            repairs: now.repairs + repairs,
        }))
    }

    /// The program with some repairs, if they make it better. A mistake can hide another one of the same kind after it, which is then
    /// repaired too.
    fn improves(
        &mut self,
        base: &Compilation,
        texts: &BTreeMap<PathBuf, String>,
        part: &[Candidate<'_>],
    ) -> Result<Option<Attempt>, Unreadable> {
        let errors = |of: &Compilation, known: &Known| {
            let errors = of.diagnostics.iter().filter(|found| is_error(found));
            errors.filter(|found| !known.was_warned(of, found)).count()
        };
        let mut known = Known::of(base);
        let (old, all) = (errors(base, &known), base.diagnostics.len());
        let repaired = part.iter().filter(|(_, is_error)| *is_error).count();
        let mut now = self.attempt(base, texts, part, &mut known)?;
        while let Some((after, texts, repairs)) = now {
            let new = errors(&after, &known);
            let has_fewer = repaired == part.len() || after.diagnostics.len() + part.len() <= all;
            if new + repaired <= old && has_fewer {
                return Ok(Some((after, texts, repairs)));
            }
            let is_new = |(found, _): &(&Diagnostic, &Help)| {
                is_error(found) && !known.errors.contains(&place(&after, found))
            };
            let revealed = offered(&after).filter(is_new);
            let revealed = self.candidates(&after, revealed);
            if new > old || revealed.is_empty() {
                break;
            }
            let more = self.attempt(&after, &texts, &revealed, &mut known)?;
            now = more.map(|(after, texts, more)| (after, texts, repairs + more));
        }
        Ok(None)
    }

    /// The program with some repairs, unless there is an error where one of them was made. What is `known` moves with the texts.
    fn attempt(
        &mut self,
        base: &Compilation,
        texts: &BTreeMap<PathBuf, String>,
        part: &[Candidate<'_>],
        known: &mut Known,
    ) -> Result<Option<Attempt>, Unreadable> {
        if self.attempts == 0 {
            return Ok(None);
        }
        self.attempts -= 1;
        let mut edits: BTreeMap<SourceId, Vec<(Span, &str)>> = BTreeMap::new();
        for edit in part.iter().flat_map(|(help, _)| &help.edits) {
            let place = edit.place(&base.sources);
            edits
                .entry(place.source)
                .or_default()
                .push((place, &edit.text));
        }
        let mut texts = texts.clone();
        let mut places: BTreeMap<&str, Vec<Range<usize>>> = BTreeMap::new();
        for (source, edits) in edits {
            let source = base.sources.get(source);
            known.errors = moved(&known.errors, source.name(), &edits);
            known.warned = moved(&known.warned, source.name(), &edits);
            let (text, repaired) = applied(source.text(), edits);
            texts.insert(self.identities[source.name()].clone(), text);
            places.insert(source.name(), repaired);
        }
        let mut request = self.request.clone();
        for input in &mut request.inputs {
            if let Input::Text { path, bytes } = input
                && let Some(text) = texts.get(path)
            {
                *bytes = text.clone().into_bytes();
            }
        }
        let files = Edited {
            files: self.files,
            texts: &texts,
        };
        let after = compile(&request, &files)?;
        let is_at_repair = |found: &Diagnostic| {
            let Span { source, start, end } = found.primary.span;
            let places = places.get(after.sources.get(source).name());
            let places = places.map_or(&[][..], Vec::as_slice);
            // They do not overlap, so the first that ends after the start is the only candidate.
            let at = places.partition_point(|place| place.end <= start as usize);
            places
                .get(at)
                .is_some_and(|place| place.start < end as usize)
        };
        let mut errors = after.diagnostics.iter().filter(|found| is_error(found));
        if errors.any(is_at_repair) {
            return Ok(None);
        }
        Ok(Some((after, texts, part.len())))
    }
}

/// The name of a text and the first byte of a finding in it.
fn place(of: &Compilation, found: &Diagnostic) -> (String, usize) {
    let span = found.primary.span;
    let name = of.sources.get(span.source).name();
    (name.to_owned(), span.start as usize)
}

/// What was found before repairs.
struct Known {
    /// The places of errors.
    errors: BTreeSet<(String, usize)>,
    /// The places of warnings that can become errors because more is known: once a type is declared, a name near to it is a slip.
    warned: BTreeSet<(String, usize)>,
}

impl Known {
    fn of(base: &Compilation) -> Known {
        let (errors, others): (Vec<_>, Vec<_>) = base.diagnostics.iter().partition(|d| is_error(d));
        let warned = others.into_iter().filter(|found| may_be_raised(found));
        let errors = errors.into_iter().map(|found| place(base, found));
        Known {
            errors: errors.collect(),
            warned: warned.map(|found| place(base, found)).collect(),
        }
    }

    fn was_warned(&self, of: &Compilation, found: &Diagnostic) -> bool {
        may_be_raised(found) && self.warned.contains(&place(of, found))
    }
}

fn may_be_raised(found: &Diagnostic) -> bool {
    found.rule == "undeclared-type"
}

/// Places after edits of one of the texts.
fn moved(
    places: &BTreeSet<(String, usize)>,
    name: &str,
    edits: &[(Span, &str)],
) -> BTreeSet<(String, usize)> {
    let mut edits: Vec<_> = edits.iter().collect();
    edits.sort_by_key(|(place, _)| *place);
    let ends: Vec<usize> = edits.iter().map(|(place, _)| place.range().end).collect();
    let mut moves = vec![(0, 0)];
    for (place, with) in edits {
        let (removed, added) = moves[moves.len() - 1];
        moves.push((removed + place.range().len(), added + with.len()));
    }
    let to = |at: usize| {
        let (removed, added) = moves[ends.partition_point(|end| *end <= at)];
        (at + added).saturating_sub(removed)
    };
    let places = places.iter().map(|(own, at)| match own == name {
        true => (own.clone(), to(*at)),
        false => (own.clone(), *at),
    });
    places.collect()
}

fn is_error(found: &Diagnostic) -> bool {
    found.level == Level::Deny
}

/// The inputs by the names that reports show. Files that share such a name, because their own names are not UTF-8, are left out.
pub fn identities(request: &Request, files: &dyn Files) -> BTreeMap<String, PathBuf> {
    let mut identities = BTreeMap::new();
    let mut ambiguous = Vec::new();
    for input in &request.inputs {
        let (path, identity) = match input {
            Input::Path(path) => (path, files.identity(path)),
            Input::Text { path, .. } => (path, Ok(path.clone())),
        };
        let (name, Ok(identity)) = (slashed(path), identity) else {
            continue;
        };
        let other = identities.insert(name.clone(), identity.clone());
        if other.is_some_and(|other| other != identity) {
            ambiguous.push(name);
        }
    }
    for name in ambiguous {
        identities.remove(&name);
    }
    identities
}

/// The text with each range replaced, and where the replacements are in it. The ranges of two removals may share a line break or
/// the blank line between them; the later one then begins where the earlier one ends.
pub fn applied(text: &str, mut edits: Vec<(Span, &str)>) -> (String, Vec<Range<usize>>) {
    edits.sort_by_key(|(place, _)| *place);
    let mut result = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(edits.len());
    let mut at = 0;
    for (place, with) in edits {
        let range = place.range();
        result += &text[at..range.start.max(at)];
        places.push(result.len()..result.len() + with.len());
        result += with;
        at = range.end.max(at);
    }
    (result + &text[at..], places)
}
