// The stepper of a protocol.
import { element } from "./dom.mjs";
import { isText, quoted, valueFault, valuesOf } from "./values.mjs";

// The logic of the stepper, which knows nothing of pages. A side is 0, the client, or 1, the server. A state that is null is the
// end of the session.

const sides = ["client", "server"];

// How many slots the ring is shown with if the number of messages in flight has no bound.
const unboundedSlots = 8;

export function slots(table, to) {
  const bound = table.capacity[to === 1 ? 0 : 1];
  return bound === null ? unboundedSlots : bound;
}

// A message is its name, the state that follows, and its entries: the name of each, its type, an example and how it is written. With
// values, it is what a transcript says; without, what the protocol says.
function text([name, , entries], values = entries.map(([, , , written]) => written)) {
  return values.length === 0 ? name : name + "(" + values.join(", ") + ")";
}

function examples([, , entries]) {
  return entries.map(([, , example]) => example);
}

export function start() {
  return { at: [0, 0], ring: [], lines: [], taken: [] };
}

function stateOf(table, position, side) {
  const at = position.at[side];
  return at === null ? null : table.states[at];
}

// What may happen next: a side sends one of its messages, if a slot is free, or receives the oldest one in the ring.
export function moves(table, position) {
  const found = [];
  for (const side of [0, 1]) {
    const state = stateOf(table, position, side);
    if (state === null || state.turn === null) continue;
    if (state.turn === side) {
      if (position.ring.length >= slots(table, 1 - side)) continue;
      state.messages.forEach((message, index) => found.push({ side, index, name: message[0] }));
    } else if (position.ring.length > 0 && position.ring[0].to === side) {
      found.push({ side, index: null, name: "-" });
    }
  }
  return found;
}

// The position after a move. A message that is sent has its values; without any, those of the examples.
export function step(table, position, { side, index, values }) {
  const at = position.at.slice();
  if (index !== null) {
    const message = table.states[at[side]].messages[index];
    at[side] = message[1];
    const said = text(message, values ?? examples(message));
    const word = values && said !== text(message, examples(message)) ? said : message[0];
    return { at, ring: position.ring.concat({ to: 1 - side, message, said }), lines: position.lines, taken: position.taken.concat(word) };
  }
  const { message, said } = position.ring[0];
  at[side] = message[1];
  const lines = position.lines.concat(sides[side] + " <- " + said);
  return { at, ring: position.ring.slice(1), lines, taken: position.taken.concat("-") };
}

// The move of a word, with the values that it has after the name of a message, or undefined.
function meantBy(table, position, possible, word) {
  const end = word.indexOf("(");
  const name = end < 0 ? word : word.slice(0, end);
  const move = possible.find((move) => move.name === name);
  if (move === undefined || end < 0) return move;
  const entries = table.states[position.at[move.side]]?.messages[move.index]?.[2] ?? [];
  const values = valuesOf(table.types, entries, word.slice(end));
  return values === null ? undefined : { ...move, values };
}

// The position that an address names: messages in the order in which they are sent, perhaps with values, and "-" for one that is received.
// Before the other side sends, everything is received, so that needs no "-". Also the first word that is not possible, or null.
export function replay(table, words) {
  let position = start();
  for (const word of words) {
    let move;
    let next = position;
    for (;;) {
      const possible = moves(table, next);
      move = meantBy(table, next, possible, word);
      const receive = possible.find((move) => move.index === null);
      if (move !== undefined || receive === undefined) break;
      next = step(table, next, receive);
    }
    if (move === undefined) return { position, wrong: word };
    position = step(table, next, move);
  }
  return { position, wrong: null };
}

export function address(taken) {
  return ["#play"].concat(taken.map(encodeURIComponent)).join("/");
}

// Builds the stepper in a section. `place` keeps the messages of the session. Returns the function that reads them again.
export function stepper(section, table, picture, place) {
  const lanes = [0, 1].map((side) => {
    const actions = element("ul", { role: "list" });
    const status = element("p", {});
    const title = element("h3", {}, side === 0 ? "Client" : "Server");
    return { status, actions, box: element("div", { class: "lane " + sides[side] }, title, status, actions) };
  });
  const ringTitle = element("h3", {});
  const ringStatus = element("p", {});
  const ring = element("ol", { class: "slots" });
  const undo = element("button", { type: "button" }, "Undo");
  const restart = element("button", { type: "button" }, "Restart");
  const copy = element("button", { type: "button" }, "Copy transcript");
  const transcript = element("pre", { role: "region", tabindex: "0", "aria-label": "Transcript" });
  const live = element("p", { role: "status" });
  section.append(
    element("div", { class: "stepper" }, lanes[0].box, element("div", { class: "lane" }, ringTitle, ringStatus, ring), lanes[1].box),
    element("div", { class: "tools" }, undo, restart, copy),
    live,
    transcript,
  );
  let position = start();
  // The buttons that were used last keep the focus, as far as they still exist.
  let hasActed = false;

  function go(taken) {
    hasActed = true;
    place.write(taken, read);
  }

  function act(move) {
    go(step(table, position, move).taken);
  }

  // What was typed last for each message, by its state and its place there.
  const typed = new Map();

  // The button of a move. A message with values is a form, whose fields begin with examples; a text needs no quotation marks there.
  function action(move) {
    if (move.index === null) return element("button", { type: "button", click: () => act(move) }, "Receive " + position.ring[0].said);
    const state = position.at[move.side];
    const message = table.states[state].messages[move.index];
    const [name, , entries] = message;
    const step = state + "." + move.index;
    if (entries.length === 0) return element("button", { type: "button", "data-send": step, click: () => act(move) }, "Send " + name);
    const values = typed.get(step) ?? examples(message);
    typed.set(step, values);
    const fields = entries.map(([, type, example, written], index) => {
      const needsNoMarks = isText(table.types, type);
      const field = element("input", { value: needsNoMarks && values[index] === example ? "" : values[index], autocomplete: "off", spellcheck: "false" });
      field.addEventListener("input", () => {
        const value = needsNoMarks && !field.value.startsWith("\"") ? quoted(field.value) : field.value.trim();
        const fault = value === example ? null : valueFault(table.types, type, value);
        field.setCustomValidity(fault ?? "");
        if (fault === null) values[index] = value;
      });
      return element("label", {}, written + " ", field);
    });
    const submit = (event) => {
      event.preventDefault();
      act({ ...move, values: values.slice() });
    };
    return element("form", { submit }, element("button", { "data-send": step }, "Send " + name), ...fields);
  }

  function say(side, possible) {
    const state = stateOf(table, position, side);
    if (state === null) return "The session is over.";
    const where = "in " + state.name + ": ";
    if (state.turn === null) return where + "the session is over.";
    if (state.turn !== side) return where + (possible.length > 0 ? "a message has arrived." : "waits for a message.");
    return where + (possible.length > 0 ? "may send." : "waits for a free slot.");
  }

  function show(wrong) {
    const possible = moves(table, position);
    lanes.forEach((lane, side) => {
      const own = possible.filter((move) => move.side === side);
      lane.status.textContent = say(side, own);
      lane.actions.replaceChildren(...own.map((move) => element("li", {}, action(move))));
    });
    const first = possible[0];
    const to = position.ring.length > 0 ? position.ring[0].to : first === undefined ? 1 : 1 - first.side;
    const count = Math.max(slots(table, to), position.ring.length);
    const isBounded = table.capacity[to === 1 ? 0 : 1] !== null;
    ringTitle.textContent = "Ring to the " + sides[to];
    ringStatus.textContent = position.ring.length + " of " + (isBounded ? count : "∞") + (isBounded && count === 1 ? " slot" : " slots");
    const drawn = Math.min(count, position.ring.length + unboundedSlots);
    ring.replaceChildren(...Array.from({ length: drawn }, (_, slot) => {
      const sent = position.ring[slot];
      return sent ? element("li", { class: "full" }, sent.said) : element("li", { "aria-label": "free" });
    }));
    undo.disabled = restart.disabled = position.taken.length === 0;
    copy.disabled = position.lines.length === 0;
    transcript.textContent = position.lines.join("\n") || "Nothing has been received yet.";
    const last = position.taken[position.taken.length - 1];
    const did = last === undefined ? "At the start. " : last === "-" ? position.lines[position.lines.length - 1] + ". " : "Sent " + last + ". ";
    live.className = wrong !== null ? "wrong" : "unseen";
    live.textContent = wrong !== null ? "The address says " + wrong + ", which is not possible here." :
      did + "Client: " + lanes[0].status.textContent + " Server: " + lanes[1].status.textContent;
    mark(possible);
    if (hasActed) {
      const next = section.querySelector(".lane button") || undo;
      next.focus();
    }
  }

  // In the picture, the states of the two sides, and the messages that can be sent or received.
  function mark(possible) {
    if (!picture) return;
    for (const box of picture.querySelectorAll("[data-state]")) {
      const state = Number(box.getAttribute("data-state"));
      box.classList.toggle("now", position.at.includes(state));
    }
    // A state that is out of sight is scrolled to the middle.
    const seen = picture.getBoundingClientRect();
    for (const now of picture.querySelectorAll(".now")) {
      const box = now.getBoundingClientRect();
      if (box.top < seen.top || box.bottom > seen.bottom) picture.scrollTop += (box.top + box.bottom - seen.top - seen.bottom) / 2;
      if (box.left < seen.left || box.right > seen.right) picture.scrollLeft += (box.left + box.right - seen.left - seen.right) / 2;
    }
    for (const label of picture.querySelectorAll("[data-step]")) {
      label.classList.toggle("can", meant(label, possible) !== undefined);
    }
  }

  // The move that a message in the picture stands for.
  function meant(label, possible) {
    const [state, index] = label.getAttribute("data-step").split(".").map(Number);
    return possible.find((move) => move.index === null
      ? position.at[move.side] === state && position.ring[0].message === table.states[state].messages[index]
      : position.at[move.side] === state && move.index === index);
  }

  function read() {
    const words = place.read();
    if (words === null) return;
    const opened = replay(table, words);
    position = opened.position;
    show(opened.wrong);
  }

  undo.addEventListener("click", () => go(position.taken.slice(0, -1)));
  restart.addEventListener("click", () => go([]));
  copy.addEventListener("click", () => {
    const tell = (words) => {
      live.className = "";
      live.textContent = words;
    };
    const copied = () => tell("The transcript has been copied.");
    const select = () => {
      getSelection().selectAllChildren(transcript);
      tell("The transcript is selected: copy it with the keyboard.");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(position.lines.join("\n") + "\n").then(copied, select);
    else select();
  });
  if (picture) {
    picture.addEventListener("click", (event) => {
      const label = event.target.closest("[data-step]");
      const move = label && meant(label, moves(table, position));
      if (!move) return;
      if (move.index === null) act(move);
      else section.querySelector(`[data-send="${label.getAttribute("data-step")}"]`).click();
    });
  }
  if (place.read() === null) show(null);
  else read();
  return read;
}

