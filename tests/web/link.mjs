// The addresses that the playground writes can be read, and what a link may contain becomes what the page expects: `node link.mjs`.
import assert from "node:assert";
import * as link from "../../tools/editors/web/src/link.js";

const project = (text) => link.checked({ files: { "a.proto": text } });
const round = async (text) => link.read("#" + await link.write(project(text)));
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
  await assert.rejects(link.write(project(text)), /too long/);
}
const { CompressionStream: compression } = globalThis;
delete globalThis.CompressionStream;
assert.deepStrictEqual(await round("short"), project("short"));
await assert.rejects(link.write(project("x".repeat(900_000))), /too long for a link/);
globalThis.CompressionStream = compression;

// The editor has only one kind of line ends.
const mixed = link.checked({ files: { "a.proto": "1\r\n2\r3\n\r\n" }, old: { "a.proto": "\r\n" } });
assert.strictEqual(mixed.files["a.proto"], "1\n2\n3\n\n");
assert.strictEqual(mixed.old["a.proto"], "\n");

const strange = link.checked({ files: { a: "" }, file: "b", tab: 1, old: { a: 1 }, play: ["m", 2], import_dirs: [3, "c"], protocol: null });
assert.deepStrictEqual(strange, { files: { a: "" }, file: "a", tab: "findings", old: {}, play: ["m"], import_dirs: ["c"], protocol: "" });
for (const wrong of [null, 1, {}, { files: null }, { files: [] }, { files: {} }, { files: { a: 1 } }]) {
  assert.throws(() => link.checked(wrong), /the address has no files/);
}
for (const hash of ["#d=AAAA", "#p=AAAA", "#p=%", "#p=" + "A".repeat(1 << 20)]) await assert.rejects(link.read(hash), Error, hash.slice(0, 20));
for (const hash of ["", "#", "#play", "#q="]) assert.strictEqual(await link.read(hash), null);
console.log("ok");
