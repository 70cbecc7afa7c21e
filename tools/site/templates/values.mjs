// Values of payloads, written as in transcripts and read by their types. A type is one of these:
//   "bool", "u8" to "i64", "f32", "f64", "any" for what only the program knows, or the number of a declared type;
//   ["str", most], ["bytes", most] and ["list", type, most], where `most` is a bound or null;
//   ["option", type], ["tuple", type...], and ["text", text] for an endpoint, which is always written so.
// A declared type is ["alias", type], ["struct", [name, type]...] or ["enum", [name, [name, type]...]...].

// How deeply values may be nested.
const deepest = 600;

class Fault extends Error {}

function anyOf(words) {
  const shown = words.map((word) => "`" + word + "`");
  const last = shown.pop();
  return shown.length === 0 ? last : shown.join(", ") + " or " + last;
}

const isReal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?(inf|infinity|nan)$/i;

class Reader {
  constructor(types, text) {
    this.types = types;
    this.text = text;
    this.at = 0;
    this.depth = 0;
  }

  // What matches exactly here, or null.
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return null;
    this.at += found[0].length;
    return found[0];
  }

  // What matches after whitespace, or null.
  next(pattern) {
    this.match(/\s*/y);
    return this.match(pattern);
  }

  wrong(words) {
    throw new Fault(words);
  }

  expected(what) {
    const found = this.next(/[\p{L}\p{N}_]+|./suy);
    this.wrong("expected " + what + ", not " + (found === null ? "the end" : "`" + found + "`"));
  }

  take(sign) {
    this.match(/\s*/y);
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  expect(sign, place) {
    if (!this.take(sign)) this.expected("`" + sign + "` " + place);
  }

  choice(words) {
    const start = this.at;
    const word = this.next(/[\p{L}\p{N}_]+/uy);
    if (words.includes(word)) return word;
    this.at = start;
    return this.expected(anyOf(words));
  }

  bound(many, unit, most) {
    if (most !== null && many > most) this.wrong(many + " " + unit + " are more than the " + most + " that are allowed");
  }

  // The values of a payload in parentheses, each as it is written.
  payload(entries) {
    const values = [];
    this.expect("(", "before the values");
    for (const [name, type] of entries) {
      if (values.length > 0) this.expect(",", "before `" + name + "`");
      const before = this.at;
      if (this.next(/[\p{L}\p{N}_]+/uy) !== name || !this.take(":")) this.at = before;
      this.match(/\s*/y);
      const start = this.at;
      this.value(type);
      values.push(this.text.slice(start, this.at).trim());
    }
    this.expect(")", "after the last value");
    return values;
  }

  value(type) {
    this.depth += 1;
    if (this.depth > deepest) this.wrong("values are nested more than " + deepest + " deep");
    if (typeof type === "number") this.declared(this.types[type]);
    else if (typeof type === "string") this.simple(type);
    else this.compound(type);
    this.depth -= 1;
  }

  simple(type) {
    if (type === "any") return this.any();
    if (type === "bool") return this.choice(["true", "false"]);
    const what = type[0] === "f" ? "a number" : "a whole number";
    const found = this.next(/[A-Za-z0-9+\-._]+/y);
    if (found === null) return this.expected(what);
    if (type[0] === "f") return isReal.test(found) || this.wrong("`" + found + "` is not a number");
    const bits = BigInt(type.slice(1));
    const [least, most] = type[0] === "u" ? [0n, (1n << bits) - 1n] : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n];
    const isWhole = (type[0] === "u" ? /^\+?\d{1,400}$/ : /^[+-]?\d{1,400}$/).test(found);
    const number = isWhole && BigInt(found.replace("+", ""));
    if (!isWhole || number < least || number > most) this.wrong("`" + found + "` is not a whole number from " + least + " to " + most);
  }

  compound([kind, ...parts]) {
    const [part, most] = parts;
    if (kind === "str") {
      this.bound(new TextEncoder().encode(this.string()).length, "bytes", part);
    } else if (kind === "bytes") {
      this.expect("<", "before bytes, as in `<00ff>`");
      let many = 0;
      for (; !this.take(">"); many += 1) {
        if (this.next(/[0-9a-f]{2}/iy) === null) this.wrong("expected two hexadecimal digits for each byte, and then `>`");
      }
      this.bound(many, "bytes", part);
    } else if (kind === "list") {
      this.expect("[", "before the items of a list");
      let many = 0;
      for (; !this.take("]"); many += 1) {
        if (many > 0) this.expect(",", "or `]` after an item");
        this.value(part);
      }
      this.bound(many, "items", most);
    } else if (kind === "option") {
      if (this.choice(["none", "some"]) === "none") return;
      this.expect("(", "before the value of `some`");
      this.value(part);
      this.expect(")", "after the value of `some`");
    } else if (kind === "tuple") {
      this.expect("(", "before the values of a tuple");
      parts.forEach((type, index) => {
        if (index > 0) this.expect(",", "before the next value of the tuple");
        this.value(type);
      });
      this.expect(")", "after the values of a tuple");
    } else {
      this.match(/\s*/y);
      if (!this.text.startsWith(part, this.at)) this.wrong("expected an endpoint, which is written `" + part + "`");
      this.at += part.length;
    }
  }

  declared([kind, ...parts]) {
    if (kind === "alias") return this.value(parts[0]);
    if (kind === "enum") {
      const name = this.choice(parts.map(([name]) => name));
      const entries = parts.find(([known]) => known === name).slice(1);
      if (entries.length > 0) this.payload(entries);
      return;
    }
    this.expect("{", "before the fields of a struct");
    const missing = new Map(parts);
    while (!this.take("}")) {
      if (missing.size < parts.length) this.expect(",", "or `}` after a field");
      if (missing.size === 0) this.expected("`}`, because each field has its value");
      const name = this.choice([...missing.keys()]);
      this.expect(":", "after the name of a field");
      this.value(missing.get(name));
      missing.delete(name);
    }
    for (const name of missing.keys()) this.wrong("the field `" + name + "` has no value");
  }

  string() {
    this.expect("\"", "before a text");
    let text = "";
    for (;;) {
      text += this.match(/[^"\\]*/y);
      if (this.match(/"/y) !== null) return text;
      const escape = this.match(/\\(?:[nrt"\\]|u\{[0-9a-f]+\})/iy);
      if (escape !== null) {
        const code = escape[1] === "u" ? parseInt(escape.slice(3, -1), 16) : 32;
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) this.wrong("`" + escape + "` is no character");
        text += String.fromCodePoint(code);
      } else if (this.at < this.text.length) {
        this.wrong("after `\\` a text has `\"`, `\\`, `n`, `t`, `r` or `u{...}`");
      } else {
        this.wrong("the text has no `\"` at its end");
      }
    }
  }

  // Everything up to a comma or a bracket that it does not open, other than in quotes.
  any() {
    this.match(/\s*/y);
    const start = this.at;
    let open = 0;
    while (this.at < this.text.length) {
      const sign = this.text[this.at];
      if (open === 0 && ",)]}".includes(sign)) break;
      if ("([{".includes(sign)) open += 1;
      if (")]}".includes(sign)) open -= 1;
      if (this.match(/"(?:[^"\\]|\\.)*\\?(?:"|$)/sy) === null) this.at += 1;
    }
    if (this.text.slice(start, this.at).trim() === "") this.wrong("expected a value");
  }

  end() {
    if (this.next(/./suy) !== null) this.wrong("expected nothing after the value");
  }
}

// What is wrong, or null.
function faultOf(read) {
  try {
    read();
    return null;
  } catch (fault) {
    if (fault instanceof Fault) return fault.message;
    throw fault;
  }
}

// What is wrong with the text of a value, or null.
export function valueFault(types, type, text) {
  return faultOf(() => {
    const reader = new Reader(types, text);
    reader.value(type);
    reader.end();
  });
}

// The values in the parentheses of a message, or null if they are not those of its entries.
export function valuesOf(types, entries, text) {
  let values = null;
  const fault = faultOf(() => {
    const reader = new Reader(types, text);
    values = reader.payload(entries);
    reader.end();
  });
  return fault === null ? values : null;
}

// Whether a type is `str`, perhaps by another name.
export function isText(types, type) {
  return typeof type === "number" ? types[type][0] === "alias" && isText(types, types[type][1]) : type[0] === "str";
}

// A text as a value of `str`.
export function quoted(text) {
  return "\"" + text.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n") + "\"";
}
