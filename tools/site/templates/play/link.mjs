// The address contains what is open: after `#d=` JSON that is compressed, after `#p=` as it is, both in the alphabet for addresses of base64.

const letters = { "+": "-", "/": "_", "=": "" };

// The longest address, and the longest text of one: a link from elsewhere must not fill the memory.
export const LONGEST = 1 << 20;

export function toBase64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replace(/[+/=]/g, (letter) => letters[letter]);
}

export function fromBase64(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

async function all(stream) {
  const parts = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > LONGEST) {
      await reader.cancel();
      throw new Error("the text in the address is too long");
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const through = (bytes, stream) => all(new Blob([bytes]).stream().pipeThrough(stream));

// What follows `#` in the address of a project. Throws if `readLink` would not read it.
export async function writeLink(project) {
  const bytes = new TextEncoder().encode(JSON.stringify(project));
  const tooLong = () => new Error("the texts are too long for a link");
  if (bytes.length > LONGEST) throw tooLong();
  const text = typeof CompressionStream === "undefined"
    ? "p=" + toBase64(bytes)
    : "d=" + toBase64(await through(bytes, new CompressionStream("deflate-raw")));
  // `#` comes before it.
  if (text.length >= LONGEST) throw tooLong();
  return text;
}

// The project of an address, or null if it has none. Throws if it is damaged.
export async function readLink(hash) {
  const kind = hash.slice(0, 3);
  if (kind !== "#d=" && kind !== "#p=") return null;
  if (hash.length > LONGEST) throw new Error("the address is too long");
  let bytes = fromBase64(hash.slice(3));
  if (kind === "#d=") bytes = await through(bytes, new DecompressionStream("deflate-raw"));
  return checkedProject(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
}

// A project that is known to have the right form.
export function checkedProject(project) {
  const texts = (found) => found !== null && typeof found === "object" && !Array.isArray(found) &&
    Object.values(found).every((text) => typeof text === "string");
  if (project === null || typeof project !== "object" || !texts(project.files) || Object.keys(project.files).length === 0) {
    throw new Error("the address has no files");
  }
  // The editor has no other line ends, and places in its text must be those of the compiler.
  const plain = (found) => Object.fromEntries(Object.entries(found).map(([path, text]) => [path, text.replace(/\r\n?/g, "\n")]));
  const strings = (found) => Array.isArray(found) ? found.filter((text) => typeof text === "string") : [];
  const files = plain(project.files);
  const name = Object.keys(files)[0];
  return {
    files,
    file: Object.hasOwn(files, project.file) ? project.file : name,
    tab: typeof project.tab === "string" ? project.tab : "findings",
    old: texts(project.old) ? plain(project.old) : {},
    play: strings(project.play),
    import_dirs: strings(project.import_dirs),
    protocol: typeof project.protocol === "string" ? project.protocol : "",
  };
}
