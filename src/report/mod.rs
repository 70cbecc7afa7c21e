//! Findings as text for people: where the problem is, what it is, why, and how to repair it, in the style of rustc.

mod excerpt;

pub use crate::diagnostic::{counted, duration, quoted, size};

use crate::diagnostic::{Diagnostic, Edit, Help, Label, Level};
use crate::source::{Sources, Span};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level as Words, Origin, Patch, Renderer, Snippet,
    normalize_untrusted_str as printable,
};
use excerpt::{Excerpt, excerpts};

/// How to render a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderOptions {
    /// Whether to color it with ANSI escape codes, in the colors of rustc.
    pub is_styled: bool,
    /// Whether to draw frames with box-drawing characters instead of `|`, `-` and `^`.
    pub is_unicode: bool,
    /// Whether a styled report links the name of a rule to its page, for terminals that show links.
    pub has_links: bool,
    /// How many columns there are; longer source lines are cut around the marked part.
    pub width: usize,
}

impl Default for RenderOptions {
    /// Plain ASCII, as for a file.
    fn default() -> RenderOptions {
        RenderOptions {
            is_styled: false,
            is_unicode: false,
            has_links: false,
            width: 140,
        }
    }
}

impl RenderOptions {
    fn renderer(self) -> Renderer {
        let renderer = if self.is_styled {
            Renderer::styled().hyperlink(self.has_links)
        } else {
            Renderer::plain()
        };
        let frames = if self.is_unicode {
            DecorStyle::Unicode
        } else {
            DecorStyle::Ascii
        };
        renderer.decor_style(frames).term_width(self.width.max(20))
    }
}

/// The whole finding with its source lines, labels, notes and repairs; ends without a line break.
///
/// The time it takes depends on what is shown, not on how long the sources are.
#[must_use]
pub fn full(diagnostic: &Diagnostic, sources: &Sources, options: RenderOptions) -> String {
    let title = words(diagnostic.level)
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.rule);
    let title = match page_of(diagnostic.rule) {
        Some(address) => title.id_url(address),
        None => title,
    };
    let mut groups = vec![Group::with_title(title)];
    let places = std::iter::once(&diagnostic.primary).chain(&diagnostic.related);
    let places: Vec<&Label> = places.collect();
    let spans: Vec<Span> = places.iter().map(|place| place.span).collect();
    for excerpt in excerpts(sources, &spans) {
        show_places(&mut groups, &excerpt, &places);
    }
    let mut last = groups.pop().expect("there is always a first group");
    let mut repairs = Vec::new();
    for note in &diagnostic.notes {
        last = last.element(Words::NOTE.message(printable(note)));
    }
    for help in &diagnostic.helps {
        match patched(help, sources) {
            Some(group) => repairs.push(group),
            None => last = last.element(Words::HELP.message(printable(&help.text))),
        }
    }
    groups.push(last);
    groups.extend(repairs);
    options.renderer().render(&groups)
}

/// The address of a rule's page; `None` if there is no such rule.
fn page_of(name: &str) -> Option<String> {
    let is_rule = crate::check::every_rule().any(|rule| rule.name == name);
    let version = env!("CARGO_PKG_VERSION");
    let pages = format!("https://github.com/duologue/duologue/blob/v{version}/docs/rules");
    is_rule.then(|| format!("{pages}/{name}.md"))
}

/// One line: `file:line:column: level[rule]: message`, which editors can parse.
#[must_use]
pub fn short(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let place = diagnostic.primary.span;
    let source = sources.get(place.source);
    let at = source.position(place.start as usize);
    let level = word(diagnostic.level);
    let (name, message) = (printable(source.name()), printable(&diagnostic.message));
    format!(
        "{name}:{}:{}: {level}[{}]: {}",
        at.line,
        at.column,
        diagnostic.rule,
        message.replace('\n', " ")
    )
}

/// The last line of a run, such as `2 errors, 1 warning in 3 files`.
#[must_use]
pub fn summary(diagnostics: &[Diagnostic], files: usize) -> String {
    let of = |level| diagnostics.iter().filter(|d| d.level == level).count();
    let (errors, warnings) = (of(Level::Deny), of(Level::Warn));
    let found = match (errors, warnings) {
        (0, 0) => "no errors, no warnings".to_owned(),
        (_, 0) => counted(errors, "error"),
        (0, _) => counted(warnings, "warning"),
        _ => [counted(errors, "error"), counted(warnings, "warning")].join(", "),
    };
    format!("{found} in {}", counted(files, "file"))
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Allow => "allowed",
        Level::Warn => "warning",
        Level::Deny => "error",
    }
}

fn words(level: Level) -> Words<'static> {
    match level {
        Level::Allow => Words::NOTE,
        Level::Warn => Words::WARNING,
        Level::Deny => Words::ERROR,
    }
}

/// Adds the lines of one excerpt with all its marks. The first of `places` is the primary location.
fn show_places<'a>(groups: &mut Vec<Group<'a>>, excerpt: &Excerpt<'a>, places: &[&'a Label]) {
    let snippet = Snippet::source(excerpt.text).line_start(excerpt.first_line);
    let snippet = snippet.annotations(excerpt.marks.iter().map(|mark| {
        let kind = if mark.of == 0 {
            AnnotationKind::Primary
        } else {
            AnnotationKind::Context
        };
        let text = &places[mark.of].text;
        let annotation: Annotation<'_> = kind.span(mark.range.clone());
        annotation.label((!text.is_empty()).then_some(text.as_str()))
    }));
    let group = groups.pop().expect("there is always a first group");
    groups.push(if excerpt.is_cut {
        // The renderer would count columns in the piece.
        let at = excerpt.position;
        let origin = Origin::path(excerpt.name).line(at.line);
        let origin = origin.char_column(at.column);
        group.element(origin).element(snippet)
    } else {
        group.element(snippet.path(excerpt.name))
    });
}

/// A repair as changed lines, or `None` if only its text can be shown.
fn patched<'a>(help: &'a Help, sources: &'a Sources) -> Option<Group<'a>> {
    let edits = help.edits.iter();
    let mut edits: Vec<(Span, &Edit)> = edits.map(|edit| (edit.place(sources), edit)).collect();
    edits.sort_by_key(|(span, _)| *span);
    let overlap = edits.windows(2).any(|pair| {
        let (one, other) = (pair[0].0, pair[1].0);
        one.source == other.source && one.end > other.start
    });
    let spans: Vec<Span> = edits.iter().map(|(span, _)| *span).collect();
    let excerpts = excerpts(sources, &spans);
    let is_whole = |excerpt: &Excerpt<'_>| {
        let exact = |mark: &excerpt::Mark| mark.is_exact;
        !excerpt.is_cut && excerpt.marks.iter().all(exact)
    };
    if edits.is_empty() || overlap || !excerpts.iter().all(is_whole) {
        return None;
    }
    let mut group = Group::with_title(Words::HELP.secondary_title(printable(&help.text)));
    for excerpt in excerpts {
        let snippet = Snippet::source(excerpt.text)
            .line_start(excerpt.first_line)
            .path(excerpt.name);
        let patches = excerpt.marks.iter();
        let patches =
            patches.map(|mark| Patch::new(mark.range.clone(), edits[mark.of].1.text.as_str()));
        group = group.element(snippet.patches(patches));
    }
    Some(group)
}
