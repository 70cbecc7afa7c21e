// Where the page gets its answers: from the module that it contains, or from the server that it came from.
import { fromBase64 } from "./link.mjs";
import { load } from "./duologue.mjs";

// A request to the server. It has a key that no other page and no other user of the machine knows.
async function ask(path, key, body) {
  let answer;
  try {
    answer = await fetch(path, { method: "POST", headers: { "Duologue-Key": key }, body });
  } catch {
    throw new Error("`duologue play` has ended: start it again, and open the address that it prints");
  }
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.trim());
  return JSON.parse(text);
}

// The server: `run` answers a request, and `opened` is what the user has opened.
export function served(key) {
  return {
    opened: () => ask("opened", key, ""),
    async run(request) {
      const answer = await ask("run", key, JSON.stringify(request));
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer;
    },
  };
}

// The compiler in a module, as a text, which may be compressed by gzip.
export async function contained(base64) {
  let bytes = fromBase64(base64);
  if (bytes[0] === 0x1f) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    bytes = await new Response(stream).arrayBuffer();
  }
  return load(bytes);
}

// The key in an address, which then no longer has it, so that no copy of the address does. Other tabs of this browser find it in the
// storage of the server's pages.
export function takeKey() {
  const found = /^#key=([0-9a-f]+)$/.exec(location.hash);
  if (found !== null) history.replaceState(null, "", location.pathname);
  try {
    if (found !== null) localStorage.setItem("key", found[1]);
    return localStorage.getItem("key") ?? "";
  } catch {
    // Without a storage, only this tab has the key.
    return found === null ? "" : found[1];
  }
}

// What others can do with the address of this page, in words.
export function reach(isServed) {
  if (isServed) return "The link works on this machine while `duologue play` runs. A page for others: `duologue play -o page.html`.";
  const isLocal = ["", "localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  return isLocal ? "The link works on this machine. For others, put this page on a server." : "The link opens what you see.";
}

// The address of this page without anything that may be secret: only its path, and what is open in it.
export function ownLink() {
  const { protocol, host, pathname, hash } = location;
  return protocol + "//" + host + pathname + hash;
}
