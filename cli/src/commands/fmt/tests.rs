//! What happens if the layout is wrong, which no input can cause.

use super::*;
use crate::exit_code;
use std::fs;

const UGLY: &str = "proto! p { s:send {\nm(~str) -> ! /* c */ } }";

/// The exit code of `fmt` with a given layout, and the texts of two files after it.
fn exit_and_text(name: &str, layout: Layout) -> (u8, String) {
    let folder = std::env::temp_dir().join(format!("duologue-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("there is room for scratch files");
    // The first file formats correctly; it must still not change, because of the second.
    let paths = ["a.proto", "b.proto"].map(|file| folder.join(file));
    fs::write(&paths[0], "type a=u8;").expect("it can be written");
    fs::write(&paths[1], UGLY).expect("it can be written");
    let fmt = Fmt {
        paths: paths.to_vec(),
        check: false,
        diff: false,
        stdin_filepath: None,
        config: config::Choice::default(),
    };
    let terminal = Terminal {
        ascii: true,
        quiet: true,
        verbose: false,
    };
    let code = exit_code(fmt.run_with(layout, &terminal), &terminal);
    let texts = paths.map(|path| fs::read_to_string(path).expect("it is there"));
    let _ = fs::remove_dir_all(&folder);
    (code, texts.join("\n"))
}

#[test]
fn a_layout_that_goes_wrong_writes_nothing() {
    let untouched = format!("type a=u8;\n{UGLY}");
    let faults: [Layout; 3] = [
        |text| lay_out(text).replace('~', ""),
        |text| lay_out(text).replace(" /* c */", ""),
        |text| lay_out(text).replace("->", ""),
    ];
    for layout in faults {
        assert_eq!(exit_and_text("fault", layout), (101, untouched.clone()));
    }
}

#[test]
fn the_layout_itself_is_written() {
    let expected =
        "type a = u8;\n\nproto! p {\n    s:send {\n        m(~str) -> ! /* c */\n    }\n}\n";
    assert_eq!(exit_and_text("right", lay_out), (0, expected.to_owned()));
}
