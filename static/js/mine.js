// Keeps the page "My agent" up to date: its live part is fetched every few seconds while the page is visible.

import { showButtons } from "./copy.js";
import { morph, setText, writeTimes } from "./morph.js";
import { poll } from "./poll.js";

const INTERVAL_MS = 5000;
const TRIAL_INTERVAL_MS = 700; // while a trial message to the agent is under way

function part() { return document.getElementById("fragment-mine"); }

function reading() {
  const selection = getSelection();
  return selection && !selection.isCollapsed && selection.containsNode(part(), true);
}

function take(answer, next) {
  if (!answer.ok || reading()) return;
  if (next.id !== "fragment-mine") { location.reload(); return; } // logged out: the reloaded page says so
  const before = document.querySelector("#trial strong")?.textContent;
  showButtons(next);
  writeTimes(next, Date.now());
  morph(part(), next);
  const after = document.querySelector("#trial strong")?.textContent;
  if (after && after !== before) setText(document.querySelector("[data-announce]"), after);
}

function wait() {
  writeTimes(part(), Date.now());
  return document.querySelector("#trial[data-open]") ? TRIAL_INTERVAL_MS : INTERVAL_MS;
}

if (part()) poll(() => part().dataset.part, take, wait);
