// The end of a league on the projector, in motion: the place that was unveiled turns over; before each of the first three
// places the room waits for a moment. Any key ends the motion. Nothing moves if the reader prefers reduced motion, or
// when the page is opened.

const TURN_MS = 600;
const SUSPENSE_MS = { 3: 2000, 2: 2500, 1: 3500 }; // by the place that is unveiled
const PULSE_MS = 500;

const main = document.querySelector("main.screen");
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

let before = state();
let running = [];

// The mode of the page, the row that was unveiled last, and its place.
function state() {
  const scene = main.querySelector("[data-scene=reveal]");
  return {
    mode: main.querySelector("[data-mode]")?.dataset.mode ?? "",
    newest: scene?.querySelector("tr[data-place=newest]")?.id ?? "",
    place: scene ? Number(scene.dataset.left) + 1 : 1,
  };
}

function animateChange() {
  const now = state();
  const was = before;
  before = now;
  if (now.mode === was.mode && now.newest === was.newest) return;
  skip();
  if (reducedMotion.matches) return;
  if (now.mode === "reveal" && now.newest) unveil(document.getElementById(now.newest), SUSPENSE_MS[now.place] ?? 0);
  else if (now.mode === "finale" && was.mode === "reveal") crown(SUSPENSE_MS[1]);
}

function unveil(row, wait) {
  for (const cell of row.children) turnOver(cell, wait);
  if (wait) pulse(row, wait);
  hide([main.querySelector("[data-headline]")], wait);
}

// The first place: the word stands alone until the name opens.
function crown(wait) {
  hide(main.querySelectorAll(".champion-record, .champion-next, [data-headline], .screen-head .champion"), wait);
  for (const name of main.querySelectorAll(".champion-name")) turnOver(name, wait);
  const word = main.querySelector(".champion-word");
  if (word) pulse(word, wait);
}

function turnOver(element, delay) {
  const closed = { opacity: 0, transform: "rotateX(90deg)" };
  keep(element.animate([closed, { opacity: 1, transform: "none" }], { delay, duration: TURN_MS, easing: "ease-out", fill: "backwards" }));
}

function hide(elements, delay) {
  for (const element of elements) {
    if (element) keep(element.animate([{ opacity: 0 }, { opacity: 1 }], { delay, duration: TURN_MS, fill: "backwards" }));
  }
}

function pulse(element, wait) {
  const tint = getComputedStyle(document.documentElement).getPropertyValue("--tint").trim();
  const iterations = Math.max(1, Math.round(wait / (2 * PULSE_MS)));
  keep(element.animate([{ backgroundColor: tint, offset: 0.5 }], { duration: wait / iterations, iterations, easing: "ease-in-out" }));
}

function keep(animation) {
  running.push(animation);
}

/** Ends what is moving; returns whether anything was. */
function skip() {
  const moving = running.filter((animation) => animation.playState === "running");
  for (const animation of moving) animation.finish();
  running = [];
  return moving.length > 0;
}

// Before the keys of screen.js: the first key ends the suspense, and does nothing else.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !skip()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, { capture: true });

new MutationObserver(animateChange).observe(main, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-mode", "data-place", "data-left", "id"] });
