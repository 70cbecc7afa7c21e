// The stepper of a protocol and the search. Pages are complete without this script.
"use strict";

// The logic of the stepper, which knows nothing of pages. A side is 0, the client, or 1, the server. A state that is null is the
// end of the session.

const sides = ["client", "server"];

// How many slots the ring is shown with if the number of messages in flight has no bound.
const unboundedSlots = 8;

function slots(table, to) {
  const bound = table.capacity[to === 1 ? 0 : 1];
  return bound === null ? unboundedSlots : bound;
}

// A message as it is written in the protocol.
function text(message) {
  return message[2] || message[0];
}

function start() {
  return { at: [0, 0], ring: [], lines: [], taken: [] };
}

function stateOf(table, position, side) {
  const at = position.at[side];
  return at === null ? null : table.states[at];
}

// What may happen next: a side sends one of its messages, if a slot is free, or receives the oldest one in the ring.
function moves(table, position) {
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

// The position after a move.
function step(table, position, move) {
  const at = position.at.slice();
  const taken = position.taken.concat(move.name);
  if (move.index !== null) {
    const message = table.states[at[move.side]].messages[move.index];
    at[move.side] = message[1];
    const ring = position.ring.concat({ to: 1 - move.side, message });
    return { at, ring, lines: position.lines, taken };
  }
  const message = position.ring[0].message;
  at[move.side] = message[1];
  const line = sides[move.side] + " <- " + (message[3] || message[0]);
  return { at, ring: position.ring.slice(1), lines: position.lines.concat(line), taken };
}

// The position that an address names: messages in the order in which they are sent, and "-" for one that is received. Before the
// other side sends, everything is received, so that needs no "-". Also the first word that is not possible, or null.
function open(table, words) {
  let position = start();
  for (const word of words) {
    let move = null;
    let next = position;
    for (;;) {
      const possible = moves(table, next);
      move = possible.find((move) => move.name === word);
      const receive = possible.find((move) => move.index === null);
      if (move !== undefined || receive === undefined) break;
      next = step(table, next, receive);
    }
    if (move === undefined) return { position, wrong: word };
    position = step(table, next, move);
  }
  return { position, wrong: null };
}

function address(taken) {
  return ["#play"].concat(taken).join("/");
}

// The entries of the search that contain every word, the best first.
function search(entries, query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return [];
  const ranked = [];
  for (const entry of entries) {
    const name = entry[0].toLowerCase();
    const all = name + " " + entry[1] + " " + entry[3].toLowerCase();
    if (!words.every((word) => all.includes(word))) continue;
    const last = name.split(/[./]/).pop();
    const rank = last.startsWith(words[0]) ? 0 : name.includes(words[0]) ? 1 : 2;
    ranked.push({ rank, entry });
  }
  ranked.sort((one, other) => one.rank - other.rank);
  return ranked.map((found) => found.entry);
}

// The page.

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function searchBox() {
  const input = element("input", { type: "search", id: "query", autocomplete: "off" });
  const status = element("span", { role: "status" });
  const results = element("ul", { id: "results", role: "list" });
  const box = element("form", { role: "search" }, element("label", { for: "query" }, "Search "), input, status, results);
  const most = 20;
  input.addEventListener("input", () => {
    const found = search(everything, input.value);
    const shown = found.slice(0, most).map(([name, kind, page]) =>
      element("li", {}, element("a", { href: page }, name), " " + kind));
    results.replaceChildren(...shown);
    const more = found.length > most ? ", of which " + most + " are shown" : "";
    status.textContent = input.value.trim() === "" ? "" : " " + found.length + " found" + more;
  });
  box.addEventListener("keydown", (event) => {
    const links = [...results.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "Escape") {
      input.value = "";
      results.replaceChildren();
      status.textContent = "";
      input.focus();
    } else if (event.key === "ArrowDown" && at + 1 < links.length) {
      links[at + 1].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      (at === 0 ? input : links[at - 1]).focus();
    } else {
      return;
    }
    event.preventDefault();
  });
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = results.querySelector("a");
    if (first) first.click();
  });
  document.querySelector("header").append(box);
}

// Where a page keeps the messages of its session: in its address.
const inAddress = {
  read() {
    const words = location.hash.slice(1).split("/");
    if (words[0] === "play") return words.slice(1);
    return location.hash === "" ? [] : null;
  },
  write(taken, read) {
    const to = address(taken);
    if (location.hash === to) read();
    else location.hash = to;
  },
};

// Builds the stepper in a section. `place` keeps the messages of the session. Returns the function that reads them again.
function stepper(section, table, picture, place) {
  const lanes = [0, 1].map((side) => {
    const actions = element("ul", { role: "list" });
    const status = element("p", {});
    const title = element("h3", {}, side === 0 ? "Client" : "Server");
    return { status, actions, box: element("div", { class: "lane " + sides[side] }, title, status, actions) };
  });
  const ringTitle = element("h3", {});
  const ring = element("ol", { class: "slots" });
  const undo = element("button", { type: "button" }, "Undo");
  const restart = element("button", { type: "button" }, "Start again");
  const copy = element("button", { type: "button" }, "Copy transcript");
  const transcript = element("pre", { role: "region", tabindex: "0", "aria-label": "Transcript" });
  const live = element("p", { role: "status" });
  section.append(
    element("div", { class: "stepper" }, lanes[0].box, element("div", { class: "lane" }, ringTitle, ring), lanes[1].box),
    element("p", { class: "tools" }, undo, restart, copy),
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

  function say(side, possible) {
    const state = stateOf(table, position, side);
    if (state === null) return "The session is over.";
    const where = "In " + state.name + ": ";
    if (state.turn === null) return where + "the session is over.";
    if (state.turn !== side) return where + (possible.length > 0 ? "a message has arrived." : "waits for a message.");
    return where + (possible.length > 0 ? "may send." : "waits for a free slot.");
  }

  function show(wrong) {
    const possible = moves(table, position);
    lanes.forEach((lane, side) => {
      const own = possible.filter((move) => move.side === side);
      lane.status.textContent = say(side, own);
      lane.actions.replaceChildren(...own.map((move) => {
        const message = move.index === null ? position.ring[0].message : stateOf(table, position, side).messages[move.index];
        const label = (move.index === null ? "Receive " : "Send ") + text(message);
        const button = element("button", { type: "button" }, label);
        button.addEventListener("click", () => act(move));
        return element("li", {}, button);
      }));
    });
    const first = possible[0];
    const to = position.ring.length > 0 ? position.ring[0].to : first === undefined ? 1 : 1 - first.side;
    const count = Math.max(slots(table, to), position.ring.length);
    const isBounded = table.capacity[to === 1 ? 0 : 1] !== null;
    ringTitle.textContent = "Ring to the " + sides[to] + ": " + position.ring.length + " of " + count +
      (count === 1 ? " slot" : " slots") + (isBounded ? "" : ", without a bound");
    const drawn = Math.min(count, position.ring.length + unboundedSlots);
    ring.replaceChildren(...Array.from({ length: drawn }, (_, slot) => {
      const sent = position.ring[slot];
      return sent ? element("li", { class: "full" }, text(sent.message)) : element("li", {}, "free");
    }));
    undo.disabled = restart.disabled = position.taken.length === 0;
    copy.disabled = position.lines.length === 0;
    transcript.textContent = position.lines.join("\n") || "Nothing has been received yet.";
    const last = position.taken[position.taken.length - 1];
    const did = last === undefined ? "At the start. " : last === "-" ? position.lines[position.lines.length - 1] + ". " : "Sent " + last + ". ";
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
    const opened = open(table, words);
    position = opened.position;
    show(opened.wrong);
  }

  undo.addEventListener("click", () => go(position.taken.slice(0, -1)));
  restart.addEventListener("click", () => go([]));
  copy.addEventListener("click", () => {
    const copied = () => { live.textContent = "The transcript has been copied."; };
    const select = () => {
      getSelection().selectAllChildren(transcript);
      live.textContent = "The transcript is selected: copy it with the keyboard.";
    };
    if (navigator.clipboard) navigator.clipboard.writeText(position.lines.join("\n") + "\n").then(copied, select);
    else select();
  });
  if (picture) {
    picture.addEventListener("click", (event) => {
      const label = event.target.closest("[data-step]");
      const move = label && meant(label, moves(table, position));
      if (move) act(move);
    });
  }
  if (place.read() === null) show(null);
  else read();
  return read;
}

// Other pages use this script as a module.
if (typeof module !== "undefined") {
  module.exports = { address, moves, open, search, slots, start, step, stepper };
} else {
  searchBox();
  const section = document.getElementById("play");
  if (section) {
    section.querySelector(".without").remove();
    const table = JSON.parse(document.getElementById("table").textContent);
    const read = stepper(section, table, document.getElementById("picture"), inAddress);
    addEventListener("hashchange", read);
    if (location.hash.startsWith("#play")) section.scrollIntoView();
  }
}
