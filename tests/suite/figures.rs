//! The tables of `docs/benchmarks.md`: they show what the benchmarks wrote to `tests/bench/results`.

use crate::support::{is_current, repository};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

/// The files of results that the page shows.
const FILES: [&str; 5] = ["rust", "remote", "c", "processes", "scala"];

fn read(file: &str) -> String {
    let path = repository().join(format!("tests/bench/results/{file}.md"));
    fs::read_to_string(path).expect("the file of results is there")
}

/// A row of a table, by the titles of its columns. Of two columns with one title, the first.
type Row = BTreeMap<String, String>;

/// The tables of a page, each with the heading before it.
fn tables(page: &str) -> Vec<(String, Vec<Row>)> {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim_matches('|').split('|');
        inner.map(|cell| cell.trim().to_owned()).collect()
    };
    let (mut heading, mut titles) = (String::new(), None);
    let mut tables: Vec<(String, Vec<Row>)> = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix('#') {
            heading = title.trim_start_matches('#').trim().to_owned();
        }
        if !line.starts_with('|') {
            titles = None;
        } else if line.starts_with("| ---") {
        } else if let Some(titles) = &titles {
            let mut row = Row::new();
            for (title, cell) in std::iter::zip(titles, cells(line)) {
                row.entry(String::clone(title)).or_insert(cell);
            }
            tables.last_mut().expect("it has titles").1.push(row);
        } else {
            titles = Some(cells(line));
            tables.push((heading.clone(), Vec::new()));
        }
    }
    tables
}

/// The cases of Duologue beside the limit and the best of the others that can sleep. Of families that differ in a size or after a comma, the
/// first and the last are shown.
fn ratios(results: &str) -> String {
    let mut text = "| | limit | ns | Duologue | best of the others | |\n| --- | --- | ---: | ---: | --- | ---: |\n".to_owned();
    let ratio = |row: &Row| -> Option<f64> { row.get("ratio")?.replace(',', "").parse().ok() };
    let mut families = tables(results);
    families.retain(|(_, rows)| rows.first().is_some_and(|row| ratio(row).is_some()));
    let kind = |index: usize| {
        let (family, _): &(String, Vec<Row>) = families.get(index)?;
        let name = family.split(',').next()?;
        Some(name.replace(|letter: char| letter.is_ascii_digit(), ""))
    };
    for (index, (family, rows)) in families.iter().enumerate() {
        if index > 0 && kind(index - 1) == kind(index) && kind(index) == kind(index + 1) {
            continue;
        }
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        for row in rows {
            match row["case"].strip_prefix("duologue") {
                Some(case) => ours.push(
                    format!("{} {}", row["ratio"], case.trim_start_matches([',', ' ']))
                        .trim()
                        .to_owned(),
                ),
                None => others.push(row),
            }
        }
        if ours.is_empty() {
            continue;
        }
        let limit = &rows[0];
        others.retain(|row| row["case"] != limit["case"] && !row["case"].contains("busy"));
        others.retain(|row| ratio(row).is_some());
        let best = others.into_iter().min_by(|one, other| {
            let ratios = [one, other].map(|row| ratio(row).expect("it has one"));
            ratios[0].total_cmp(&ratios[1])
        });
        let (name, of_best) = best.map_or(("", ""), |row| (&row["case"], &row["ratio"]));
        let (case, time) = (&limit["case"], &limit["tenth percentile"]);
        writeln!(
            text,
            "| {family} | {case} | {time} | {} | {name} | {of_best} |",
            ours.join(", ")
        )
        .expect("writing to a string cannot fail");
    }
    text
}

/// The bars that are missed, of all languages.
fn missed() -> String {
    let mut text =
        "| | missed | compared with | at most | measured |\n| --- | --- | --- | ---: | ---: |\n"
            .to_owned();
    for file in FILES {
        for (family, rows) in tables(&read(file)) {
            for row in rows
                .iter()
                .filter(|row| row.values().any(|cell| cell.contains("missed")))
            {
                let bar = row.get("bar").or_else(|| row.get("bar, CPU time"));
                let (family, peer) = match bar {
                    Some(bar) => (&family, bar.split_once(" compared with ").expect("both").1),
                    None => (&row["family"], &*row["compared with"]),
                };
                let (most, measured) = (&row["at most"], &row["measured"]);
                writeln!(text, "| {file} | {family} | {peer} | {most} | {measured} |")
                    .expect("writing to a string cannot fail");
            }
        }
    }
    text
}

/// A comment before a table names its file, as in `<!-- ratios of c -->`. `UPDATE_DOCS=1 cargo test` writes the tables.
#[test]
fn the_page_shows_what_was_measured() {
    let page = fs::read_to_string(repository().join("docs/benchmarks.md"));
    let page = page.expect("it is there");
    let mut shown = String::new();
    let mut left = FILES.to_vec();
    for part in page.split_inclusive("\n\n") {
        let (first, _) = part.split_once('\n').expect("a line");
        let named = first
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"));
        let table = match named.map(|named| named.strip_prefix("ratios of ").unwrap_or(named)) {
            Some("missed") => missed(),
            Some(file) => {
                left.retain(|other| *other != file);
                ratios(&read(file))
            }
            None => {
                shown += part;
                continue;
            }
        };
        writeln!(shown, "{first}\n{table}").expect("writing to a string cannot fail");
    }
    assert!(left.is_empty(), "docs/benchmarks.md lacks {left:?}");
    is_current("docs/benchmarks.md", &shown);
}
