//! A picture as SVG: one text, which needs no fonts, scripts or other files, and follows the reader's choice of light or dark.

use super::layout::{Area, LINE, Layout, width};
use super::{Node, Picture};
use crate::html::Html;
use duologue::graph::Step;
use duologue::protocol::{Side, StateId};
use std::fmt::Write;

const STYLE: &str = "\
svg{--text:#1f2328;--line:#656d76;--paper:#ffffff;--client:#ddf4ff;--client-line:#0969da;--server:#fff1e5;--server-line:#bc4c00;--over:#eaeef2;--missing:#cf222e}\
@media(prefers-color-scheme:dark){svg{--text:#e6edf3;--line:#9198a1;--paper:#0d1117;--client:#0c2d6b;--client-line:#79c0ff;--server:#5a1e02;--server-line:#ffa657;--over:#30363d;--missing:#ff7b72}}\
text{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--text);text-anchor:middle}\
.name{font-weight:bold}\
.label{text-anchor:start}\
.state{stroke:var(--line);stroke-width:1.5;fill:var(--over)}\
.client{fill:var(--client);stroke:var(--client-line)}\
.server{fill:var(--server);stroke:var(--server-line)}\
.cut{stroke-dasharray:5 4}\
.arrow{fill:none;stroke:var(--line);stroke-width:1.3;marker-end:url(#tip)}\
.tip,.dot{fill:var(--line)}\
.ring{fill:none;stroke:var(--line);stroke-width:1.5}\
.paper{fill:var(--paper)}\
path.missing{stroke:var(--missing);stroke-dasharray:3 3}\
text.missing{fill:var(--missing)}";

/// The head of an arrow.
const TIP: &str = "<defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
<path class=\"tip\" d=\"M0 1L10 5L0 9z\"/></marker></defs>";

/// The text of a picture with this layout.
#[must_use]
pub fn svg(picture: &Picture, layout: &Layout) -> String {
    let (w, h) = (number(layout.width.ceil()), number(layout.height.ceil()));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<style>{STYLE}</style>\n{TIP}\n\
         <rect class=\"paper\" width=\"{w}\" height=\"{h}\"/>\n",
        Html::text(&picture.name),
        Html::text(&picture.summary),
    );
    body(&mut text, picture, layout, None);
    text + "</svg>\n"
}

/// The addresses of the pages of states, to which inline pictures link.
pub type Links<'a> = &'a dyn Fn(StateId) -> String;

/// The text of a picture inside a page, whose style sheet colors it. Its boxes are links, and scripts find its states and messages
/// by `data-state` and `data-step`.
#[must_use]
pub fn inline(picture: &Picture, layout: &Layout, links: Links<'_>) -> String {
    let (w, h) = (number(layout.width.ceil()), number(layout.height.ceil()));
    let mut text = format!(
        "<svg width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"group\" aria-label=\"{}\">{TIP}\n",
        Html::text(&picture.summary)
    );
    body(&mut text, picture, layout, Some(links));
    text + "</svg>\n"
}

fn body(text: &mut String, picture: &Picture, layout: &Layout, links: Option<Links<'_>>) {
    text.push_str("<g class=\"arrow\">\n");
    for (arrow, points) in picture.arrows.iter().zip(&layout.curves) {
        let is_missing = !arrow.missing.is_empty() && !arrow.missing.contains(&false);
        let class = if is_missing { " class=\"missing\"" } else { "" };
        let _ = writeln!(text, "<path{class} d=\"{}\"/>", curve(points));
    }
    text.push_str("</g>\n");
    for (arrow, label) in picture.arrows.iter().zip(&layout.labels) {
        let Some(area) = label else { continue };
        let steps = links.map(|_| &arrow.steps[..]);
        lines(text, area, &arrow.lines, Some(&arrow.missing), steps);
    }
    for (node, area) in picture.nodes.iter().zip(&layout.nodes) {
        let (x, y) = (number(area.x), number(area.y));
        match node {
            Node::Start => {
                let _ = writeln!(
                    text,
                    "<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"6\"/>"
                );
            }
            Node::End => {
                let _ = writeln!(
                    text,
                    "<circle class=\"ring\" cx=\"{x}\" cy=\"{y}\" r=\"8\"/><circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"
                );
            }
            Node::State {
                id,
                name,
                turn,
                active,
                is_whole,
            } => {
                let side = active.map_or("", Side::word);
                let cut = if *is_whole { "" } else { " cut" };
                let class = format!("state {side}{cut}");
                if let Some(links) = links {
                    let (address, index) = (links(*id), id.index());
                    let _ = write!(
                        text,
                        "<a href=\"{}\" data-state=\"{index}\">",
                        Html::text(&address)
                    );
                }
                text.push_str(&rectangle(area, &class));
                let both = [name.clone(), turn.clone()];
                lines(text, area, &both, None, links.map(|_| &[][..]));
                if links.is_some() {
                    text.push_str("</a>\n");
                }
            }
        }
    }
}

/// The lines of a label, or the name of a state in the middle of its box and what is below it. Inside a page, those of messages say which.
fn lines(
    text: &mut String,
    area: &Area,
    lines: &[String],
    missing: Option<&[bool]>,
    steps: Option<&[Step]>,
) {
    let all: f64 = lines.iter().map(|_| LINE).sum();
    let mut y = area.y - all / 2.0 + LINE * 0.75;
    for (index, line) in lines.iter().enumerate() {
        let class = match (missing.map(|missing| missing.get(index)), index) {
            (Some(Some(true)), _) => " class=\"label missing\"",
            (Some(_), _) => " class=\"label\"",
            (None, 0) => " class=\"name\"",
            (None, _) => "",
        };
        let fit = match steps {
            // The style sheet of the page sets a font with characters of the width that was laid out.
            Some(_) => String::new(),
            None => {
                let width = number(width(line));
                format!(" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\"")
            }
        };
        let step = steps.and_then(|steps| steps.get(index));
        let step = step.map_or_else(String::new, |step| {
            format!(" data-step=\"{}.{}\"", step.state.index(), step.message)
        });
        let _ = writeln!(
            text,
            "<text{class}{step} x=\"{}\" y=\"{}\"{fit}>{}</text>",
            number(if missing.is_some() {
                area.x - area.width / 2.0
            } else {
                area.x
            }),
            number(y),
            Html::text(line)
        );
        y += LINE;
    }
}

fn rectangle(area: &Area, class: &str) -> String {
    let (x, y) = (area.x - area.width / 2.0, area.y - area.height / 2.0);
    let [x, y, w, h] = [x, y, area.width, area.height].map(number);
    let class = class.trim_end();
    format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"8\"/>\n")
}

/// A path of Bézier curves. Those that are straight are lines.
fn curve(points: &[(f64, f64)]) -> String {
    let [first, rest @ ..] = points else {
        return String::new();
    };
    let at = |(x, y): (f64, f64)| format!("{} {}", number(x), number(y));
    let mut path = format!("M{}", at(*first));
    let mut from = *first;
    for piece in rest.chunks_exact(3) {
        let _ = match piece.iter().all(|point| number(point.0) == number(from.0)) {
            true => write!(path, "V{}", number(piece[2].1)),
            false => write!(path, "C{} {} {}", at(piece[0]), at(piece[1]), at(piece[2])),
        };
        from = piece[2];
    }
    path
}

/// A number with at most one digit after the point.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    match text {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}
