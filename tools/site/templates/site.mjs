// The script of a site: the search, and the stepper of a protocol. Pages are complete without it.
import { element } from "./dom.mjs";
import { address, stepper } from "./stepper.mjs";

// The entries of the search that contain every word, the best first.
export function search(entries, query) {
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

function searchBox(everything) {
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
    if (words[0] === "play") return words.slice(1).map(decoded);
    return location.hash === "" ? [] : null;
  },
  write(taken, read) {
    const to = address(taken);
    if (location.hash === to) read();
    else location.hash = to;
  },
};

// A part of an address, which somebody may have written by hand.
function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

export function page(everything) {
  searchBox(everything);
  const section = document.getElementById("play");
  if (section === null) return;
  section.querySelector(".without").remove();
  const table = JSON.parse(document.getElementById("table").textContent);
  const read = stepper(section, table, document.getElementById("picture"), inAddress);
  addEventListener("hashchange", read);
  if (location.hash.startsWith("#play")) section.scrollIntoView();
}
