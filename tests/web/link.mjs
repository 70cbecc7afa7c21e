// The addresses that the playground writes can be read, and what a link may contain becomes what the page expects: `node link.mjs`.
import assert from "node:assert";
import { ownLink, reach, takeKey } from "../../tools/site/templates/play/compiler.mjs";
import * as link from "../../tools/site/templates/play/link.mjs";

const project = (text) => link.checkedProject({ files: { "a.proto": text } });
const round = async (text) => link.readLink("#" + await link.writeLink(project(text)));
// Text that cannot be compressed much.
let seed = 1;
const noise = (length) => Array.from({ length }, () => {
  seed = (seed * 48271) % 2147483647;
  return String.fromCharCode(33 + seed % 90);
}).join("");

for (const text of ["", "proto! p { a:send { m -> ! } }\n", "é\u{1f600}", "x".repeat(1_000_000), noise(700_000)]) {
  assert.deepStrictEqual(await round(text), project(text), text.slice(0, 40));
}
// What is too long to read is not written.
for (const text of ["x".repeat(1_200_000), noise(1_000_000), noise(1_500_000)]) {
  await assert.rejects(link.writeLink(project(text)), /too long/);
}
const { CompressionStream: compression } = globalThis;
delete globalThis.CompressionStream;
assert.deepStrictEqual(await round("short"), project("short"));
await assert.rejects(link.writeLink(project("x".repeat(900_000))), /too long for a link/);
globalThis.CompressionStream = compression;

// The editor has only one kind of line ends.
const mixed = link.checkedProject({ files: { "a.proto": "1\r\n2\r3\n\r\n" }, old: { "a.proto": "\r\n" } });
assert.strictEqual(mixed.files["a.proto"], "1\n2\n3\n\n");
assert.strictEqual(mixed.old["a.proto"], "\n");

const strange = link.checkedProject({ files: { a: "" }, file: "b", tab: 1, old: { a: 1 }, play: ["m", 2], import_dirs: [3, "c"], protocol: null });
assert.deepStrictEqual(strange, { files: { a: "" }, file: "a", tab: "findings", old: {}, play: ["m"], import_dirs: ["c"], protocol: "" });
for (const wrong of [null, 1, {}, { files: null }, { files: [] }, { files: {} }, { files: { a: 1 } }]) {
  assert.throws(() => link.checkedProject(wrong), /the address has no files/);
}
for (const hash of ["#d=AAAA", "#p=AAAA", "#p=%", "#p=" + "A".repeat(1 << 20)]) await assert.rejects(link.readLink(hash), Error, hash.slice(0, 20));
for (const hash of ["", "#", "#play", "#q="]) assert.strictEqual(await link.readLink(hash), null);

// A copied address has only the path and what is open, and the page says who can use it.
for (const [href, own, words] of [
  ["https://user:password@example.org/page.html?token=x#d=abc", "https://example.org/page.html#d=abc", /opens what you see/],
  ["http://127.0.0.1:8421/#d=abc", "http://127.0.0.1:8421/#d=abc", /this machine/],
  ["http://localhost/page.html?x#d=abc", "http://localhost/page.html#d=abc", /this machine/],
  ["file:///files/page.html?x#d=abc", "file:///files/page.html#d=abc", /this machine/],
]) {
  globalThis.location = new URL(href);
  assert.strictEqual(ownLink(), own);
  assert.match(reach(false), words);
  assert.match(reach(true), /while `duologue play` runs/);
}

// The key leaves the address, and stays in the browser.
const storage = new Map();
globalThis.localStorage = { getItem: (name) => storage.get(name) ?? null, setItem: (name, value) => storage.set(name, value) };
globalThis.history = { replaceState: (_, __, to) => { globalThis.location = new URL(to, location.href); } };
for (const hash of ["#key=0123abcd", "", "#d=abc"]) {
  globalThis.location = new URL("http://127.0.0.1:8421/" + hash);
  assert.strictEqual(takeKey(), "0123abcd");
  assert.ok(!location.href.includes("key"));
}
globalThis.localStorage = undefined;
globalThis.location = new URL("http://127.0.0.1:8421/#key=4567");
assert.strictEqual(takeKey(), "4567");
assert.strictEqual(takeKey(), "");
console.log("ok");
