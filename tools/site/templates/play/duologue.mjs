// The compiler in JavaScript: `const compiler = await load(bytes)`, then `compiler.run({ command: "check", files: { "a.proto": text } })`.
// README.md describes requests and answers.

/**
 * Compiles the module. `bytes` is the content of duologue.wasm, or a promise of a response with it.
 * @param {BufferSource | Promise<Response>} bytes
 */
export async function load(bytes) {
  const isResponse = typeof bytes.then === "function";
  const module = isResponse ? await WebAssembly.compileStreaming(bytes) : await WebAssembly.compile(bytes);
  return new Compiler(module);
}

// The text after its length at an address.
function read(memory, at) {
  const length = new DataView(memory.buffer).getUint32(at, true);
  return new TextDecoder().decode(new Uint8Array(memory.buffer, at + 4, length));
}

class Compiler {
  #module;
  #exports = null;

  constructor(module) {
    this.#module = module;
  }

  /**
   * Answers a request. Throws if the request is wrong, or if the compiler fails; the next request then has a new instance.
   */
  run(request) {
    this.#exports ??= new WebAssembly.Instance(this.#module).exports;
    const { memory, duologue_alloc, duologue_failure, duologue_free, duologue_run } = this.#exports;
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    let text;
    try {
      // Addresses are unsigned, but numbers from a module are signed.
      const at = duologue_alloc(bytes.length) >>> 0;
      if (at === 0) throw new Error("there is not enough memory for the request");
      new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
      const answer = duologue_run(at, bytes.length) >>> 0;
      text = read(memory, answer);
      const length = new DataView(memory.buffer).getUint32(answer, true);
      duologue_free(answer, 4 + length);
    } catch (error) {
      this.#exports = null;
      throw failure(error, memory, duologue_failure);
    }
    const answer = JSON.parse(text);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }
}

// What a panic said is more useful than the trap that it ends with.
function failure(error, memory, duologue_failure) {
  if (!(error instanceof WebAssembly.RuntimeError)) return error;
  const said = duologue_failure() >>> 0;
  return said === 0 ? error : new Error("the compiler failed: " + read(memory, said));
}
