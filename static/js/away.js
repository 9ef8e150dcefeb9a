// Marks what changed in a league since the reader last saw its board, and says how much it is.
// What the reader saw last is remembered in this browser only.

import { fill, setText } from "./morph.js";

const line = document.querySelector("[data-away]");
const key = `seen:${line.dataset.away}`;

function now() {
  const feed = document.getElementById("fragment-feed");
  return { seq: Number(feed.dataset.seq), done: Number(feed.dataset.done) };
}

function remembered() {
  try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
}

function remember(seen) {
  try { localStorage.setItem(key, JSON.stringify(seen)); } catch { /* private window: nothing is remembered */ }
}

let before = null; // the state of the board when the reader left
let until = null; // the state when the reader came back; later changes were seen live

let seen = false; // whether the reader has seen this page

// The reader sees the page for the first time, or comes back to its tab.
function onReturn() {
  before = remembered();
  until = now();
  show();
  // Later this page may be behind what another tab has remembered: only an update is remembered then.
  if (!seen) remember(until);
  seen = true;
}

function show() {
  const missed = before && Number.isFinite(before.seq) && before.seq < until.seq;
  const lines = document.querySelectorAll("#fragment-feed [data-seq], #fragment-results [data-seq]");
  let changes = 0;
  for (const item of lines) {
    const seq = Number(item.dataset.seq);
    const fresh = Boolean(missed && seq > before.seq && seq <= until.seq);
    if (item.hasAttribute("data-new") !== fresh) item.toggleAttribute("data-new", fresh);
    if (fresh && item.closest("#fragment-feed")) changes += 1;
  }
  const results = missed ? Math.max(0, until.done - before.done) : 0;
  line.hidden = !(results || changes);
  setText(line, fill(line.dataset.word, { results, changes }));
}

function onUpdate() {
  if (document.visibilityState === "hidden") return;
  // The page was not up to date yet when the reader came back: this update is part of what was missed.
  if (document.body.dataset.connection !== "live") until = now();
  show();
  remember(now());
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") onReturn();
});
new MutationObserver(onUpdate).observe(line.parentElement, { subtree: true, childList: true, characterData: true, attributeFilter: ["data-seq", "data-done"] });
// A page that is opened in a background tab has not been seen yet.
if (document.visibilityState === "visible") onReturn();
