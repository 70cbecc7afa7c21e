//! Several files: packages, imports, and names that occur in more than one file.

use super::{fires, says};
use crate::support::texts::{compile_texts, findings, fired};
use duologue::compile::Compilation;

/// Compiles the first of these texts, which must fire exactly these rules.
#[track_caller]
fn fire(texts: &[(&str, &str)], rules: &[&str]) -> Compilation {
    let bytes: Vec<_> = texts
        .iter()
        .map(|(path, text)| (*path, text.as_bytes()))
        .collect();
    let compilation = compile_texts(&bytes);
    assert_eq!(fired(&compilation), rules, "{}", findings(&compilation));
    compilation
}

const USE: &str = "proto! p { s:send { m(receipt) -> ! } }";

#[test]
fn an_import_brings_types_bounds_and_protocols() {
    let types = "type receipt = u8; extern bound shown; proto! q { t:send { m -> ! } }";
    let user = "import \"t.proto\"; proto! p { s:send<T: shown> { m(receipt, T) -> s<T>, n(q::client::t) -> ! } }";
    let compilation = fire(&[("main.proto", user), ("t.proto", types)], &[]);
    let checked = compilation.checked.expect("checked");
    let files = &checked.program().files;
    assert_eq!(
        files.iter().map(|file| file.is_input).collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn imports_are_relative_to_the_importing_file() {
    fire(
        &[
            ("a/main.proto", &format!("import \"b/t.proto\"; {USE}")),
            (
                "a/b/t.proto",
                "import \"../../c/u.proto\"; type receipt = money;",
            ),
            ("c/u.proto", "type money = f64;"),
        ],
        &[],
    );
}

#[test]
fn imports_are_not_transitive() {
    fire(
        &[
            ("main.proto", &format!("import \"t.proto\"; {USE}")),
            ("t.proto", "import \"u.proto\"; type money = receipt;"),
            ("u.proto", "package u; type receipt = f64;"),
        ],
        &["undeclared-type", "unused-import"],
    );
}

#[test]
fn packages_do_not_matter_to_imports() {
    fire(
        &[
            (
                "main.proto",
                &format!("package a.b; import \"t.proto\"; {USE}"),
            ),
            ("t.proto", "package a; type receipt = u8;"),
        ],
        &[],
    );
}

#[test]
fn two_imports_may_declare_the_same_name_until_it_is_used() {
    let declarations = [
        ("t.proto", "package t; type receipt = u8; type note = str;"),
        ("u.proto", "package u; type receipt = u8; type bill = str;"),
    ];
    let unused =
        "import \"t.proto\"; import \"u.proto\"; proto! p { s:send { m(note, bill) -> ! } }";
    fire(
        &[("main.proto", unused), declarations[0], declarations[1]],
        &[],
    );
    let used = format!("{unused} proto! q {{ s:send {{ m(receipt) -> ! }} }}");
    let compilation = fire(
        &[("main.proto", &used), declarations[0], declarations[1]],
        &["duplicate-name"],
    );
    assert_eq!(compilation.diagnostics.len(), 1);
    assert!(
        compilation.diagnostics[0].related.len() >= 2,
        "{:?}",
        compilation.diagnostics
    );
}

#[test]
fn a_local_name_does_not_replace_an_imported_one() {
    let user = format!("import \"t.proto\"; type receipt = u8; {USE}");
    fire(
        &[
            ("main.proto", &user),
            ("t.proto", "package t; type receipt = u8;"),
        ],
        &["duplicate-name"],
    );
}

#[test]
fn one_file_is_read_once_whatever_its_spelling() {
    let user = format!(
        "import \"t.proto\"; import \"./t.proto\"; import \"x/../t.proto\"; import \"x/u.proto\"; {USE} proto! q {{ s:send {{ m(bill) -> ! }} }}"
    );
    let compilation = fire(
        &[
            ("main.proto", &user),
            ("t.proto", "type receipt = u8;"),
            ("x/u.proto", "import \"../t.proto\"; type bill = receipt;"),
        ],
        &[],
    );
    assert_eq!(
        compilation.checked.expect("checked").program().files.len(),
        3
    );
}

#[test]
fn imports_may_not_form_cycles() {
    let compilation = fire(
        &[
            (
                "main.proto",
                "import \"t.proto\"; proto! p { s:send { m -> ! } }",
            ),
            ("t.proto", "import \"u.proto\"; type money = u8;"),
            ("u.proto", "import \"main.proto\"; type bill = u8;"),
        ],
        &["import-cycle"],
    );
    assert_eq!(
        compilation.diagnostics.len(),
        1,
        "{}",
        findings(&compilation)
    );
    fire(
        &[(
            "main.proto",
            "import \"main.proto\"; proto! p { s:send { m -> ! } }",
        )],
        &["import-cycle"],
    );
}

#[test]
fn a_missing_file_is_reported_once_and_what_it_may_declare_is_not() {
    let compilation = fire(
        &[("main.proto", &format!("import \"t.proto\"; {USE}"))],
        &["unresolved-import"],
    );
    assert_eq!(
        compilation.diagnostics.len(),
        1,
        "{}",
        findings(&compilation)
    );
    assert!(!compilation.files_missed.is_empty());
}

#[test]
fn mistakes_of_an_imported_file_are_reported_there() {
    let compilation = fire(
        &[
            ("main.proto", &format!("import \"t.proto\"; {USE}")),
            ("t.proto", "type receipt = ;"),
        ],
        &["syntax"],
    );
    let found = &compilation.diagnostics[0];
    assert_eq!(
        compilation.sources.get(found.primary.span.source).name(),
        "t.proto"
    );
}

#[test]
fn package_and_imports_come_first() {
    says(
        &fires(
            "type a = u8; import \"t.proto\"; proto! p { s:send { m(a) -> ! } }",
            &["syntax", "unresolved-import"],
        ),
        "imports come before",
    );
    says(
        &fires(
            "package a; package b; proto! p { s:send { m -> ! } }",
            &["syntax"],
        ),
        "package",
    );
    fires(
        "import \"t.proto\"; package a; proto! p { s:send { m -> ! } }",
        &["syntax", "unresolved-import"],
    );
}

#[test]
fn files_of_one_package_share_their_names() {
    fire(
        &[
            (
                "main.proto",
                "package a; import \"t.proto\"; proto! p { s:send { m -> ! } }",
            ),
            ("t.proto", "package a; proto! p { s:send { m -> ! } }"),
        ],
        &["duplicate-name"],
    );
}

#[test]
fn bytes_that_are_not_text_are_an_error_with_a_position() {
    let compilation = compile_texts(&[("main.proto", b"proto! p { s:send {\n  m\xff -> ! } }")]);
    assert_eq!(fired(&compilation), ["syntax"]);
    let span = compilation.diagnostics[0].primary.span;
    let place = compilation
        .sources
        .get(span.source)
        .position(span.start as usize);
    assert_eq!((place.line, place.column), (2, 4));
}

/// A cycle of many files is reported as one finding of a few lines.
#[test]
fn a_long_cycle_of_imports_is_cut_short() {
    let names: Vec<String> = (0..40).map(|index| format!("f{index}.proto")).collect();
    let texts: Vec<String> = (0..40)
        .map(|index| format!("import \"f{}.proto\";\n", (index + 1) % 40))
        .collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(String::as_str)
        .zip(texts.iter().map(String::as_str))
        .collect();
    let compilation = fire(&files, &["import-cycle"]);
    assert_eq!(compilation.diagnostics.len(), 1);
    let found = &compilation.diagnostics[0];
    assert_eq!(found.related.len(), 8);
    assert_eq!(found.notes, ["the cycle continues through 31 more imports"]);
}
