//! Both extensions of protocol files where some `.proto` files belong to Protocol Buffers, as build scripts find them.

use super::LIGHT;
use crate::support::program::Scratch;
use duologue::files::protocol_files;

/// Files of Protocol Buffers: with a syntax line, with a declaration first, and one that is not UTF-8.
const FOREIGN: [(&str, &[u8]); 3] = [
    ("api/v1/login.proto", b"syntax = \"proto3\";\n"),
    (
        "api/v2/service.proto",
        b"import \"login.proto\";\nservice s {}\n",
    ),
    ("latin.proto", b"/* caf\xe9 */ syntax = \"proto2\";\n"),
];

fn mixed(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for (path, text) in FOREIGN {
        scratch.write(path, text);
    }
    scratch.write("api/light.proto", LIGHT);
    scratch.write("money.duo", "type money = f64;\n");
    let bank = "import \"money.duo\";\n\nproto! bank {\n    open:send { pay(money) -> ! }\n}\n";
    scratch.write("bank.duo", bank);
    scratch
}

#[test]
fn a_build_script_finds_both_extensions() {
    let scratch = mixed("mixed-build");
    let found = protocol_files(&scratch.path("")).expect("the directory can be read");
    let names = |paths: &[std::path::PathBuf]| -> Vec<String> {
        let below = |path: &std::path::PathBuf| {
            path.strip_prefix(scratch.path(""))
                .map(|path| path.to_string_lossy().replace('\\', "/"))
        };
        paths
            .iter()
            .map(|path| below(path).expect("it is below"))
            .collect()
    };
    assert_eq!(
        names(&found.protocols),
        ["api/light.proto", "bank.duo", "money.duo"]
    );
    let mut foreign: Vec<&str> = FOREIGN.iter().map(|(path, _)| *path).collect();
    foreign.sort_unstable();
    assert_eq!(names(&found.skipped), foreign);
}
