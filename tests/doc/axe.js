// The script of a page that a test adds to a site: opens pages of the site in frames, checks each with axe, checks that it fits a phone,
// and writes what it found.
// The pages are in the address, after `#`, as JSON: lists of an address in the site and what is typed into the search.
"use strict";

// What is wider than the page, and words in tables that are not on one line. A name may end a line after an underscore or a dot.
function narrowFaults(page) {
  const main = page.querySelector("main");
  const faults = main.scrollWidth > main.clientWidth ? ["wider than a phone"] : [];
  const texts = page.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    if (!text.parentElement.closest("td, th") || text.parentElement.closest("code")) continue;
    for (const word of text.data.matchAll(/[^\s_.]+[_.]*/g)) {
      const range = page.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (range.getClientRects().length > 1) faults.push("broken: " + word[0]);
    }
  }
  return faults;
}

addEventListener("load", async () => {
  const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const seen = [];
  const once = (target, event) => new Promise((resolve, reject) => {
    target.addEventListener(event, resolve, { once: true });
    target.addEventListener("error", () => reject(new Error("cannot be loaded")), { once: true });
  });
  try {
    for (const [address, query] of JSON.parse(decodeURIComponent(location.hash.slice(1)))) {
      const frame = document.createElement("iframe");
      frame.title = address;
      frame.width = 1200;
      frame.height = 900;
      frame.src = address;
      const loaded = once(frame, "load");
      document.body.append(frame);
      await loaded;
      const page = frame.contentDocument;
      const script = page.createElement("script");
      script.src = "axe.min.js";
      const added = once(script, "load");
      page.head.append(script);
      await added;
      if (query !== "") {
        const field = page.getElementById("query");
        field.value = query;
        field.dispatchEvent(new Event("input"));
        if (page.querySelectorAll("#results a").length === 0) throw new Error("nothing is found in " + address);
      }
      const { passes, violations } = await frame.contentWindow.axe.run(page);
      const found = violations.map((found) => found.id + " at " + found.nodes.map((node) => node.target.join(" ")).join(", "));
      const few = passes.length > 10 ? "" : "few rules ran; ";
      const contrast = passes.some(({ id }) => id === "color-contrast") ? "" : "contrast was not checked; ";
      frame.width = 390;
      const wide = narrowFaults(page);
      seen.push(`${scheme}, ${address}${query && ", search"}: ${few}${contrast}${found.concat(wide).join("; ") || "no violations"}`);
      frame.remove();
    }
  } catch (error) {
    seen.push("failed: " + error.message);
  }
  const result = document.createElement("pre");
  result.id = "seen";
  result.textContent = "\n" + seen.join("\n") + "\n";
  document.body.append(result);
});
