//! The command line: commands, exit codes, what is printed and what is written.

mod manual;
mod mixed;
mod page;
mod progress;
mod robots;
mod top;
mod unreadable;

use crate::support::program::{Scratch, run, transcript};
use insta::assert_snapshot;

const BANK: &str = include_str!("../../protocols/bank.proto");
const LIGHT: &str =
    "proto! light {\n    off:send { on -> on }\n    on:send { off -> off, broken -> ! }\n}\n";
const WRONG: &str = "proto! light {\n    off:send { on -> onn }\n    on:send { off -> off }\n}\n";

mod check {
    use super::*;

    #[test]
    fn limits_are_shown() {
        let text = "\
#[at_most(64 KiB)]
proto! journal {
    open:send { append(text: str) -> open, #[at_most(2 MiB)] attach(bytes) -> open, #[at_most(100 B)] find(str) -> found, close -> ! }
    #[at_most(1500B)]
    #[within(90s)]
    found:recv { found([str<20>; 10]) -> open, none -> open }
}
";
        let scratch = Scratch::with("check-limits", &[("journal.proto", text)]);
        assert_snapshot!(scratch.transcript("check journal.proto -v --ascii --color never"));
        assert_snapshot!(scratch.transcript("dual journal.proto"));
    }

    #[test]
    fn sound_protocols() {
        let scratch = Scratch::with(
            "check-sound",
            &[("bank.proto", BANK), ("a/light.proto", LIGHT)],
        );
        assert_snapshot!(scratch.transcript("check"));
        assert_snapshot!(scratch.transcript("check bank.proto -v"));
        assert_snapshot!(
            scratch.transcript(
                "check bank.proto -v --ascii -q --color never"
                    .replace(" -q", "")
                    .as_str()
            )
        );
    }

    #[test]
    fn errors_go_to_stdout_and_their_count_to_stderr() {
        let scratch = Scratch::with("check-errors", &[("light.proto", WRONG)]);
        assert_snapshot!(scratch.transcript("check light.proto"));
        assert_snapshot!(scratch.transcript("check light.proto --ascii"));
        assert_snapshot!(scratch.transcript("check light.proto --format short"));
        assert_snapshot!(scratch.transcript("check light.proto --format short -q"));
    }

    #[test]
    fn standard_input() {
        let scratch = Scratch::new("check-stdin");
        let output = run(scratch.duologue("check -"), WRONG.as_bytes());
        assert_snapshot!(transcript("check - < wrong.proto", &output));
        assert_snapshot!(scratch.transcript("check - -"));
    }

    #[test]
    fn what_cannot_be_read() {
        let scratch = Scratch::with("check-unreadable", &[("README.md", "no protocols here")]);
        assert_snapshot!(scratch.transcript("check missing.proto"));
        assert_snapshot!(scratch.transcript("check ."));
        scratch.write(
            "latin.proto",
            b"// caf\xe9\nproto! p { s:send { m -> ! } }\n",
        );
        assert_snapshot!(scratch.transcript("check latin.proto"));
        let large = std::fs::File::create(scratch.path("large.proto")).expect("it can be created");
        large.set_len((64 << 20) + 1).expect("a sparse file");
        assert_snapshot!(scratch.transcript("check large.proto"));
    }

    #[test]
    fn imports_are_found_in_import_directories() {
        let importing = "import \"money.proto\";\nproto! p { s:send { pay(money) -> ! } }\n";
        let files = [
            ("p.proto", importing),
            ("lib/money.proto", "type money = f64;\n"),
        ];
        let scratch = Scratch::with("check-imports", &files);
        assert_snapshot!(scratch.transcript("check p.proto"));
        assert_snapshot!(scratch.transcript("check p.proto -Ilib"));
        assert_snapshot!(scratch.transcript("check -I lib money.proto p.proto"));
    }
}

mod color {
    use super::*;

    fn has_escapes(bytes: &[u8]) -> bool {
        bytes.contains(&0x1b)
    }

    #[test]
    fn only_where_it_is_wanted() {
        let scratch = Scratch::with("color", &[("light.proto", WRONG)]);
        let stdout = |arguments: &str, variable: Option<&str>| {
            let mut command = scratch.duologue(arguments);
            if let Some(name) = variable {
                command.env(name, "1");
            }
            run(command, b"").stdout
        };
        assert!(!has_escapes(&stdout("check light.proto", None)));
        assert!(has_escapes(&stdout(
            "check light.proto --color always",
            None
        )));
        assert!(has_escapes(&stdout(
            "check light.proto",
            Some("CLICOLOR_FORCE")
        )));
        let never = "check light.proto --color never";
        assert!(!has_escapes(&stdout(never, Some("CLICOLOR_FORCE"))));
    }
}

/// The name of a rule is a link to its page where the terminal shows links, and nowhere else.
#[test]
fn a_rule_links_to_its_page() {
    let files = [("p.proto", "proto! p { s:send { m -> t } t:recv { } }\n")];
    let scratch = Scratch::with("links", &files);
    let shown = |color: &str, links: &str| {
        let mut command = scratch.duologue(&format!("check p.proto --color {color}"));
        command.env("FORCE_HYPERLINK", links);
        String::from_utf8_lossy(&run(command, b"").stdout).into_owned()
    };
    let link = "\u{1b}]8;;https://github.com/duologue/duologue/blob/v";
    let text = shown("always", "1");
    assert!(text.contains(link), "{text}");
    assert!(
        text.contains("/docs/rules/stuck-state.md\u{1b}\\"),
        "{text}"
    );
    assert!(!shown("always", "0").contains(link));
    assert!(!shown("never", "1").contains(link));
}

mod views {
    use super::*;

    #[test]
    fn the_dual_of_the_dual_is_the_same_text() {
        let mut seen = 0;
        for folder in ["protocols", "tests/corpus/2012", "tests/corpus/literature"] {
            let folder = crate::support::repository().join(folder);
            for entry in std::fs::read_dir(folder).expect("the folder is there") {
                let path = entry.expect("it can be read").path();
                let scratch = Scratch::new("dual-of-dual");
                let name = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .expect("a UTF-8 name");
                let folder = path
                    .parent()
                    .and_then(|path| path.to_str())
                    .expect("a UTF-8 path");
                let once = run(
                    scratch.duologue(&format!("dual -q -A all -I {folder} {name}")),
                    b"",
                );
                if !once.status.success() {
                    continue;
                }
                let twice = scratch.duologue(&format!("dual -q -A all -I {folder} -"));
                let twice = run(twice, &once.stdout);
                let text = std::fs::read(&path).expect("it can be read");
                let shown = String::from_utf8_lossy(&twice.stdout);
                assert_eq!(shown, String::from_utf8_lossy(&text), "{name}: {twice:?}");
                seen += usize::from(once.stdout != text);
            }
        }
        assert!(seen >= 20, "only {seen} files have a dual");
    }

    #[test]
    fn duals() {
        let office = "/* office */\nproto! office {\n    desk:send { lend(printer::client::ready, office::server::desk?) -> desk, home -> ! }\n}\n\n/// Prints.\n#[allow(never-ends)]\nproto! printer (\n    // by hand\n    ready:send { page(str) -> ready, \"\" -> ! }\n);\n".replace("\"\" -> !", "eject -> !");
        let scratch = Scratch::with("dual", &[("office.proto", &office)]);
        assert_snapshot!(scratch.transcript("dual office.proto"));
        assert_snapshot!(scratch.transcript("dual office.proto printer"));
        assert_snapshot!(scratch.transcript("dual office.proto office"));
        assert_snapshot!(scratch.transcript("dual office.proto pinter"));
    }

    #[test]
    fn a_dual_keeps_control_characters() {
        let text = "// caf\u{1b}[31me \u{7}\nproto! p {\n    s:send { m -> ! }\n}\n";
        let scratch = Scratch::with("dual-control", &[("p.proto", text)]);
        let output = run(scratch.duologue("dual p.proto"), b"");
        let expected = text.replace("send", "recv");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }

    #[test]
    fn graphs() {
        let tricky = "proto! tricky {\n    a:send<T> { m(T?, [(u8, str)], x: tricky::client::a<T>) -> b, n -> ! }\n    b:recv { go -> Done }\n    Done { }\n}\n";
        let files = [("bank.proto", BANK), ("tricky.proto", tricky)];
        let scratch = Scratch::with("graph", &files);
        assert_snapshot!(scratch.transcript("graph bank.proto"));
        assert_snapshot!(scratch.transcript("graph bank.proto bank --format mermaid"));
        assert_snapshot!(scratch.transcript("graph -A all tricky.proto"));
        assert_snapshot!(scratch.transcript("graph -A all tricky.proto --format mermaid"));
    }

    /// Mermaid and SPIN take one protocol at a time; Graphviz draws all that it reads.
    #[test]
    fn graphs_of_one_protocol() {
        let two = "proto! p { s:send { m -> ! } }\nproto! q { s:send { n -> ! } }\n";
        let scratch = Scratch::with("graph-one", &[("two.proto", two)]);
        for language in ["mermaid", "promela"] {
            let answer = scratch.transcript(&format!("graph two.proto --format {language}"));
            assert!(
                answer.contains("shows one protocol: name it, as in two.proto#p"),
                "{answer}"
            );
            assert!(answer.ends_with("--- exit 2 ---\n"), "{answer}");
        }
        let both = scratch.transcript("graph two.proto");
        assert_eq!(both.matches("digraph").count(), 2, "{both}");
        let one = scratch.transcript("graph two.proto#q --format mermaid");
        assert!(one.contains(": n\n") && !one.contains(": m\n"), "{one}");
        let words = scratch.transcript("graph two.proto q --format mermaid");
        assert_eq!(
            one.lines().skip(1).collect::<Vec<_>>(),
            words.lines().skip(1).collect::<Vec<_>>()
        );
        let unknown = scratch.transcript("graph two.proto#r");
        assert!(unknown.contains("there is no protocol `r`"), "{unknown}");
    }
}

mod usage {
    use super::*;

    #[test]
    fn help() {
        let scratch = Scratch::new("help");
        for command in [
            "",
            "check ",
            "gen ",
            "fmt ",
            "explain ",
            "dual ",
            "graph ",
            "breaking ",
            "fingerprint ",
            "model ",
            "trace ",
            "completions ",
            "man ",
        ] {
            let arguments = format!("{command}--help");
            let name = format!("help_{}", command.trim().replace(' ', "_"));
            assert_snapshot!(name, scratch.transcript(&arguments));
        }
    }

    #[test]
    fn wrong_command_lines() {
        let scratch = Scratch::with("usage", &[("light.proto", LIGHT)]);
        assert_snapshot!(scratch.transcript("chekc"));
        assert_snapshot!(scratch.transcript("gen light.proto"));
        assert_snapshot!(scratch.transcript("gen --rust out"));
        assert_snapshot!(scratch.transcript("check -D stuck-stat light.proto"));
        assert_snapshot!(scratch.transcript("check -A syntax light.proto"));
        assert_snapshot!(scratch.transcript("explain stuckstate"));
        assert_snapshot!(scratch.transcript("explain nonsense"));
        assert_snapshot!(scratch.transcript("explain docs"));
    }

    #[test]
    fn version() {
        let output = run(Scratch::new("version").duologue("--version"), b"");
        let version = format!("duologue {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(String::from_utf8_lossy(&output.stdout), version);
    }
}
