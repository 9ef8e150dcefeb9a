// Keeps one's own page true: its part is fetched again every few seconds while somebody looks, and morphed in place.
import { showButtons } from "./copy.js";

const EVERY = 5000;
const WHILE_TRIED = 700;

const lang = document.documentElement.lang || undefined;
const ago = new Intl.RelativeTimeFormat(lang, { numeric: "always", style: "narrow" });
let last = "";
let timer = 0;

function writeTimes(root) {
  for (const time of root.querySelectorAll("time[data-relative]")) {
    const s = Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000));
    const text = s < 60 ? ago.format(-s, "second") : s < 3600 ? ago.format(-Math.floor(s / 60), "minute")
      : s < 86400 ? ago.format(-Math.floor(s / 3600), "hour") : ago.format(-Math.floor(s / 86400), "day");
    if (time.textContent !== text) time.textContent = text;
  }
}

function part() { return document.getElementById("fragment-mine"); }

function reading() {
  const selection = getSelection();
  return selection && !selection.isCollapsed && selection.containsNode(part(), true);
}

function apply(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const next = template.content.firstElementChild;
  if (next?.id !== "fragment-mine") { location.reload(); return; } // the door was shut: the page says so
  const said = document.querySelector("#trial strong")?.textContent;
  showButtons(next);
  writeTimes(next);
  Idiomorph.morph(part(), next, {
    morphStyle: "outerHTML",
    restoreFocus: true,
    // what the reader opened stays open, and a button that says "Copied" is left to it
    callbacks: {
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.localName === "details"),
      beforeNodeMorphed: (old) => !(old instanceof Element && old.dataset.busy),
    },
  });
  const says = document.querySelector("#trial strong")?.textContent;
  if (says && says !== said) document.querySelector("[data-announce]").textContent = says;
}

async function look() {
  clearTimeout(timer);
  if (document.visibilityState === "visible" && part() && !reading()) {
    try {
      const answer = await fetch(part().dataset.part, { cache: "no-store", credentials: "same-origin" });
      const html = await answer.text();
      if (answer.ok && html !== last) { last = html; apply(html); }
    } catch { /* away for a moment: the next look tells */ }
    if (part()) writeTimes(part());
  }
  timer = setTimeout(look, document.querySelector("#trial[data-open]") ? WHILE_TRIED : EVERY);
}

if (part()) {
  writeTimes(part());
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") look(); });
  timer = setTimeout(look, document.querySelector("#trial[data-open]") ? WHILE_TRIED : EVERY);
}
