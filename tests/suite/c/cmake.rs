//! The CMake package and the pkg-config file of the runtime.

use crate::support::c::{runtime, scratch};
use crate::support::{edit, succeed, tool_of};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const GENERATORS: [&str; 2] = ["Unix Makefiles", "Ninja"];

fn cmake() -> Command {
    tool_of("cmake", "cmake")
}

/// Configures a project that uses the runtime which is installed there, and this compiler.
fn configured(
    [source, build, prefix, compiler]: [&Path; 4],
    arguments: &[&str],
) -> Result<String, String> {
    let mut configure = cmake();
    configure.arg("-S").arg(source).arg("-B").arg(build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    configure.arg(format!("-DDUOLOGUE_EXECUTABLE={}", compiler.display()));
    succeed(configure.args(arguments))
}

/// The compiler of this repository.
fn ours() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_duologue"))
}

/// Where the runtime is installed, built once for all tests.
pub fn installed() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| installed_with(&scratch("cmake-runtime"), &[]))
}

/// Installs the runtime below a folder, with additional arguments.
fn installed_with(folder: &Path, arguments: &[&str]) -> PathBuf {
    let prefix = folder.join("installed");
    let build = folder.join("runtime");
    let mut configure = cmake();
    configure.arg("-S").arg(runtime()).arg("-B").arg(&build);
    configure.arg("-DCMAKE_C_FLAGS=-Wall -Wextra -Werror");
    configure
        .args(["-DCMAKE_INSTALL_LIBDIR=lib"])
        .args(arguments);
    succeed(&mut configure).expect("the runtime is configured");
    let settled = fs::read_to_string(build.join("CMakeCache.txt")).expect("it is configured");
    assert!(
        settled.contains("CMAKE_BUILD_TYPE:STRING=Release\n"),
        "code is optimized by default"
    );
    succeed(cmake().arg("--build").arg(&build)).expect("the runtime is built");
    let mut install = cmake();
    install.arg("--install").arg(&build).arg("--prefix");
    succeed(install.arg(&prefix)).expect("the runtime is installed");
    prefix
}

/// Writes the recipe of `docs/building.md` into a folder whose name contains a space.
fn example(folder: &Path) -> PathBuf {
    let source = folder.join("the example");
    crate::recipes::write_cmake(&source);
    source
}

#[test]
#[ignore = "nightly: recipes"]
fn an_edit_of_an_imported_file_triggers_a_build() {
    let folder = scratch("cmake");
    let prefix = installed();
    tool_of("ninja", "ninja-build");
    for generator in GENERATORS {
        let folder = folder.join(generator);
        let (source, build) = (example(&folder), folder.join("build"));
        let strict = ["-G", generator, "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"];
        configured([&source, &build, prefix, ours()], &strict).expect("it is configured");
        let make = || succeed(cmake().arg("--build").arg(&build));
        let told = || succeed(&mut Command::new(build.join("thermostat"))).expect("it runs");
        make().expect("it builds");
        assert_eq!(
            told(),
            "21 degrees, in 4 bytes, in one process\n",
            "{generator}"
        );
        let compiles = |output: String| output.contains("Building C object");
        assert!(
            !compiles(make().expect("it builds")),
            "{generator}: nothing had changed"
        );

        let units = source.join("protocols/units.proto");
        edit(&units, "i32", "i64");
        assert!(
            compiles(make().expect("it builds")),
            "{generator}: a type had changed"
        );
        assert_eq!(
            told(),
            "21 degrees, in 8 bytes, in one process\n",
            "{generator}"
        );

        // One more protocol in the imported file is one more generated file.
        edit(
            &units,
            "type celsius",
            "proto! alarm { quiet:recv { ring -> ! } }\n\ntype celsius",
        );
        make().expect("it builds");
        let objects = build.join("CMakeFiles/thermostat.dir/thermostat.protocols");
        assert!(
            objects.join("alarm.c.o").is_file(),
            "{generator}: alarm.c is not compiled"
        );

        edit(&units, "-> !", "-> gone");
        let complaint = make().expect_err("the protocol is wrong");
        assert!(
            complaint.contains("units.proto:") && complaint.contains("gone"),
            "{complaint}"
        );
        edit(&units, "-> gone", "-> !");
        make().expect("it builds");
        assert!(
            !compiles(make().expect("it builds")),
            "{generator}: nothing had changed"
        );
    }
}

/// Each mistake has its own message, and messages about protocols keep the markers below the source text.
#[test]
#[ignore = "nightly: recipes"]
fn mistakes_of_a_build_are_reported() {
    let folder = scratch("cmake-mistakes");
    let prefix = installed();
    let source = example(&folder);
    let lists = source.join("CMakeLists.txt");
    let right = fs::read_to_string(&lists).expect("it was copied");
    let other = folder.join("other");
    fs::create_dir(&other).expect("it can be made");
    let other = other.join("duologue");
    fs::write(&other, "#!/bin/sh\necho duologue 0.2.1\n").expect("it can be written");
    succeed(Command::new("chmod").arg("+x").arg(&other)).expect("chmod works");
    let configure = |name: &str, compiler: &Path| {
        configured([&source, &folder.join(name), prefix, compiler], &[])
    };
    let holds = |complaint: String, words: &[&str]| {
        // CMake rewraps prose.
        let filled = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(
                complaint.contains(word) || filled.contains(word),
                "`{word}` is missing:\n{complaint}"
            );
        }
    };

    for (name, from, to, words) in [
        (
            "misspelt",
            "protocols/thermostat.proto",
            "protocols/thermometer.proto",
            [
                "thermometer.proto, which does not exist",
                "CMakeLists.txt:7",
            ],
        ),
        (
            "import",
            ".proto)",
            ".proto IMPORT_DIRS elsewhere)",
            ["elsewhere, which is not a directory", "CMakeLists.txt:7"],
        ),
        (
            "language",
            "LANGUAGES C",
            "LANGUAGES CXX",
            ["add C to the LANGUAGES", "CMakeLists.txt:7"],
        ),
    ] {
        edit(&lists, from, to);
        let complaint = configure(name, ours()).expect_err(name);
        holds(complaint, &words);
        fs::write(&lists, &right).expect("it can be restored");
    }
    let complaint = configure("version", &other).expect_err("it is newer than the runtime");
    holds(
        complaint,
        &["is version 0.2.1, the runtime is version 0.1.0"],
    );
    let missing = folder.join("missing/duologue");
    let complaint = configure("missing", &missing).expect_err("nothing is there");
    holds(complaint, &["does not run: No such file"]);

    edit(
        &source.join("protocols/thermostat.proto"),
        "-> reading",
        "-> redding",
    );
    let complaint = configure("protocol", ours()).expect_err("the protocol is wrong");
    let lines: Vec<&str> = complaint.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.contains("-> redding"))
        .unwrap_or_else(|| panic!("{complaint}"));
    let column = |line: &str, of: &str| line.find(of).map(|byte| line[..byte].chars().count());
    assert_eq!(
        column(lines[at], "redding"),
        column(lines[at + 1], "^^^^^^^"),
        "{complaint}"
    );
}

#[test]
#[ignore = "nightly: recipes"]
fn pkg_config_finds_the_runtime() {
    let folder = scratch("pkg-config");
    let prefix = installed();
    let source = example(&folder);
    // What needs other libraries is built only where it is asked for.
    for file in [
        "include/duologue/tls.h",
        "include/duologue/nats.h",
        "lib/pkgconfig/duologue-tls.pc",
        "lib/libduologue_tls.a",
    ] {
        assert!(!prefix.join(file).exists(), "{file}");
    }
    assert!(prefix.join("lib/libduologue_net.a").is_file());
    for (library, option, more) in [
        ("duologue", None, None),
        (
            "duologue-robots",
            Some("--robots"),
            Some("thermostat_robots.c"),
        ),
    ] {
        let mut ask = tool_of("pkg-config", "pkg-config");
        ask.args(["--cflags", "--libs", library]);
        ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        let flags = succeed(&mut ask).expect("pkg-config finds the runtime");
        let generated = folder.join(library);
        let mut generate = Command::new(env!("CARGO_BIN_EXE_duologue"));
        generate
            .arg("gen")
            .arg(source.join("protocols/thermostat.proto"));
        generate.arg("--c").arg(&generated).args(option);
        succeed(&mut generate).expect("the protocol is correct");
        let program = generated.join("thermostat");
        let mut compile = Command::new("gcc");
        compile
            .arg(source.join("main.c"))
            .arg(generated.join("thermostat.c"))
            .args(more.map(|file| generated.join(file)));
        compile
            .arg("-I")
            .arg(&generated)
            .args(flags.split_whitespace());
        succeed(compile.arg("-o").arg(&program)).expect("the program is compiled");
        assert_eq!(
            succeed(&mut Command::new(program)).expect("it runs"),
            "21 degrees, in 4 bytes, in one process\n"
        );
    }
}

/// With the options of the compiler that need more of the runtime, CMake links that too.
#[test]
#[ignore = "nightly: recipes"]
fn options_choose_the_libraries() {
    let folder = scratch("cmake-options");
    let prefix = installed();
    let source = example(&folder);
    edit(
        &source.join("CMakeLists.txt"),
        ".proto)",
        ".proto OPTIONS --remote --robots)",
    );
    let build = folder.join("build");
    configured([&source, &build, prefix, ours()], &[]).expect("it is configured");
    succeed(cmake().arg("--build").arg(&build)).expect("it is linked");
    let objects = build.join("CMakeFiles/thermostat.dir/thermostat.protocols");
    for file in ["thermostat_wire.c.o", "thermostat_robots.c.o"] {
        assert!(objects.join(file).is_file(), "{file}");
    }
    let printed = succeed(&mut Command::new(build.join("thermostat")));
    assert_eq!(
        printed.as_deref(),
        Ok("21 degrees, in 4 bytes, in one process\n")
    );
}

/// A library of its own is installed where it is asked for, and a program is linked to it by pkg-config and by CMake.
fn is_of_its_own(name: &str, arguments: &[&str], program: &str, says: &str) {
    let folder = scratch(&format!("cmake-{name}"));
    let prefix = installed_with(&folder.join("with"), arguments);
    let source = folder.join("example");
    fs::create_dir(&source).expect("it can be made");
    fs::write(source.join("main.c"), program).expect("it can be written");
    let run = |program: &Path| {
        let mut command = Command::new(program);
        succeed(command.env("LD_LIBRARY_PATH", prefix.join("lib")))
    };

    let mut ask = tool_of("pkg-config", "pkg-config");
    ask.args(["--cflags", "--libs", &format!("duologue-{name}")]);
    ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = succeed(&mut ask).expect("pkg-config finds it");
    let mut compile = Command::new("gcc");
    compile.arg(source.join("main.c")).arg("-o");
    compile
        .arg(folder.join("main"))
        .args(flags.split_whitespace());
    succeed(&mut compile).expect("the program is compiled");
    assert_eq!(run(&folder.join("main")).as_deref(), Ok(says));

    let lists = format!(
        "cmake_minimum_required(VERSION 3.21)\nproject(example LANGUAGES C)\nfind_package(Duologue 0.1 REQUIRED)\n\
         add_executable(main main.c)\ntarget_link_libraries(main PRIVATE Duologue::{name})\n"
    );
    fs::write(source.join("CMakeLists.txt"), lists).expect("it can be written");
    let build = folder.join("build");
    configured([&source, &build, &prefix, ours()], &[]).expect("it is configured");
    succeed(cmake().arg("--build").arg(&build)).expect("it builds");
    assert_eq!(run(&build.join("main")).as_deref(), Ok(says));
}

#[test]
#[ignore = "nightly: recipes"]
fn tls_is_a_library_of_its_own() {
    let program = "#include <stdio.h>\n#include \"duologue/tls.h\"\nint main(void)\n{\n    duo_tls *tls;\n    \
        duo_problem problem;\n    const duo_tls_options none = {0};\n    \
        if (duo_tls_new(&none, &tls, &problem) == DUO_TLS) printf(\"%s\\n\", problem.text);\n    return 0;\n}\n";
    let says = "cannot use the authorities for TLS: set the name of its file, or its text, in `duo_tls_options`\n";
    is_of_its_own("tls", &["-DDUOLOGUE_TLS=ON"], program, says);
}

#[test]
#[ignore = "nightly: recipes"]
fn nats_is_a_library_of_its_own() {
    let program = "#include <stdio.h>\n#include \"duologue/nats.h\"\nint main(void)\n{\n    duo_directory *directory;\n    \
        duo_problem problem;\n    \
        if (duo_directory_open(\"127.0.0.1:1\", NULL, NULL, &directory, &problem) == DUO_SYSTEM) printf(\"%s\\n\", problem.text);\n    \
        return 0;\n}\n";
    let says = "cannot reach NATS at `127.0.0.1:1`: No server available for connection; check that it runs there and accepts this program\n";
    is_of_its_own("nats", &["-DDUOLOGUE_NATS=ON"], program, says);
}
