// Added to the playground by a test: shows a protocol while it is played, checks what can be seen without scrolling, and writes what it saw
// into the page.
"use strict";

addEventListener("load", async () => {
  const isWide = innerWidth > 800;
  const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const faults = [];
  const until = async (what, words) => {
    for (let tries = 0; !what(); tries += 1) {
      if (tries === 400) throw new Error("waited without success for: " + words);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  try {
    await until(() => document.documentElement.dataset.ready, "the compiler");
    document.getElementById("tab-protocol").click();
    await until(() => document.querySelector("#play button"), "the stepper");
    for (const start of ["Send login", "Receive login", "Send ok", "Receive ok", "Send deposit"]) {
      await until(() => [...document.querySelectorAll("#play button")].some((button) => button.textContent.startsWith(start)), start);
      [...document.querySelectorAll("#play button")].find((button) => button.textContent.startsWith(start)).click();
    }
    await until(() => document.querySelector(".slots .full"), "a message in the ring");
    scrollTo(0, 0);
    const area = (found) => found.getBoundingClientRect();
    const parts = [...document.querySelectorAll(".lane"), ...document.querySelectorAll(".picture .now")];
    if (parts.length !== 4) faults.push(parts.length + " parts");
    if (isWide) {
      const pane = area(document.getElementById("pane"));
      const isVisible = ({ top, bottom, left, right }) => top >= pane.top && bottom <= Math.min(pane.bottom, innerHeight) && left >= pane.left && right <= pane.right;
      for (const part of parts) if (!isVisible(area(part))) faults.push(part.getAttribute("class") + " is not visible at " + innerWidth + " by " + innerHeight);
    } else {
      const last = area(document.querySelector(".lane.server")).bottom;
      if (area(document.querySelector(".picture")).top < last) faults.push("the picture is above the messages");
      if (area(document.querySelector(".lane.client")).bottom > innerHeight) faults.push("no message can be sent without scrolling");
    }
    if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is wider than the screen");
    const { passes, violations } = await axe.run(document);
    if (!passes.some(({ id }) => id === "color-contrast")) faults.push("contrast was not checked");
    for (const found of violations) faults.push(found.id + " at " + found.nodes.map((node) => node.target.join(" ")).join(", "));
  } catch (error) {
    faults.push("failed: " + error.message);
  }
  const result = document.createElement("pre");
  result.id = "seen";
  result.textContent = "\n" + (isWide ? "wide" : "narrow") + ", " + scheme + ": " + (faults.join("; ") || "fits, no violations") + "\n";
  document.body.append(result);
});
