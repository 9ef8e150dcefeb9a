// Keeps a page true while the league moves: one socket, whole fragments with a sequence number, morphed in place.
// Every string shown comes from the page's data- attributes or from Intl; idiomorph is loaded before this as a global.

const HEARD_LATE = 4500; // a heartbeat comes every 3 s
const HEARD_LOST = 8000;
const RESYNC_AGAIN = 4000;
const HOLD_POINTER = 3000; // "pointing at it" means: the pointer moved there this recently
const HOLD_LONGEST = 15000; // then the truth is worth more than the comfort
const ANNOUNCE_EVERY = 5000;
const SLIDE = 200;
const TINT = 2000;

const lang = document.documentElement.lang || undefined;
const ago = new Intl.RelativeTimeFormat(lang, { numeric: "always", style: "narrow" });
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const light = document.querySelector("[data-light]");

// ---- what we know about the connection

let socket = null;
let seq = null; // null: no snapshot on this connection yet
let lastHeard = 0; // 0: never
let startedAt = 0; // when the current attempt began
let failures = 0;
let retryTimer = 0;
let resyncAt = 0;
let skew = 0; // server clock minus ours, learnt from heartbeats

function connect() {
  clearTimeout(retryTimer);
  retryTimer = 0;
  drop();
  startedAt = Date.now();
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const mine = new WebSocket(`${scheme}//${location.host}${document.body.dataset.socket}`);
  socket = mine;
  mine.addEventListener("message", (event) => { if (socket === mine) heard(event.data); });
  mine.addEventListener("close", () => { if (socket === mine) retry(); });
  mine.addEventListener("error", () => { if (socket === mine) retry(); });
  showLight();
}

function drop() {
  const old = socket;
  socket = null; // its late events are ignored from here on
  seq = null;
  resyncAt = 0;
  old?.close();
}

function retry() {
  drop();
  if (retryTimer) return;
  const ceiling = Math.min(4500, 500 * 2 ** failures);
  failures += 1;
  retryTimer = setTimeout(connect, 500 + Math.random() * ceiling);
  showLight();
}

function revive() {
  if (document.visibilityState === "hidden") return;
  failures = 0;
  connect();
}

function heard(data) {
  let frame;
  try { frame = JSON.parse(data); } catch { return; }
  lastHeard = Date.now();
  if (frame.now) skew = Date.parse(frame.now) - lastHeard;
  if (frame.type === "snapshot") {
    seq = frame.seq;
    resyncAt = 0;
    failures = 0;
    receive(frame.fragments);
  } else if (frame.type === "frame") {
    if (seq !== null && frame.seq <= seq) { /* already contained in our snapshot */ }
    else if (frame.from === seq) { seq = frame.seq; receive(frame.fragments); }
    else resync();
  } else if (frame.type === "heartbeat" && frame.seq !== seq) resync();
  // The server sends no further frame to a browser that has not acknowledged the last two.
  if (frame.type !== "heartbeat" && socket?.readyState === WebSocket.OPEN) socket.send('{"type":"ack"}');
  showLight();
}

function resync() {
  if (Date.now() - resyncAt < RESYNC_AGAIN) return; // asked already, the snapshot is on its way
  resyncAt = Date.now();
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "resync" }));
}

// ---- the light: says what is so, in words and in shape, and how old it is

function connectionState() {
  const age = Date.now() - lastHeard;
  if (socket?.readyState === WebSocket.OPEN && seq !== null) return age > HEARD_LATE ? "late" : "live";
  return lastHeard || failures ? "reconnecting" : "connecting";
}

function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

function showLight() {
  if (!light) return;
  const state = connectionState();
  const age = lastHeard ? Math.max(0, Math.floor((Date.now() - lastHeard) / 1000)) : null;
  const word = light.dataset[`word${state[0].toUpperCase()}${state.slice(1)}`];
  const aged = state === "live" ? light.dataset.wordHeard : light.dataset.wordLast;
  light.dataset.state = state;
  document.body.dataset.connection = state;
  setText(light.querySelector("[data-light-word]"), word);
  setText(light.querySelector("[data-light-age]"), age === null ? "" : aged.replace("{seconds}", age));
}

// ---- text that depends on the clock is written here, so that the server's HTML is the same for everyone

function relative(milliseconds) {
  const s = Math.max(0, Math.floor(milliseconds / 1000));
  if (s < 10) return ago.format(-s, "second");
  if (s < 60) return ago.format(-(s - (s % 10)), "second");
  if (s < 3600) return ago.format(-Math.floor(s / 60), "minute");
  if (s < 86400) return ago.format(-Math.floor(s / 3600), "hour");
  return ago.format(-Math.floor(s / 86400), "day");
}

function running(milliseconds) {
  const s = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const minutes = `${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
  return s < 3600 ? minutes : `${Math.floor(s / 3600)}:${minutes}`;
}

function writeTimes(root) {
  const now = Date.now() + skew;
  for (const time of root.querySelectorAll("time[data-relative], time[data-since]")) {
    const passed = now - Date.parse(time.dateTime);
    if (Number.isFinite(passed)) setText(time, time.hasAttribute("data-since") ? running(passed) : relative(passed));
  }
}

// ---- fragments: held back while someone reads or points there, then morphed

const waiting = new Map(); // name -> {html, since}
let pointerIn = null;
let pointerAt = 0;

addEventListener("pointermove", (event) => {
  if (event.pointerType !== "mouse") return;
  pointerIn = event.target instanceof Element ? event.target.closest("[data-hold]") : null;
  pointerAt = Date.now();
}, { passive: true });

function inUse(fragment) {
  const selection = getSelection();
  if (selection && !selection.isCollapsed && selection.containsNode(fragment, true)) return true;
  return pointerIn === fragment && Date.now() - pointerAt < HOLD_POINTER;
}

function receive(fragments) {
  const now = Date.now();
  for (const [name, html] of Object.entries(fragments ?? {})) {
    waiting.set(name, { html, since: waiting.get(name)?.since ?? now });
  }
  flush();
}

function flush() {
  const now = Date.now();
  for (const [name, { html, since }] of waiting) {
    const fragment = document.getElementById(`fragment-${name}`);
    if (!fragment) { waiting.delete(name); continue; }
    const next = parse(html);
    writeTimes(next);
    const held = now - since < HOLD_LONGEST && inUse(fragment);
    if (held && !next.isEqualNode(fragment)) { fragment.dataset.held = ""; continue; }
    waiting.delete(name);
    delete fragment.dataset.held;
    apply(fragment, next);
  }
  announce();
}

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild ?? document.createElement("section");
}

function apply(fragment, next) {
  if (next.isEqualNode(fragment)) return;
  const changed = [];
  const before = placesOf(fragment);
  const seen = keepPlace(fragment);
  Idiomorph.morph(fragment, next, {
    morphStyle: "outerHTML",
    restoreFocus: true,
    callbacks: {
      beforeNodeMorphed(old, fresh) {
        if (old instanceof Element && old.hasAttribute("data-tint") && old.textContent !== fresh.textContent) changed.push(old);
        return true;
      },
      // what the reader opened stays open
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.localName === "details"),
    },
  });
  seen();
  slide(before);
  tint(changed);
}

// Where the browser has no scroll anchoring of its own, hold the first line on screen where it was.
function keepPlace(fragment) {
  if (CSS.supports("overflow-anchor", "auto") || fragment.getBoundingClientRect().top >= 0) return () => {};
  const lines = [...document.querySelectorAll("[data-fragment] li[id], [data-fragment] h2")].filter((e) => e.offsetParent)
    .map((e) => [e, e.getBoundingClientRect().top]).filter(([, top]) => top >= 0 && top < innerHeight);
  return () => {
    const [line, top] = lines.find(([e]) => e.isConnected) ?? [];
    if (line) scrollBy(0, line.getBoundingClientRect().top - top);
  };
}

// ---- motion: only what changed, and nobody is made to watch it

function placesOf(fragment) {
  const places = new Map();
  if (!calm.matches) for (const row of fragment.querySelectorAll("tr[id]")) places.set(row.id, row.getBoundingClientRect().top + scrollY);
  return places;
}

function slide(before) {
  const moves = [];
  for (const [id, top] of before) {
    const row = document.getElementById(id);
    const by = row ? top - (row.getBoundingClientRect().top + scrollY) : 0;
    if (Math.abs(by) > 1) moves.push([row, by]);
  }
  for (const [row, by] of moves) row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: SLIDE, easing: "ease-out" });
}

function tint(elements) {
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--tint").trim();
  const easing = calm.matches ? "step-end" : "ease-in"; // without motion: shown, then gone
  for (const element of elements) element.animate([{ backgroundColor: colour }, { backgroundColor: "transparent" }], { duration: TINT, easing });
}

// ---- one polite voice for the whole page, at most every few seconds

let announcedAt = 0;
let announced = document.querySelector("[data-headline]")?.textContent.trim();

function announce() {
  const text = document.querySelector("[data-headline]")?.textContent.trim();
  if (!text || text === announced || Date.now() - announcedAt < ANNOUNCE_EVERY) return;
  announced = text;
  announcedAt = Date.now();
  setText(document.querySelector("[data-announce]"), text);
}

// ---- begin

function watch() {
  const quietSince = Math.max(lastHeard, startedAt);
  if (socket && Date.now() - quietSince > HEARD_LOST) retry();
  showLight();
}

if (document.body.dataset.socket) {
  addEventListener("online", revive);
  addEventListener("pageshow", (event) => { if (event.persisted) revive(); });
  document.addEventListener("visibilitychange", () => {
    const healthy = connectionState() === "live";
    if (document.visibilityState === "visible" && !healthy) revive();
    writeTimes(document);
  });
  setInterval(() => { watch(); writeTimes(document); flush(); }, 1000);
  writeTimes(document);
  connect();
}
