//! The page of a file's text, with its names linked.

use super::page::Page;
use crate::doc::context::Context;
use crate::html::Html;
use askama::Template;
use duologue::name::Name;
use duologue::protocol::{FileId, Referent};

#[derive(Template)]
#[template(path = "source.html")]
struct SourcePage {
    path: Html,
    package: String,
    docs: Html,
    lines: Vec<Html>,
}

pub fn page(context: &Context<'_>, id: FileId) -> Page {
    let file = context.program.file(id);
    let package: Vec<&str> = file.package.iter().map(Name::text).collect();
    let template = SourcePage {
        path: Html::text(&file.path),
        package: package.join("."),
        docs: context.docs(&file.docs),
        lines: lines(context, id),
    };
    Page::new(
        context.addresses.file(id.index()),
        file.path.clone(),
        &template,
    )
}

fn lines(context: &Context<'_>, id: FileId) -> Vec<Html> {
    let source = context.program.file(id).source;
    let text = context.sources.get(source).text();
    let mut uses = context.program.uses.in_source(source).peekable();
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        let mut html = Html::default();
        let mut at = start;
        while let Some(found) = uses.next_if(|found| (found.span.start as usize) < end) {
            let range = found.span.range();
            // The page of a part is that of the declaration around it.
            let is_part = matches!(
                found.referent,
                Referent::Message(..) | Referent::Field(..) | Referent::Variant(..)
            );
            let address = context.address(found.referent).filter(|_| !is_part);
            if let Some(address) = address
                && range.start >= at
                && range.end <= end
            {
                html.push(text.get(at..range.start).unwrap_or_default());
                html.link(&address, text.get(range.clone()).unwrap_or_default());
                at = range.end;
            }
        }
        html.push(text.get(at..end).unwrap_or_default());
        lines.push(html);
        start += line.len();
    }
    lines
}
