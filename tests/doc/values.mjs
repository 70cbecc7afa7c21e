// Reads lines of messages with the stepper: `node values.mjs SITE PROTOCOL`, with the lines on standard input. For each line it prints
// whether the stepper sends it.
import fs from "node:fs";
import path from "node:path";
import { replay } from "../../tools/site/templates/stepper.mjs";

const [site, protocol] = process.argv.slice(2);
const page = fs.readFileSync(path.join(site, protocol + ".html"), "utf8");
const table = JSON.parse(/<script type="application\/json" id="table">(.*)<\/script>/.exec(page)[1]);
const lines = fs.readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
for (const line of lines) console.log(replay(table, [line]).wrong === null);
