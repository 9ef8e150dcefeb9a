// The projector page shows one scene after the other. live.js keeps the scenes up to date; this script chooses one.
// Keys: space pauses, arrows (and page up/down, as presenters send them) change the scene, f enters the full screen.

const SCENE_MS = 12000; // long enough to read a part of the table from the back row

const main = document.querySelector("main.screen");
const stage = document.querySelector("[data-stage]");
const line = document.querySelector("[data-rotation-line]");
const word = document.querySelector("[data-rotation-word]");
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

let mode = ""; // wall, play, reveal or finale; a new mode begins with its first scene
let shown = ""; // the name of the visible scene
let place = 0;
let held = false;
let timer = 0;
let turnsAt = 0;
let left = SCENE_MS;
let running = null; // the animation of the progress line

const scenes = () => [...stage.querySelectorAll("[data-scene]")];

function show() {
  const all = scenes();
  const now = main.querySelector("[data-mode]")?.dataset.mode ?? "";
  if (now !== mode) { mode = now; place = 0; shown = ""; }
  const position = all.findIndex((scene) => scene.dataset.scene === shown);
  if (position >= 0) place = position;
  else { place = Math.min(place, Math.max(0, all.length - 1)); begin(all[place]?.dataset.scene ?? ""); }
  for (const scene of all) scene.toggleAttribute("data-shown", scene.dataset.scene === shown);
  main.toggleAttribute("data-alone", all.length < 2);
}

function begin(name) {
  shown = name;
  left = SCENE_MS;
  run();
}

function turn(by) {
  const all = scenes();
  if (!all.length) return;
  place = (place + by + all.length) % all.length;
  begin(all[place].dataset.scene);
  show();
}

function run() {
  clearTimeout(timer);
  drawLine();
  if (held) return;
  turnsAt = Date.now() + left;
  timer = setTimeout(() => turn(1), left);
}

function hold() {
  held = !held;
  if (held) left = Math.max(1000, turnsAt - Date.now());
  word.hidden = !held;
  run();
}

// The progress line; without motion it only shows which scene it is.
function drawLine() {
  const all = scenes().length || 1;
  const at = (share) => `scaleX(${(place + share) / all})`;
  const passed = 1 - left / SCENE_MS;
  running?.cancel();
  running = null;
  line.style.transform = at(reducedMotion.matches ? 1 : passed);
  if (!held && !reducedMotion.matches) running = line.animate([{ transform: at(passed) }, { transform: at(1) }], { duration: left, fill: "forwards" });
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const forward = document.documentElement.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  if (event.key === " ") hold();
  else if (event.key === "ArrowRight" || event.key === "ArrowLeft") turn(event.key === forward ? 1 : -1);
  else if (event.key === "PageDown" || event.key === "PageUp") turn(event.key === "PageDown" ? 1 : -1);
  else if (event.key === "f") document.documentElement.requestFullscreen?.().catch(() => {});
  else return;
  event.preventDefault();
});

// Morphing removes the attributes that this script sets: set them again before the next paint.
const seen = new MutationObserver(show);
seen.observe(main, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-mode", "data-scene", "data-shown"] });
reducedMotion.addEventListener("change", run);
main.dataset.rotating = "";
show();
