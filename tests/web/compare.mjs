// Compares the answers of the module with what the program printed: `node compare.mjs MODULE FOLDER`.
import assert from "node:assert";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { load } from "../../tools/site/templates/play/duologue.mjs";

const [module, folder] = process.argv.slice(2);
const compiler = await load(readFileSync(module));
const read = (...path) => readFileSync(join(folder, ...path), "utf8");
const below = (path) => readdirSync(join(folder, path), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(join(folder, path).length + 1)).sort();

const files = {};
for (const name of readdirSync(join(folder, "protocols"))) files["protocols/" + name] = read("protocols", name);

let [generated, printed, reports] = [0, 0, 0];
for (const path of Object.keys(files)) {
  const name = path.slice("protocols/".length, -".proto".length);
  const inputs = [path];
  const answer = compiler.run({ command: "gen", files, inputs, targets: ["scala", "rust", "c"] });
  const expected = ["rust", "c", "scala"].flatMap((target) => below(`expected/${name}/${target}`).map((file) => target + "/" + file)).sort();
  assert.deepStrictEqual(answer.files.map((file) => file.target + "/" + file.path).sort(), expected, path);
  for (const file of answer.files) {
    assert.strictEqual(file.text, read("expected", name, file.target, file.path), `${path}: ${file.path}`);
    generated += 1;
  }
  const outputs = [["report.json", compiler.run({ command: "check", files, inputs }).report],
    ["model.json", compiler.run({ command: "model", files, inputs }).output]];
  for (const file of readdirSync(join(folder, "expected", name))) {
    const [, protocol, format] = /^(\w+)\.(svg|dot|promela)$/.exec(file) ?? [];
    if (format) outputs.push([file, compiler.run({ command: "graph", files, inputs, protocol, format }).output]);
  }
  for (const [file, text] of outputs) {
    // The command line ends every text with a line break.
    assert.strictEqual(text.trimEnd(), read("expected", name, file).trimEnd(), `${path}: ${file}`);
    printed += 1;
  }
}

for (const name of readdirSync(join(folder, "beginners"))) {
  const path = "beginners/" + name;
  if (!existsSync(join(folder, `expected-${path}.txt`))) continue;
  const request = { command: "check", files: { [path]: read(path) } };
  const answer = compiler.run(request);
  const { text } = answer;
  const expected = read(`expected-${path}.txt`);
  assert.ok(text && expected.startsWith(text.trimEnd()), `${path}:\n${text}\n${expected}`);
  reports += 1;
}

// Options, and the commands that are about other files than the examples.
const options = { remote: true, robots: true, c_shm: true, c_prefix: "x", scala_package: "y" };
const withOptions = compiler.run({ command: "gen", files, inputs: ["protocols/bank.proto"], targets: ["rust", "c", "scala"], options });
const listed = (file) => file.target + "/" + file.path;
assert.deepStrictEqual(withOptions.files.map(listed).sort(), below("expected-options"));
for (const file of withOptions.files) {
  assert.strictEqual(file.text, read("expected-options", listed(file)), file.path);
  generated += 1;
}
assert.ok(withOptions.files.some((file) => file.path.includes("robots")));

const [older, newer] = ["versions/old.proto", "versions/new.proto"];
const comparison = { command: "breaking", files: { [newer]: read(newer) }, old: { [older]: read(older) } };
const { report, ok } = compiler.run(comparison);
assert.strictEqual(report.replaceAll(" (old)", "").trimEnd(), read("expected-breaking.json").trimEnd());
assert.strictEqual(ok, false);

const unformatted = { [older]: read(older), [newer]: read(newer) };
const formatted = compiler.run({ command: "fmt", files: unformatted, inputs: [older] });
assert.deepStrictEqual(formatted.files, [{ path: older, text: read("expected-formatted.proto") }]);
assert.notStrictEqual(formatted.files[0].text, read(older));
assert.strictEqual(compiler.run({ command: "fmt", files: unformatted }).files.length, 2);

// What is wrong with a request is an error, and the next request is answered.
for (const request of [{}, { command: "x" }, { command: "check", inputs: ["a"] }, { command: "fmt", inputs: ["a"] }, { command: "gen", options: { nonsense: true } },
  { command: "gen", targets: ["go"] }, { command: "check", files: 1 }]) {
  assert.throws(() => compiler.run(request), Error);
}
assert.strictEqual(compiler.run({ command: "version" }).ok, true);

// Deep nesting is an answer, or at least an error after which the compiler still works.
for (const depth of [1000, 100000]) {
  try {
    compiler.run({ command: "check", files: { "deep.proto": "type a = " + "(".repeat(depth) } });
  } catch (error) {
    assert.fail(`${depth} brackets: ${error.message}`);
  }
}
assert.strictEqual(compiler.run({ command: "check", files: { "a.proto": "" } }).ok, true);
console.log(generated, printed, reports);
