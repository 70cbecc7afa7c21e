//! The recipes of `docs/building.md`: each is a project that consists of nothing but the page's text, which is built and run by the page's
//! commands. The clone of the repository is a link to this one, except for Cargo.

use crate::support::program::{Scratch, path_with_compiler};
use crate::support::scala::{maven, tool as jvm_tool};
use crate::support::steps::{Block, blocks, with_outputs};
use crate::support::{copy, edit, repository, succeed, tool_of};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const EVERYWHERE: &str = "Duologue in a build";
const IN_C: &str = "The runtime for C";
const IN_SCALA: &str = "The programs in Scala";

fn page() -> String {
    let page = repository().join("docs/building.md");
    fs::read_to_string(page).expect("the page is there")
}

fn write(path: &Path, text: &str) {
    let parent = path.parent().expect("a file is in a folder");
    fs::create_dir_all(parent).expect("it can be made");
    fs::write(path, text).expect("it can be written");
}

/// Writes the files of these sections of the page.
fn write_files(sections: &[&str], folder: &Path) {
    for block in blocks(&page()) {
        if let Some(path) = block.file
            && sections.contains(&block.section)
        {
            write(&folder.join(path), block.text);
        }
    }
}

/// The protocols of all recipes.
pub fn write_protocols(folder: &Path) {
    write_files(&[EVERYWHERE], folder);
}

/// The project for CMake, without its runtime.
pub fn write_cmake(folder: &Path) {
    write_files(&[EVERYWHERE, IN_C, "CMake"], folder);
}

/// The program in Scala within one process, as in the folder `src/main` of a project.
pub fn write_scala(main: &Path) {
    let all = Scratch::new("recipe-scala");
    write_files(&[EVERYWHERE, IN_SCALA], &all.path(""));
    copy(&all.path("protocols"), &main.join("protocols"));
    fs::create_dir_all(main.join("scala")).expect("it can be made");
    let program = "scala/Main.scala";
    copy(&all.path("src/main").join(program), &main.join(program));
}

/// A folder with the clone and the project.
struct Recipe {
    folder: Scratch,
    sections: Vec<&'static str>,
    path: std::ffi::OsString,
    environment: Vec<(String, String)>,
}

impl Recipe {
    /// Writes the files of the section, and of those that it builds on.
    fn new(section: &'static str, more: &[&'static str]) -> Recipe {
        let folder = Scratch::new(&format!("recipe {section}"));
        #[cfg(unix)]
        std::os::unix::fs::symlink(repository(), folder.path("duologue")).expect("a new link");
        let sections = [&[EVERYWHERE][..], more, &[section][..]].concat();
        write_files(&sections, &folder.path("project"));
        Recipe {
            folder,
            sections,
            path: path_with_compiler(),
            environment: Vec::new(),
        }
    }

    fn file(&self, path: &str) -> PathBuf {
        self.folder.path("project").join(path)
    }

    fn set(&mut self, name: &str, value: impl ToString) {
        self.environment.push((name.to_owned(), value.to_string()));
    }

    fn run(&self, commands: &str) -> Result<String, String> {
        let mut bash = Command::new("bash");
        bash.args(["-e", "-c", &format!("exec 2>&1; {commands}")])
            .current_dir(self.folder.path("project"))
            .env("PATH", &self.path)
            .env("LC_ALL", "C")
            .env_remove("RUSTFLAGS")
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        succeed(&mut bash)
    }

    /// Runs all commands of the page, then the last of them after an edit of the imported file, which changes `was` in what they print to
    /// `becomes`; once more, when nothing has changed; and with a mistake in a protocol.
    fn holds(&self, was: &str, becomes: &str) -> String {
        let page = page();
        let blocks = blocks(&page);
        let is_mine =
            |block: &Block<'_>| block.what == "run" && self.sections.contains(&block.section);
        let steps: Vec<_> = with_outputs(&blocks)
            .filter(|(block, _)| is_mine(block))
            .collect();
        for (block, expected) in &steps {
            self.prints(block.text, expected);
        }
        let (last, expected) = steps.last().expect("a recipe has commands");
        edit(&self.file("protocols/units.proto"), "i32", "i64");
        assert!(expected.contains(was), "{expected}");
        let edited = expected.replace(was, becomes);
        self.prints(last.text, &edited);
        let again = self.prints(last.text, &edited);
        edit(
            &self.file("protocols/thermostat.proto"),
            "-> reading",
            "-> redding",
        );
        let refused = self.run(last.text).expect_err("a protocol is wrong");
        assert!(refused.contains("thermostat.proto:6:17"), "{refused}");
        again
    }

    /// Each line that is expected is printed, in this order, among what the tools say.
    fn prints(&self, commands: &str, expected: &str) -> String {
        let printed = self
            .run(commands)
            .unwrap_or_else(|failure| panic!("{failure}"));
        // Maven resets the color, also where there is none, at a moment that depends on its threads.
        let plain = printed.replace("\u{1b}[0m", "");
        let mut lines = plain.lines();
        for line in expected.lines() {
            assert!(lines.any(|printed| printed == line), "{line}\n{printed}");
        }
        printed
    }
}

/// The package for Cargo. It is in the folder of the repository's workspace, where a reader's is not. The clone is one, of what was
/// committed, because askama does not find its files through a link.
fn cargo() -> Recipe {
    let mut recipe = Recipe::new("Cargo", &[]);
    let clone = recipe.folder.path("duologue");
    fs::remove_file(&clone).expect("it is a link");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--depth", "1"])
        .arg(format!("file://{}", repository().display()))
        .arg(clone);
    succeed(&mut git).unwrap_or_else(|failure| panic!("{failure}"));
    let manifest = recipe.file("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("it is written");
    write(&manifest, &format!("{text}\n[workspace]\n"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recipes-target");
    recipe.set("CARGO_TARGET_DIR", target.display());
    recipe
}

#[test]
#[ignore = "nightly: recipes"]
fn cargo_by_path() {
    let mut recipe = cargo();
    recipe.set("CARGO_NET_OFFLINE", true);
    recipe.holds("21", "21");
}

/// Git fetches this repository, as it was committed, instead of the one at its address.
#[test]
#[ignore = "nightly: recipes"]
fn cargo_by_git() {
    let mut recipe = cargo();
    let page = page();
    let blocks = blocks(&page);
    let mut by_git = blocks
        .iter()
        .filter(|block| block.language == "toml" && block.file.is_none());
    let by_git = by_git.next().expect("the page has it").text;
    let manifest = recipe.file("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("it is written");
    let (package, _) = text.split_once("[dependencies]").expect("it has some");
    write(&manifest, &format!("{package}{by_git}\n[workspace]\n"));
    recipe.set("CARGO_NET_GIT_FETCH_WITH_CLI", true);
    recipe.set("CARGO_HOME", recipe.folder.path("cargo").display());
    recipe.set("GIT_CONFIG_COUNT", 1);
    let here = format!("url.file://{}.insteadOf", repository().display());
    recipe.set("GIT_CONFIG_KEY_0", here);
    recipe.set("GIT_CONFIG_VALUE_0", env!("CARGO_PKG_REPOSITORY"));
    recipe.holds("21", "21");
}

/// The README has the dependencies of the page.
#[test]
fn the_readme_has_the_dependencies_of_the_recipe() {
    let readme = fs::read_to_string(repository().join("README.md")).expect("it is there");
    let page = page();
    let without_net = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains("-net"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let mine = blocks(&readme)
        .into_iter()
        .find(|block| block.language == "toml");
    let mine = mine.expect("the README has dependencies").text.trim_end();
    let mut all = blocks(&page)
        .into_iter()
        .filter(|block| block.what.is_empty());
    assert!(all.any(|block| without_net(block.text) == mine), "{mine}");
}

#[test]
#[ignore = "nightly: recipes"]
fn cmake() {
    tool_of("cmake", "cmake");
    let again = Recipe::new("CMake", &[IN_C]).holds("4 bytes", "8 bytes");
    assert!(!again.contains("Building C object"), "{again}");
}

#[test]
#[ignore = "nightly: recipes"]
fn meson() {
    for (name, package) in [
        ("cmake", "cmake"),
        ("pkg-config", "pkg-config"),
        ("meson", "meson"),
        ("ninja", "ninja-build"),
    ] {
        tool_of(name, package);
    }
    let again = Recipe::new("Meson", &[IN_C]).holds("4 bytes", "8 bytes");
    assert!(again.contains("no work to do"), "{again}");
}

#[test]
#[ignore = "nightly: recipes"]
fn make() {
    for (name, package) in [
        ("cmake", "cmake"),
        ("pkg-config", "pkg-config"),
        ("make", "make"),
    ] {
        tool_of(name, package);
    }
    let recipe = Recipe::new("make", &[IN_C]);
    let again = recipe.holds("4 bytes", "8 bytes");
    assert!(again.contains("Nothing to be done for 'all'"), "{again}");
    let refused = recipe.run("make").expect_err("a protocol is wrong");
    assert!(refused.contains("nothing can be generated"), "{refused}");
}

#[test]
#[ignore = "nightly: recipes"]
fn two_files() {
    tool_of("cmake", "cmake");
    let recipe = Recipe::new("Two files in C", &[]);
    write_files(&[IN_C], &recipe.folder.path("project"));
    recipe.holds("4 bytes", "8 bytes");
}

/// sbt is its launcher, which Maven fetches. Everything is published into a folder of the test, from a copy of the sources, so that
/// builds leave nothing there.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "nightly: recipes"]
fn sbt() {
    let mut recipe = Recipe::new("sbt", &[IN_SCALA]);
    fs::remove_file(recipe.folder.path("duologue")).expect("it is a link");
    for part in [
        "build.sbt",
        "project",
        "src/main",
        "net/src/main",
        "nats",
        "zio",
        "cats",
        "sbt",
    ] {
        let part = Path::new("runtime/scala").join(part);
        let to = recipe.folder.path("duologue").join(&part);
        fs::create_dir_all(to.parent().expect("it is in a folder")).expect("it can be made");
        copy(&repository().join(&part), &to);
    }
    let launcher = maven::jar("org.scala-sbt", "sbt-launch", "1.12.11");
    let ivy = recipe.folder.path("ivy");
    let script = format!(
        "#!/bin/sh\nexec java -Xmx1g -Dsbt.log.noformat=true -Dsbt.server.autostart=false -Dsbt.ivy.home='{}' -jar '{}' \"$@\"\n",
        ivy.display(),
        launcher.display()
    );
    recipe.install("sbt", &script);
    write(
        &recipe.file("project/build.properties"),
        "sbt.version=1.12.11\n",
    );
    recipe.holds("as int", "as long");

    let published = ivy.join("local/io.github.duologue");
    for name in ["runtime", "net", "nats", "zio", "cats"] {
        for scala in ["2.13", "3"] {
            let module = format!("duologue-{name}_{scala}");
            for file in [
                format!("jars/{module}.jar"),
                format!("srcs/{module}-sources.jar"),
                format!("docs/{module}-javadoc.jar"),
                format!("poms/{module}.pom"),
            ] {
                let path = published.join(&module).join("0.1.0").join(file);
                assert!(path.is_file(), "{} is missing", path.display());
            }
        }
    }
    recipe.prints(
        "cd ../duologue/runtime/scala && sbt mimaReportBinaryIssues",
        "",
    );

    // The player of `docs/networking.md`.
    let tutorial = Scratch::new("sbt-player");
    crate::networking::write_scala(&tutorial);
    copy(&tutorial.path("scala"), &recipe.folder.path("player"));
    write(
        &recipe.folder.path("player/project/build.properties"),
        "sbt.version=1.12.11\n",
    );
    recipe.prints("cd ../player && sbt compile", "");
}

impl Recipe {
    /// Puts a program in `PATH`.
    fn install(&mut self, name: &str, script: &str) {
        let programs = self.folder.path("programs");
        write(&programs.join(name), script);
        let mut chmod = Command::new("chmod");
        succeed(chmod.arg("+x").arg(programs.join(name))).expect("chmod works");
        let mut path = programs.into_os_string();
        path.push(":");
        path.push(&self.path);
        self.path = path;
    }
}

#[test]
#[ignore = "nightly: recipes"]
fn maven() {
    jvm_tool("mvn");
    Recipe::new("Maven", &[IN_SCALA]).holds("as int", "as long");
}

/// Mill is a shell script and an archive in one.
fn mill_recipe() -> Recipe {
    let mut recipe = Recipe::new("Mill", &[IN_SCALA]);
    let text = fs::read_to_string(recipe.file("build.mill")).expect("it is written");
    let mut lines = text.lines();
    let version = lines.find_map(|line| line.strip_prefix("//| mill-version: "));
    let version = version.expect("the text names its version");
    let mill = maven::file("com.lihaoyi", "mill-dist", version, "exe");
    let script = format!(
        "#!/bin/sh\nexec sh '{}' --no-daemon --ticker false \"$@\"\n",
        mill.display()
    );
    recipe.install("mill", &script);
    fs::copy(recipe.folder.path("programs/mill"), recipe.file("mill")).expect("it can be copied");
    recipe
}

#[test]
#[ignore = "nightly: recipes"]
fn mill() {
    mill_recipe().holds("as int", "as long");
}

/// The recipe with the changes that `docs/installing.md` describes, and the artifact that `tools/packaging/maven` built.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "nightly: installs"]
fn mill_without_a_native_compiler() {
    let page = repository().join("docs/installing.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let blocks = blocks(&page);
    let mut blocks = blocks
        .iter()
        .filter(|block| block.section.starts_with("Mill"));
    let mut block = || blocks.next().expect("two blocks").text.trim_end();
    let (module, command) = (block(), block());
    let packages = crate::installs::package("maven");
    let repository = format!(
        "object compiler extends JavaModule {{\n  def repositories = Seq(\"file://{}\")",
        packages.display()
    );
    let module = module.replace("object compiler extends JavaModule {", &repository);
    let mut recipe = mill_recipe();
    edit(&recipe.file("build.mill"), "\"duologue\"", command);
    let text = fs::read_to_string(recipe.file("build.mill")).expect("it is written");
    write(&recipe.file("build.mill"), &format!("{text}\n{module}\n"));
    recipe.path = "/usr/bin:/bin".into();
    recipe.prints("./mill thermostat.runMain Main", "21 degrees, as int\n");
}
