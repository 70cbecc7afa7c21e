//! The tables of `docs/benchmarks.md`: they show what the benchmarks wrote to `tests/bench/results`.

use crate::support::repository;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

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

/// Each case of Duologue beside the limit and the best of the others that can sleep.
fn ratios(results: &str) -> String {
    let mut text = "| | limit | ns | Duologue | ratio | best of the others | ratio |\n\
                    | --- | --- | ---: | --- | ---: | --- | ---: |\n"
        .to_owned();
    for (family, rows) in tables(results) {
        let ratio = |row: &Row| -> Option<f64> { row.get("ratio")?.replace(',', "").parse().ok() };
        let Some(limit) = rows.first().filter(|row| ratio(row).is_some()) else {
            continue;
        };
        let others = rows[1..].iter().filter(|row| {
            let name = &row["case"];
            !name.contains("duologue") && !name.contains("busy") && ratio(row).is_some()
        });
        let best =
            others.min_by(|one, other| ratio(one).partial_cmp(&ratio(other)).expect("numbers"));
        let (name, of_best) = best.map_or(("", ""), |row| (&row["case"], &row["ratio"]));
        for ours in rows.iter().filter(|row| row["case"].contains("duologue")) {
            let case = ours["case"].replace("duologue", "");
            let case = case.trim_start_matches([',', ' ']);
            writeln!(
                text,
                "| {family} | {} | {} | {case} | {} | {name} | {of_best} |",
                limit["case"], limit["tenth percentile"], ours["ratio"]
            )
            .expect("writing to a string cannot fail");
        }
    }
    text
}

/// The bars that are missed.
fn missed(results: &str) -> String {
    let titles = "| missed | compared with | at most | measured |\n| --- | --- | ---: | ---: |\n";
    let mut text = String::new();
    for (family, rows) in tables(results) {
        for row in rows
            .iter()
            .filter(|row| row.values().any(|cell| cell.contains("missed")))
        {
            let whole = row.get("bar").or_else(|| row.get("bar, CPU time"));
            let (what, peer) = match whole {
                Some(bar) => {
                    let (case, peer) = bar.split_once(" compared with ").expect("both");
                    (format!("{family}, {case}"), peer)
                }
                None => (row["family"].clone(), &*row["compared with"]),
            };
            let (most, measured) = (&row["at most"], &row["measured"]);
            writeln!(text, "| {what} | {peer} | {most} | {measured} |")
                .expect("writing to a string cannot fail");
        }
    }
    match &*text {
        "" => "Every bar is met.\n".to_owned(),
        _ => titles.to_owned() + &text,
    }
}

/// A comment before a table names its file: `<!-- ratios of c -->` or `<!-- missed by c -->`. `UPDATE_DOCS=1 cargo test` writes the tables.
#[test]
fn the_page_shows_what_was_measured() {
    let path = repository().join("docs/benchmarks.md");
    let page = fs::read_to_string(&path).expect("it is there");
    let mut shown = String::new();
    let mut count = 0;
    for part in page.split_inclusive("\n\n") {
        let (first, _) = part.split_once('\n').expect("a line");
        let named = first
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"));
        let (table, file): (fn(&str) -> String, _) = match named.map(|named| named.rsplit_once(' '))
        {
            Some(Some(("ratios of", file))) => (ratios, file),
            Some(Some(("missed by", file))) => (missed, file),
            _ => {
                shown += part;
                continue;
            }
        };
        let results = repository().join(format!("tests/bench/results/{file}.md"));
        let results = fs::read_to_string(results).expect("the file of results is there");
        writeln!(shown, "{first}\n{}", table(&results)).expect("writing to a string cannot fail");
        count += 1;
    }
    assert!(count > 0, "docs/benchmarks.md has lost its tables");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &shown).expect("it can be written");
    }
    assert!(
        page == shown || std::env::var_os("UPDATE_DOCS").is_some(),
        "regenerate docs/benchmarks.md with UPDATE_DOCS=1 cargo test"
    );
}
