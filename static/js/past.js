// The replay of a league: slider, links and keys choose an event, and the server renders the board as it was after it.
// Without this script the page works as a plain form with links.

import { morph, parse, setText, writeTimes } from "./morph.js";

const MAX_MOMENTS = 300; // kept in memory
const BEAT_MS = 125; // at most eight boards a second at every speed
const SETTLE_MS = 400; // after this time without a change the URL is updated and the event announced
const ARROWS = { ArrowLeft: -1, ArrowRight: 1 };

const form = document.querySelector("[data-replay]");
const range = form.querySelector("[type=range]");
const play = form.querySelector(".replay-play");
const speed = form.querySelector(".replay-speed select");
const rounds = form.dataset.rounds.split(",").filter(Boolean).map(Number);
const first = Number(range.min);
const last = Number(range.max);
const forwards = document.documentElement.dir === "rtl" ? -1 : 1;

let wanted = Number(range.value);
let shown = wanted;
let busy = null; // the promise of the running requests
let playing = 0; // the timer of the next step
let settled = 0;

// ---- moments: the fragments after an event, fetched from the server

const known = new Map(); // seq -> promise; the one that was not used for longest is first

function load(seq) {
  let promise = known.get(seq);
  if (promise) {
    known.delete(seq); // moved to the end, as it was used last
  } else {
    promise = ask(seq);
    promise.then((moment) => { if (!moment.fixed) known.delete(seq); }, () => known.delete(seq));
  }
  known.set(seq, promise);
  if (known.size > MAX_MOMENTS) known.delete(known.keys().next().value);
  return promise;
}

async function ask(seq) {
  const address = new URL(form.dataset.fragments, location.href);
  address.searchParams.set("at", seq);
  address.searchParams.set("v", form.dataset.version);
  if (form.elements.as) address.searchParams.set("as", form.elements.as.value);
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

function prefetch() {
  const ahead = playing ? [1, 2, 3].map((n) => shown + n * stride()) : [targets().next, targets().before];
  for (const seq of ahead) if (seq >= first && seq <= last) load(seq).catch(() => { /* fetched again when it is needed */ });
}

// ---- going to an event: one request at a time; only the event that was asked for last is shown in the end

function go(seq) {
  wanted = Math.min(Math.max(seq, first), last);
  range.value = wanted;
  busy ??= follow().finally(() => { busy = null; });
  return busy;
}

async function follow() {
  try {
    while (shown !== wanted) show(await load(wanted));
    setText(form.querySelector("[data-replay-problem]"), "");
    prefetch();
  } catch {
    pause();
    wanted = shown;
    range.value = shown;
    setText(form.querySelector("[data-replay-problem]"), form.dataset.wordAway);
  }
}

function show(moment) {
  shown = moment.at;
  for (const [name, html] of Object.entries(moment.fragments)) {
    const fragment = document.getElementById(`fragment-${name}`);
    if (!fragment) continue;
    const next = parse(html);
    writeTimes(next, Date.parse(moment.time));
    morph(fragment, next);
  }
  range.setAttribute("aria-valuetext", moment.text);
  writeLinks();
  clearTimeout(settled);
  settled = setTimeout(() => settle(moment), SETTLE_MS);
}

function settle(moment) {
  history.replaceState(null, "", form.querySelector("[data-replay-link]").href);
  if (!playing && document.activeElement !== range) setText(form.querySelector("[data-replay-say]"), moment.text);
}

// ---- the steps: computed as in matches/audience/pages/past.py

function targets() {
  return {
    first,
    "round-before": rounds.findLast((seq) => seq < shown) ?? first,
    before: Math.max(shown - 1, first),
    next: Math.min(shown + 1, last),
    "next-round": rounds.find((seq) => seq > shown) ?? last,
    last,
  };
}

function writeLinks() {
  const at = (seq) => `${form.dataset.address}at=${seq}`;
  form.querySelector("[data-replay-link]").href = at(shown);
  const to = targets();
  for (const step of form.querySelectorAll("[data-replay-step]")) {
    const seq = to[step.dataset.replayStep];
    // "last" keeps its URL without a number, so that the server shows the event that is the last one when it is asked.
    const end = step.dataset.replayStep === "last";
    if (!end) step.href = at(seq); // a disabled link keeps its href, so that it keeps the focus
    if (seq !== shown || end) step.removeAttribute("aria-disabled");
    else step.setAttribute("aria-disabled", "true");
  }
}

form.addEventListener("click", (event) => {
  const step = event.target.closest("[data-replay-step]");
  if (!step || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const to = targets()[step.dataset.replayStep];
  // At the end already: follow the link, as the server may have newer events.
  if (step.dataset.replayStep === "last" && shown === last) return;
  event.preventDefault();
  pause();
  go(to);
});

range.addEventListener("input", () => { pause(); go(Number(range.value)); });
form.addEventListener("submit", (event) => { event.preventDefault(); go(Number(range.value)); });

// ---- playing

function stride() {
  return Math.max(1, Math.round((Number(speed.value) * BEAT_MS) / 1000));
}

async function beat() {
  if (wanted >= last) { pause(); return; }
  const begun = performance.now();
  await go(wanted + stride());
  if (!playing) return;
  const gap = Math.max((1000 * stride()) / Number(speed.value), BEAT_MS);
  playing = setTimeout(beat, Math.max(0, gap - (performance.now() - begun)));
}

function pause() {
  clearTimeout(playing);
  playing = 0;
  showPlaying();
}

async function start() {
  playing = -1;
  showPlaying();
  if (wanted >= last) await go(first);
  if (playing === -1) playing = setTimeout(beat, BEAT_MS);
  prefetch();
}

function showPlaying() {
  form.toggleAttribute("data-playing", Boolean(playing));
  setText(play.querySelector("[data-play-word]"), playing ? play.dataset.wordPause : play.dataset.wordPlay);
}

play.addEventListener("click", () => { if (playing) pause(); else start(); });

// ---- keys, where they have no other meaning

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const focused = event.target instanceof Element ? event.target : document.body;
  if (focused.closest("select, textarea, [contenteditable]") || (focused !== range && focused.closest("input"))) return;
  const to = targets();
  if (event.key === " " && !focused.closest("button, a, summary")) {
    if (playing) pause(); else start();
  } else if (event.key in ARROWS) {
    const ahead = ARROWS[event.key] * forwards > 0;
    pause();
    if (event.shiftKey) go(ahead ? to["next-round"] : to["round-before"]); else go(wanted + (ahead ? 1 : -1));
  } else if (event.key === "Home" || event.key === "End") {
    pause();
    go(event.key === "Home" ? first : last);
  } else return;
  event.preventDefault();
});

// ---- start

play.hidden = false;
form.querySelector(".replay-speed").hidden = false;
const time = document.querySelector("#fragment-replay_event time");
writeTimes(document, time ? Date.parse(time.dateTime) : Date.now());
writeLinks();
prefetch();
document.querySelector(".replay-embed textarea")?.addEventListener("focus", (event) => event.target.select());
form.dataset.ready = "";
