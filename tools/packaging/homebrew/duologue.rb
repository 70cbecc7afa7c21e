# A formula for Homebrew. Untried: `sha256` has to be that of the source archive of the release.
class Duologue < Formula
  desc "Session-types protocol compiler for Rust, C and Scala"
  homepage "https://github.com/duologue/duologue"
  url "https://github.com/duologue/duologue/archive/refs/tags/v0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args
    generate_completions_from_executable(bin/"duologue", "completions")
    system bin/"duologue", "man", "--dir", man1
  end

  test do
    (testpath/"p.proto").write("proto! p { a:send { m -> ! } }\n")
    system bin/"duologue", "check", "p.proto"
  end
end
