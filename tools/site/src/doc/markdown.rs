//! Documentation comments as Markdown. They are text from outside: HTML in them is shown as it is written, a link leads only to
//! `http`, `https` or `mailto`, and an image is a link to it, so that no page requests anything.

use crate::html::Html;
use duologue::protocol::Docs;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// How deep elements are nested at most; deeper ones are left out, and their text stays.
const DEEPEST: usize = 32;
/// The most characters of a summary.
const SUMMARY: usize = 140;

struct Writer {
    html: Html,
    /// The tags that end what is open, empty for what has none.
    open: Vec<&'static str>,
    /// Links do not contain links.
    links: usize,
    is_table_head: bool,
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// A documentation comment.
pub fn html(docs: &Docs) -> Html {
    let text = docs.join("\n");
    let mut writer = Writer {
        html: Html::default(),
        open: Vec::new(),
        links: 0,
        is_table_head: false,
    };
    for event in parser(&text) {
        writer.event(event);
    }
    writer.html
}

/// The first paragraph of a documentation comment as plain text, shortened.
pub fn summary(docs: &Docs) -> String {
    let text = docs.join("\n");
    let mut summary = String::new();
    let mut count = 0;
    for event in parser(&text) {
        let part = match &event {
            Event::Text(part) | Event::Code(part) | Event::InlineHtml(part) | Event::Html(part) => {
                part
            }
            Event::SoftBreak | Event::HardBreak => " ",
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item) if count > 0 => break,
            Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => "",
        };
        for letter in part.chars() {
            if count == SUMMARY {
                return summary + "\u{2026}";
            }
            summary.push(letter);
            count += 1;
        }
    }
    summary.trim().to_owned()
}

/// Whether a link may lead to an address.
fn is_allowed(address: &str) -> bool {
    let start = address.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((scheme, _)) = start.split_once(':') else {
        return false;
    };
    ["http", "https", "mailto"].contains(&scheme.to_ascii_lowercase().as_str())
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.html.push(&text)
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.html.mark("<code>");
                self.html.push(&text);
                self.html.mark("</code>");
            }
            Event::SoftBreak => self.html.push("\n"),
            Event::HardBreak => self.html.mark("<br>"),
            Event::Rule => self.html.mark("<hr>"),
            Event::FootnoteReference(name) => self.html.push(&name),
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        if self.open.len() >= DEEPEST {
            return self.open.push("");
        }
        let is_head = self.is_table_head;
        let made;
        let (start, close) = match tag {
            Tag::Paragraph | Tag::HtmlBlock => ("<p>", "</p>"),
            // A heading of a comment is not one of the page.
            Tag::Heading { .. } => ("<p><strong>", "</strong></p>"),
            Tag::BlockQuote(_) => ("<blockquote>", "</blockquote>"),
            // It scrolls, so keys must reach it.
            Tag::CodeBlock(_) => (
                "<pre tabindex=\"0\" role=\"group\" aria-label=\"Code\"><code>",
                "</code></pre>",
            ),
            Tag::List(None) => ("<ul>", "</ul>"),
            Tag::List(Some(1)) => ("<ol>", "</ol>"),
            Tag::List(Some(first)) => {
                made = format!("<ol start=\"{first}\">");
                (made.as_str(), "</ol>")
            }
            Tag::Item => ("<li>", "</li>"),
            Tag::Table(_) => ("<table>", "</table>"),
            Tag::TableHead => {
                self.is_table_head = true;
                ("<thead><tr>", "</tr></thead>")
            }
            Tag::TableRow => ("<tr>", "</tr>"),
            Tag::TableCell if is_head => ("<th scope=\"col\">", "</th>"),
            Tag::TableCell => ("<td>", "</td>"),
            Tag::Emphasis => ("<em>", "</em>"),
            Tag::Strong => ("<strong>", "</strong>"),
            Tag::Strikethrough => ("<del>", "</del>"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }
                if self.links == 0 && is_allowed(&dest_url) =>
            {
                self.links += 1;
                let address = Html::text(&dest_url);
                made = format!("<a rel=\"noreferrer\" href=\"{address}\">");
                (made.as_str(), "</a>")
            }
            Tag::Link { .. }
            | Tag::Image { .. }
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => ("", ""),
        };
        self.html.mark(start);
        self.open.push(close);
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::TableHead {
            self.is_table_head = false;
        }
        let close = self.open.pop().unwrap_or_default();
        self.links -= usize::from(close == "</a>");
        self.html.mark(close);
    }
}
