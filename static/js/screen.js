// The projector page shows one scene after the other. live.js keeps the scenes up to date; this script chooses one.
// Keys: space holds the scene or ends the hold, arrows (and page up/down, as presenters send them) change the scene, up
// and down choose the large drawing, a returns to automatic, f enters the full screen. The remote control on the
// instructor's phone turns and holds the scenes of all screens of the league: the fragment screen_remote has the latest
// of its commands.

const SCENE_MS = 12000; // long enough to read a part of the table from the back row
const DRAWINGS_MS = 24000; // and to follow a game
const FLASH_MS = 1200;

const main = document.querySelector("main.screen");
const stage = document.querySelector("[data-stage]");
const line = document.querySelector("[data-rotation-line]");
const word = document.querySelector("[data-rotation-word]");
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

let mode = ""; // wall, play, reveal or finale; a new mode begins with its first scene
let shown = ""; // the name of the visible scene
let place = 0; // the position of the visible scene
let held = false;
let timer = 0;
let turnsAt = 0; // when the next scene comes
let leftMs = SCENE_MS; // how long the visible scene stays
let large = ""; // the id of the match that a key of this projector made large; empty: the first one is
let turned = null; // by how many scenes the phone has turned all screens so far, negative: backwards; null: not read yet
let heldByPhone = false;
let running = null; // the animation of the progress line

const scenes = () => [...stage.querySelectorAll("[data-scene]")];
const drawn = () => [...stage.querySelectorAll(".screen-match")];
const length = () => (shown === "drawings" ? DRAWINGS_MS : SCENE_MS);
// % keeps the sign of a negative position.
const wrapped = (position, count) => ((position % count) + count) % count;

function show() {
  const all = scenes();
  const now = main.querySelector("[data-mode]")?.dataset.mode ?? "";
  if (now !== mode) { mode = now; place = 0; shown = ""; }
  const position = all.findIndex((scene) => scene.dataset.scene === shown);
  if (position >= 0) place = position;
  else { place = Math.min(place, Math.max(0, all.length - 1)); begin(all[place]?.dataset.scene ?? ""); }
  for (const scene of all) scene.toggleAttribute("data-shown", scene.dataset.scene === shown);
  main.toggleAttribute("data-alone", all.length < 2);
  enlarge();
}

// ---- the large drawing: a key gives its place to another match, and that one's place to the first

function enlarge() {
  const all = drawn();
  const at = Math.max(0, all.findIndex((match) => match.id === large));
  all.forEach((match, place) => {
    match.toggleAttribute("data-large", at > 0 && place === at);
    const order = !at ? "" : String(place === at ? 0 : place || at);
    if (match.style.order !== order) match.style.order = order;
  });
}

function choose(by) {
  const all = drawn();
  if (!all.length) return;
  const at = Math.max(0, all.findIndex((match) => match.id === large));
  large = all[wrapped(at + by, all.length)].id;
  enlarge();
}

// ---- the phone

function follow() {
  const told = main.querySelector("[data-turned]");
  if (!told) return;
  const turnedNow = Number(told.dataset.turned);
  const holds = told.hasAttribute("data-held-there");
  const by = turned === null ? 0 : turnedNow - turned;
  turned = turnedNow;
  if (by) turn(by);
  if (holds !== heldByPhone) {
    heldByPhone = holds;
    if (held !== holds) toggleHold();
  }
}

function automatic() {
  large = "";
  enlarge();
  if (held) toggleHold();
}

function begin(name) {
  shown = name;
  leftMs = length();
  run();
}

function turn(by) {
  const all = scenes();
  if (!all.length) return;
  place = wrapped(place + by, all.length);
  begin(all[place].dataset.scene);
  show();
}

function run() {
  clearTimeout(timer);
  drawLine();
  if (held) return;
  turnsAt = Date.now() + leftMs;
  timer = setTimeout(() => turn(1), leftMs);
}

function toggleHold() {
  held = !held;
  if (held) leftMs = Math.max(1000, turnsAt - Date.now());
  word.hidden = !held;
  run();
}

// The progress line; without motion it only shows which scene it is.
function drawLine() {
  const all = scenes().length || 1;
  const at = (share) => `scaleX(${(place + share) / all})`;
  const passed = 1 - leftMs / length();
  running?.cancel();
  running = null;
  line.style.transform = at(reducedMotion.matches ? 1 : passed);
  if (!held && !reducedMotion.matches) running = line.animate([{ transform: at(passed) }, { transform: at(1) }], { duration: leftMs, fill: "forwards" });
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const forward = document.documentElement.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  if (event.key === " ") toggleHold();
  else if (event.key === "ArrowRight" || event.key === "ArrowLeft") turn(event.key === forward ? 1 : -1);
  else if (event.key === "PageDown" || event.key === "PageUp") turn(event.key === "PageDown" ? 1 : -1);
  else if (event.key === "ArrowUp" || event.key === "ArrowDown") choose(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "a") automatic();
  else if (event.key === "f") document.documentElement.requestFullscreen?.().catch(() => {});
  else return;
  event.preventDefault();
});

// ---- a win flashes once, and only on a page that was open when the win arrived

function flash(changes) {
  if (reducedMotion.matches) return;
  for (const { target, oldValue } of changes) {
    if (oldValue !== null || target.dataset.result !== "WIN") continue;
    const colour = getComputedStyle(document.documentElement).getPropertyValue("--tint").trim();
    target.animate([{ backgroundColor: colour, offset: 0 }], { duration: FLASH_MS, easing: "ease-in" });
  }
}

new MutationObserver(flash).observe(stage, { subtree: true, attributeFilter: ["data-result"], attributeOldValue: true });

// Morphing removes the attributes that this script sets: set them again before the next paint.
const seen = new MutationObserver(() => { show(); follow(); });
seen.observe(main, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-mode", "data-scene", "data-shown", "data-large", "data-turned", "data-held-there"] });
reducedMotion.addEventListener("change", run);
main.dataset.rotating = "";
show();
follow();
