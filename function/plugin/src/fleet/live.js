// Replaces the content of the page when the overview changed, and once a minute for the ages.
"use strict";

const main = document.querySelector("main");
const root = document.body.dataset.root;

async function refresh() {
  try {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    main.replaceChildren(...page.querySelector("main").childNodes);
  } catch {
    document.querySelector(".read").textContent = "The plugin does not answer any more. This is what it said last.";
  }
}

new EventSource(`${root}changes`).addEventListener("change", refresh);
setInterval(refresh, 60000);
