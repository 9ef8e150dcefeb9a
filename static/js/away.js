// What changed for those who come late: marks what came while this league was out of sight, and says how much it was.
// What was seen last stays in this browser.

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

let before = null; // what was seen when the reader left
let until = null; // what there was on coming back; the rest was seen coming

function back() {
  before = remembered();
  until = now();
  show();
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
  const text = line.dataset.word.replace("{results}", results).replace("{changes}", changes);
  if (line.textContent !== text) line.textContent = text;
}

function news() {
  if (document.visibilityState === "hidden") return;
  // The page was late when the reader came back: this is what was missed.
  if (document.body.dataset.connection !== "live") until = now();
  show();
  remember(now());
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") back();
});
new MutationObserver(news).observe(line.parentElement, { subtree: true, childList: true, characterData: true, attributeFilter: ["data-seq", "data-done"] });
back();
remember(now());
