// Keeps the desk up to date: fetches its live part again and again, and morphs what has changed. What a person has
// opened or is typing stays. All texts come from the page's data- attributes or from Intl.

import { fill, morph, setText, writeTimes } from "./morph.js";
import { poll } from "./poll.js";

const BUSY_INTERVAL_MS = 500; // while answers of agents are awaited or a round is played
const IDLE_INTERVAL_MS = 4000;
const STALE_AFTER_MS = 9000;

const desk = document.querySelector("[data-desk]");
const lang = document.documentElement.lang || undefined;
const clock = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
let updatedAt = Date.now();
let loggedOut = false;

// ---- times in the browser's time zone

function useOwnZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const shown of desk.querySelectorAll("[data-zone]")) shown.textContent = zone.replaceAll("_", " ");
  for (const local of desk.querySelectorAll("[data-local-time]")) {
    const utc = local.form.querySelector("[data-utc-time]");
    const beside = local.form.querySelector("[data-utc-beside]");
    const carry = () => {
      const at = new Date(local.value); // a time without a zone is in the browser's zone
      utc.value = Number.isNaN(at.getTime()) ? "" : at.toISOString();
      setText(beside, utc.value && `= ${utc.value.slice(0, 16).replace("T", " ")} UTC`);
    };
    local.addEventListener("input", carry);
    local.form.addEventListener("submit", carry);
  }
}

// ---- the light: whether the page is up to date

function showLight(root) {
  const light = root.querySelector("[data-light]");
  if (!light) return;
  const late = Date.now() - updatedAt > STALE_AFTER_MS;
  light.dataset.state = loggedOut || late ? "stale" : "fresh";
  const since = clock.format(updatedAt);
  const word = loggedOut ? desk.dataset.wordOut : late ? fill(desk.dataset.wordStale, { time: since }) : `${desk.dataset.wordFresh} ${since}`;
  setText(light, word);
}

// ---- the live part

const part = () => document.getElementById("fragment-desk");

function take(answer, next) {
  loggedOut = answer.redirected || answer.status === 403;
  if (loggedOut || next.id !== "fragment-desk") return;
  updatedAt = Date.now();
  writeTimes(next, updatedAt);
  showLight(next);
  morph(part(), next);
}

function wait() {
  showLight(desk);
  return part().hasAttribute("data-pending") ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS;
}

if (desk) {
  useOwnZone();
  writeTimes(desk, updatedAt);
  poll(() => desk.dataset.desk, take, wait);
}
