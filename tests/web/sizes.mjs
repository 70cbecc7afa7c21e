// How many bytes a browser loads before the playground works, with brotli: `node sizes.mjs FOLDER`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";

const files = ["index.html", "play.css", "play.js", "check.wasm"];
const sizes = files.map((file) => brotliCompressSync(readFileSync(join(process.argv[2], file))).length);
console.log(sizes.reduce((sum, size) => sum + size, 0));
