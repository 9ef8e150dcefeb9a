// Replays a game move by move on the board of the page: in its drawing, and in the table that screen readers read, whose
// data-steps has the moves. While the match is played, a reader who has stepped back stays at that move.

import { fill, setText } from "./morph.js";

const controls = document.querySelector("[data-replay]");
const slider = controls?.querySelector("input");
const where = controls?.querySelector("output");
const play = controls?.querySelector('[data-go="play"]');
const PACE_MS = 700;

let at = null; // the move that is shown; null: the latest
let timer = 0;
let drawn = -1; // the move that this script has drawn; -1: the board is as the server rendered it

function board() {
  const grid = document.getElementById("grid");
  return grid?.dataset.steps ? { grid, steps: JSON.parse(grid.dataset.steps) } : null;
}

function cellsAfter(steps, count) {
  const marks = new Map();
  for (const changes of steps.slice(0, count)) for (const [y, x, mark] of changes) marks.set(`${y},${x}`, mark);
  return marks;
}

function hidden(text) {
  const span = document.createElement("span");
  span.className = "visually-hidden";
  span.textContent = text;
  return span;
}

// The server marks the winning line; it is remembered before the reader steps away from the end.
let won = new Set();

function wonOf(grid) {
  return new Set([...grid.tBodies[0].rows].flatMap((row, y) =>
    [...row.cells].flatMap((cell, x) => (cell.querySelector(".cell-won") ? [`${y},${x}`] : []))));
}

function draw({ grid, steps }, count) {
  const marks = cellsAfter(steps, count);
  const last = new Set((count ? steps[count - 1] : []).map(([y, x]) => `${y},${x}`));
  const seat = { [grid.dataset.marksA]: "cell-a", [grid.dataset.marksB]: "cell-b" };
  const line = count === steps.length ? won : new Set();
  [...grid.tBodies[0].rows].forEach((row, y) => [...row.cells].forEach((td, x) => {
    const key = `${y},${x}`;
    const mark = marks.get(key) ?? "";
    const cell = td.firstElementChild;
    td.className = last.has(key) ? "last" : "";
    cell.className = ["cell", mark && seat[mark], line.has(key) && "cell-won"].filter(Boolean).join(" ");
    const word = !mark ? controls.dataset.wordEmpty : line.has(key) ? ` ${controls.dataset.wordWon}` : last.has(key) ? ` ${controls.dataset.wordLast}` : "";
    cell.replaceChildren(...(mark ? [mark] : []), ...(word ? [hidden(word)] : []));
  }));
  drawShapes(marks, seat, count ? steps[count - 1] : [], count === steps.length);
  for (const move of document.querySelectorAll("[data-move]")) {
    const now = Number(move.dataset.move) === count;
    move.classList.toggle("last", now);
    if (now) move.setAttribute("aria-current", "step");
    else move.removeAttribute("aria-current");
  }
}

// The drawing beside the table: paths of the same form as in templates/games/grid.html, with a cell of ten units.
function drawShapes(marks, seat, last, atEnd) {
  const drawing = document.querySelector("svg[data-grid]");
  if (!drawing) return;
  const cells = [...marks].map(([key, mark]) => [...key.split(","), mark]);
  for (const path of drawing.querySelectorAll("[data-mark]")) {
    const own = cells.filter(([, , mark]) => seat[mark] === `cell-${path.dataset.mark}`);
    path.setAttribute("d", own.map(([y, x]) => `M${x}5 ${y}5${path.dataset.shape}`).join(""));
  }
  const mark = drawing.querySelector("[data-last]");
  const [y, x] = last.find(([, , now]) => now) ?? [];
  const ring = mark?.dataset.last === "ring";
  mark?.setAttribute("d", y === undefined ? "" : ring ? `M${x}5 ${y}5m-4.8 0a4.8 4.8 0 1 0 9.6 0a4.8 4.8 0 1 0-9.6 0` : `M${x}0 ${y}0h10v10h-10z`);
  drawing.querySelector("[data-letters]")?.replaceChildren(...cells.filter(([, , now]) => now).map(([row, column, now]) => {
    const text = document.createElementNS(drawing.namespaceURI, "text");
    text.setAttribute("class", ["g-letter", seat[now]?.replace("cell", "g")].filter(Boolean).join(" "));
    text.setAttribute("x", `${column}5`);
    text.setAttribute("y", `${row}7`);
    text.textContent = now;
    return text;
  }));
  drawing.querySelector("[data-won]")?.toggleAttribute("hidden", !atEnd);
}

function sentence(count, all) {
  const move = document.querySelector(`[data-move="${count}"]`);
  if (!move) return fill(controls.dataset.wordBegin, { all });
  const text = fill(controls.dataset.wordAt, {
    n: count, all, player: move.querySelector(".pid").textContent, move: move.querySelector(".move-what").textContent,
  });
  const took = move.querySelector(".move-took")?.textContent;
  return took ? `${text} · ${took}` : text;
}

function show() {
  const shownBoard = board();
  controls.hidden = !shownBoard;
  if (!shownBoard) return stop();
  const all = shownBoard.steps.length;
  const count = at === null ? all : Math.min(at, all);
  if (slider.max !== String(all)) slider.max = String(all);
  slider.value = String(count);
  const text = sentence(count, all);
  slider.setAttribute("aria-valuetext", text);
  setText(where, text);
  if (at !== null || drawn !== -1) draw(shownBoard, count);
  drawn = at === null ? -1 : count;
}

function go(to) {
  const shownBoard = board();
  if (!shownBoard) return;
  const all = shownBoard.steps.length;
  if (at === null) won = wonOf(shownBoard.grid);
  const next = Math.max(0, Math.min(all, to));
  at = next === all ? null : next;
  quietly(show);
}

function current() {
  return at ?? board()?.steps.length ?? 0;
}

// ---- play and pause

function stop() {
  clearInterval(timer);
  timer = 0;
  play.textContent = controls.dataset.wordPlay;
  where.setAttribute("aria-live", "polite");
}

function start() {
  if (at === null) go(0); // from the beginning
  play.textContent = controls.dataset.wordPause;
  where.setAttribute("aria-live", "off"); // a screen reader would not keep up
  timer = setInterval(() => {
    go(current() + 1);
    if (at === null) stop();
  }, PACE_MS);
}

const steps = { back: () => go(current() - 1), on: () => go(current() + 1) };

function press(what) {
  if (what === "play") return timer ? stop() : start();
  stop();
  steps[what]();
}

// ---- the board may be updated at any moment: the move that the reader looks at is drawn again before the next paint

const fragment = document.getElementById("fragment-match_board");
const observer = new MutationObserver(() => {
  const shownBoard = board();
  if (shownBoard) won = wonOf(shownBoard.grid); // the update has brought back the server's marks
  quietly(show);
});

function quietly(work) {
  observer.disconnect();
  work();
  observer.observe(fragment, { subtree: true, childList: true, attributes: true, characterData: true });
}

if (controls && fragment) {
  controls.addEventListener("click", (event) => {
    const what = event.target.closest("[data-go]")?.dataset.go;
    if (what) press(what);
  });
  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  document.addEventListener("click", (event) => {
    const move = event.target.closest("[data-move]");
    if (!move || event.target.closest("a")) return;
    stop();
    go(Number(move.dataset.move));
  });
  document.addEventListener("keydown", (event) => {
    const busy = event.target.closest?.("input, textarea, select, pre, [contenteditable]");
    if (busy || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || controls.hidden) return;
    const what = { ArrowLeft: "back", ArrowRight: "on" }[event.key];
    if (!what) return;
    event.preventDefault();
    press(what);
  });
  quietly(show);
}
