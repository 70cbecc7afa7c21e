// Plays the stepper without a browser: `node stepper.mjs SITE RUN`, with a site about protocols/ and the folder of transcripts.
import assert from "node:assert";
import fs from "node:fs";
import path from "node:path";
import { address, moves, replay, slots, start, step } from "../../tools/site/templates/stepper.mjs";
import { search } from "../../tools/site/templates/site.mjs";

const [site, run] = process.argv.slice(2);

const tables = new Map();
for (const file of fs.readdirSync(site)) {
  const page = fs.readFileSync(path.join(site, file), "utf8");
  const found = /<script type="application\/json" id="table">(.*)<\/script>/.exec(page);
  if (found) {
    const table = JSON.parse(found[1]);
    tables.set(table.name, table);
  }
}

// Sessions that carry other sessions: their transcripts have lines of several protocols.
const nested = ["feed", "switchboard"];
let transcripts = 0;
let values = 0;
for (const name of fs.readdirSync(run)) {
  const table = tables.get(name);
  if (!table || nested.includes(name)) continue;
  const text = fs.readFileSync(path.join(run, name, "expected.txt"), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.endsWith("<- closed"));
  const opened = replay(table, lines.map((line) => line.slice(line.indexOf("<- ") + 3)));
  assert.strictEqual(opened.wrong, null, name + ": a message is not offered");
  let position = opened.position;
  while (position.ring.length > 0) {
    const receive = moves(table, position).find((move) => move.index === null);
    position = step(table, position, receive);
  }
  assert.deepStrictEqual(position.lines, lines, name);
  values += lines.filter((line) => line.includes("(")).length;
  transcripts += 1;
}

// Random sessions, the same in every run.
let seed = 1;
function below(limit) {
  seed = (seed * 48271) % 2147483647;
  return seed % limit;
}

let taken = 0;
for (const [name, table] of tables) {
  const sent = new Set();
  for (let session = 0; session < 60; session += 1) {
    let position = start();
    for (let count = 0; count < 40; count += 1) {
      const possible = moves(table, position);
      if (possible.length === 0) {
        assert.deepStrictEqual(position.ring, [], name + ": a message is never received");
        const ends = position.at.map((at) => at === null || table.states[at].turn === null);
        assert.deepStrictEqual(ends, [true, true], name + ": both sides are stuck");
        break;
      }
      const senders = new Set(possible.filter((move) => move.index !== null).map((move) => move.side));
      assert.ok(senders.size <= 1, name + ": both sides may send");
      const before = position;
      const move = possible[below(possible.length)];
      position = step(table, position, move);
      taken += 1;
      if (move.index !== null) sent.add(before.at[move.side] + "." + move.index);
      const to = position.ring.length > 0 ? position.ring[0].to : 0;
      assert.ok(position.ring.length <= slots(table, to), name + ": the ring is too full");
      assert.ok(position.ring.every((message) => message.to === to), name + ": messages in both directions");
      if (position.ring.length === 0) assert.strictEqual(position.at[0], position.at[1], name);
      // The address leads to the same position, and without its last word back to the one before.
      const words = address(position.taken).split("/").slice(1).map(decodeURIComponent);
      assert.deepStrictEqual(replay(table, words), { position, wrong: null }, name);
      assert.deepStrictEqual(replay(table, words.slice(0, -1)), { position: before, wrong: null }, name);
    }
  }
  const all = table.states.reduce((count, state) => count + state.messages.length, 0);
  assert.ok(sent.size === all, name + ": " + sent.size + " of " + all + " messages were sent");
  // What is not a message of the state is not possible.
  const wrong = replay(table, ["no_such_message"]);
  assert.deepStrictEqual(wrong, { position: start(), wrong: "no_such_message" });
}

const entries = [
  ["shop.bank", "protocol", "shop.bank.html", "Money"],
  ["shop.bank/banking", "state", "shop.bank.banking.html", "deposit"],
  ["coin", "struct", "coin.html", "Money in a bank"],
];
const names = (query) => search(entries, query).map((entry) => entry[0]);
assert.deepStrictEqual(names("bank"), ["shop.bank", "shop.bank/banking", "coin"]);
assert.deepStrictEqual(names("BANK  deposit"), ["shop.bank/banking"]);
assert.deepStrictEqual(names(" "), []);
assert.deepStrictEqual(names("nothing"), []);

console.log(`${tables.size} protocols, ${transcripts} transcripts, ${taken} moves, ${values} values`);
