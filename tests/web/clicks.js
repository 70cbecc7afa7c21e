// Added to the playground by a test: uses it as a person does, and writes what it saw into the page.
"use strict";

addEventListener("load", async () => {
  const seen = [];
  const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const until = async (what, words) => {
    for (let tries = 0; tries < 400; tries += 1) {
      if (what()) return;
      await wait(25);
    }
    throw new Error("waited without success for: " + words);
  };
  const byId = (id) => document.getElementById(id);
  const pane = byId("pane");
  const verdict = byId("verdict");
  const buttons = (within) => [...document.querySelectorAll(within + " button")];
  const press = async (within, start) => {
    const found = buttons(within).find((button) => button.textContent.startsWith(start));
    if (!found) throw new Error(start + " is not offered, but: " + buttons(within).map((button) => button.textContent).join(", "));
    found.focus();
    found.click();
    await wait(30);
  };
  const area = document.querySelector("#editor textarea");
  const lines = () => area.value.split("\n");
  const tab = (name) => press("#tabs", name);
  // Types into the editor at the first place of some words, as a keyboard does.
  const type = async (after, text) => {
    const at = area.value.indexOf(after);
    if (at < 0) throw new Error("the editor has no " + after);
    area.focus();
    area.setSelectionRange(at + after.length, at + after.length);
    document.execCommand("insertText", false, text);
    await wait(30);
  };
  // The project in an address.
  const linked = async (hash) => {
    if (!hash.startsWith("#d=")) return "";
    const binary = atob(hash.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
  };
  // Types into a field of the stepper.
  const fill = (label, text) => {
    const found = [...document.querySelectorAll("#play label")].find((field) => field.textContent.trim() === label);
    if (!found) throw new Error("there is no field " + label);
    const field = found.querySelector("input");
    field.value = text;
    field.dispatchEvent(new Event("input"));
    return field;
  };
  const copied = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copied.push(text); } } });
  const violations = async (where) => {
    const { passes, violations } = await axe.run(document);
    const found = violations.map((found) => found.id + " at " + found.nodes.map((node) => node.target.join(" ")).join(", "));
    seen.push("axe, " + where + ": " + (passes.length > 10 ? "" : "few rules ran; ") + (found.join("; ") || "no violations"));
  };
  try {
    await until(() => document.documentElement.dataset.ready && verdict.textContent.startsWith("No"), "the compiler");
    seen.push("a key in the address: " + location.href.includes("key"));
    seen.push("opened: " + byId("file").value);
    seen.push("start: " + verdict.textContent);
    await violations("findings");
    await tab("Protocol");
    await until(() => pane.querySelector("svg"), "the picture");
    seen.push("picture: " + pane.querySelectorAll("svg [data-state]").length + " states");
    fill("username: str", "holk");
    fill("password: str", '"1\\"2"');
    for (const start of ["Send login", "Receive login", "Send ok", "Receive ok"]) await press("#play", start);
    const field = fill("money", "much");
    await press("#play", "Send deposit");
    seen.push("refused: " + field.validationMessage + "; " + document.querySelectorAll(".slots .full").length + " sent");
    await violations("a wrong value");
    fill("money", "12.50");
    await press("#play", "Send deposit");
    seen.push("in the ring: " + document.querySelector(".slots .full").textContent);
    await press("#play", "Receive deposit");
    await violations("protocol");
    byId("copy").click();
    await until(() => copied.length === 1, "a copied link");
    const link = new URL(copied[0]);
    seen.push("a copied link: " + (await linked(link.hash)).includes("12.50") + ", " + /key|[?]|0123456789abcdef/.test(copied[0]) + "; " + byId("said").textContent);
    await press("#play", "Send quit");
    await press("#play", "Receive quit");
    seen.push("end: " + pane.querySelector("[role=status]").textContent);
    seen.push(pane.querySelector("#play pre").textContent.replaceAll("\n", "; "));
    for (const [name, words] of [["Rust", "pub mod client"], ["C", "bank_client_connected_send_quit"], ["Scala", "InsufficientFunds"]]) {
      await tab(name);
      await until(() => pane.querySelector("pre"), "code");
      const [head, rest] = pane.querySelectorAll("pre");
      const whole = head.textContent + "\n" + rest.textContent;
      seen.push(name + ": " + (whole.includes(words) || "no " + words + " in " + whole.length + " characters") + "; begins with " +
        rest.textContent.split("\n").find((line) => line.includes("init")).trim() + "; " + [...new Set([...rest.querySelectorAll("span")].map((part) => part.className))].sort().join(", "));
      await press("#pane", "Copy file");
      seen.push("copied: " + (copied.at(-1) === whole) + "; " + byId("said").textContent);
    }
    await violations("code");
    await tab("Changes");
    await until(() => byId("old"), "the old version");
    await press("#pane", "Take the text");
    await until(() => byId("compared")?.textContent.includes("bank"), "a verdict");
    seen.push("changes: " + byId("compared").textContent);
    await type("quit", "ted");
    await until(() => byId("compared")?.textContent.includes("incompatible"), "a verdict");
    seen.push("a message is renamed: " + byId("compared").querySelector("strong").textContent);
    await violations("changes");
    await press("#compared", "Play this dialogue");
    await until(() => pane.querySelector("#play pre"), "the stepper");
    seen.push("its dialogue: " + pane.querySelector("#play pre").textContent.replaceAll("\n", "; ") + "; " + pane.querySelector("[role=status]").textContent);
    await tab("Findings");
    await type("connected", "x");
    await until(() => verdict.textContent.includes("1 error") && pane.querySelector(".finding"), "an error");
    seen.push("typed: " + pane.querySelector(".finding p").textContent);
    seen.push("in the text: " + document.querySelectorAll("#editor u.error").length);
    await violations("an error");
    // The address follows the text when nothing was typed for a moment.
    let hash = "";
    for (let tries = 0; !(await linked(hash)).includes("connectedx"); tries += 1) {
      if (tries === 400) throw new Error("the address does not have the text");
      await wait(25);
      hash = location.hash;
    }
    seen.push("address: " + /^#[dp]=[A-Za-z0-9_-]{100,}$/.test(hash));
    // The link leads to the same text.
    history.replaceState(null, "", "#");
    byId("example").value = "pingpong.proto";
    byId("example").dispatchEvent(new Event("change"));
    await until(() => verdict.textContent.includes("No errors"), "another example");
    location.hash = hash;
    await until(() => verdict.textContent.includes("1 error"), "the text of the link");
    seen.push("link: " + pane.querySelector(".finding p").textContent);
    await press("#pane", "Apply");
    await until(() => verdict.textContent.includes("No errors"), "the repair");
    seen.push("repaired: " + verdict.textContent);
    byId("example").value = "file_server.proto";
    byId("example").dispatchEvent(new Event("change"));
    await until(() => byId("file").options.length === 2, "two files");
    seen.push("with an import: " + verdict.textContent);
    // The old version has one of the two files; looking at the other one adds nothing.
    const openFile = (name) => {
      byId("file").value = name;
      byId("file").dispatchEvent(new Event("change"));
    };
    await tab("Changes");
    await until(() => byId("old"), "the old version");
    await press("#pane", "Take the text");
    const own = byId("old").value;
    byId("example").value = "file_server.proto";
    byId("example").dispatchEvent(new Event("change"));
    openFile("types.proto");
    openFile("file_server.proto");
    await until(() => byId("compared")?.textContent.includes("no old version"), "a question");
    byId("old").value = own;
    byId("old").dispatchEvent(new Event("input"));
    await until(() => byId("compared")?.textContent.includes("file_server"), "a verdict");
    seen.push("changes with an import: " + byId("compared").textContent);
    await tab("Findings");
    // A repair is in the right place even if the text of a link has the line ends of Windows.
    const text = "proto! p {\r\n    start:send {\r\n        m -> stary,\r\n        n -> !\r\n    }\r\n}\r\n";
    location.hash = "#p=" + btoa(JSON.stringify({ files: { "windows.proto": text } })).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    await until(() => verdict.textContent.includes("1 error"), "the text with other line ends");
    await press("#pane", "Apply");
    await until(() => verdict.textContent.includes("No errors"), "the repair");
    seen.push("line ends: " + lines().join("|"));
    // A finding about a state.
    const endless = "proto! p {\n    start:send {\n        m -> stuck,\n        n -> !\n    }\n    stuck:send {\n        m -> stuck\n    }\n}\n";
    location.hash = "#p=" + btoa(JSON.stringify({ files: { "endless.proto": endless } })).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    await until(() => verdict.textContent.includes("1 warning"), "a warning");
    await press("#pane", "Play until this state");
    await until(() => pane.querySelector("#play pre"), "the stepper");
    seen.push("a state: " + pane.querySelector("[role=status]").textContent);
    location.hash = "#d=AAAA";
    await until(() => byId("said").textContent.startsWith("The address"), "an answer to a damaged address");
    seen.push("damaged: " + byId("said").textContent.split(":")[0]);
  } catch (error) {
    seen.push("failed: " + error.message);
  }
  const result = document.createElement("pre");
  result.id = "seen";
  result.textContent = "\n" + seen.join("\n") + "\n";
  document.body.append(result);
});
