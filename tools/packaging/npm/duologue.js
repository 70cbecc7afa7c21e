#!/usr/bin/env node
// Runs the compiler, which is a WebAssembly module, with the arguments, files and streams of this process.
import { readFileSync } from "node:fs";
import path from "node:path";

// Node calls its support of WASI experimental, in a warning that users of the compiler can do nothing about.
const warn = process.emitWarning;
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).startsWith("WASI ")) warn.call(process, warning, ...rest);
};
const { WASI } = await import("node:wasi");

// The module sees one file system, whose root is that of the working directory: on Windows, its drive.
const here = process.cwd();
const root = path.parse(here).root;
const wasi = new WASI({
  version: "preview1",
  args: ["duologue", ...process.argv.slice(2)],
  env: { ...process.env, PWD: "/" + path.relative(root, here).split(path.sep).join("/") },
  preopens: { "/": root },
  returnOnExit: true,
});
const module = new WebAssembly.Module(readFileSync(new URL("duologue.wasm", import.meta.url)));
try {
  process.exitCode = wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));
} catch (error) {
  // The module has printed why it stopped.
  console.error(`error: the compiler failed: ${error.message}`);
  process.exitCode = 101;
}
