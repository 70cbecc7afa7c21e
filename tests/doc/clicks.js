// Added to the page of bank by a test: plays a session through the page's own buttons, its picture and its search, and writes what it
// saw into the page.
"use strict";

addEventListener("load", async () => {
  const seen = [];
  // An address takes effect when the browser has handled its change.
  const settled = () => new Promise((resolve) => setTimeout(resolve, 20));
  const buttons = () => [...document.querySelectorAll("#play .lane button")];
  const offered = () => buttons().map((button) => button.textContent.replace(/\(.*/, "")).join(", ");
  const press = async (start) => {
    const found = buttons().find((button) => button.textContent.startsWith(start));
    if (!found) throw new Error(start + " is not offered, but: " + offered());
    found.focus();
    found.click();
    await settled();
    const focus = document.activeElement;
    if (focus.tagName !== "BUTTON") throw new Error("the focus is lost after " + start);
  };
  try {
    seen.push("style: tables scroll: " + getComputedStyle(document.querySelector("main")).overflowX);
    seen.push("start: " + offered());
    for (const start of ["Send login", "Receive login", "Send ok", "Receive ok"]) await press(start);
    seen.push("connected: " + offered());
    await press("Send deposit");
    await press("Send deposit");
    seen.push("in the ring: " + document.querySelectorAll(".slots .full").length);
    seen.push("address: " + location.hash);
    [...document.querySelectorAll("#play .tools button")].find((button) => button.textContent === "Undo").click();
    await settled();
    seen.push("after undo: " + document.querySelectorAll(".slots .full").length);
    await press("Receive deposit");
    // In the picture: `quit` is sent by a click on its label.
    const label = [...document.querySelectorAll("[data-step]")].find((label) => label.textContent === "quit");
    seen.push("quit can be clicked: " + label.classList.contains("can"));
    label.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await settled();
    await press("Receive quit");
    seen.push("end: " + document.querySelector("#play [role=status]").textContent);
    seen.push("offered: " + offered());
    seen.push(document.querySelector("#play pre").textContent.replaceAll("\n", "; "));
    location.hash = "#play/login/ok/withdrawal/nonsense";
    await settled();
    seen.push("wrong: " + document.querySelector("#play [role=status]").textContent);
    const query = document.getElementById("query");
    query.value = "smtp greet";
    query.dispatchEvent(new Event("input"));
    query.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    seen.push("search: " + document.activeElement.getAttribute("href"));
    // The first result opens by Enter. The page stays, so that the test can go on.
    document.addEventListener("click", (event) => {
      event.preventDefault();
      seen.push("enter: " + event.target.getAttribute("href"));
    }, { once: true });
    query.form.requestSubmit();
    await settled();
  } catch (error) {
    seen.push("failed: " + error.message);
  }
  const result = document.createElement("pre");
  result.id = "seen";
  result.textContent = "\n" + seen.join("\n") + "\n";
  document.body.append(result);
});
