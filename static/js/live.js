// Keeps a page up to date over one WebSocket: whole fragments with a sequence number are morphed in place.
// All texts come from the page's data- attributes or from Intl.

import { fill, morph, parse, setText, writeTimes as writeTimesAt } from "./morph.js";

const LATE_AFTER_MS = 4500; // a heartbeat comes every 3 s
const LOST_AFTER_MS = 8000;
const RESYNC_INTERVAL_MS = 4000;
const POINTER_HOLD_MS = 3000; // a fragment is not changed while the pointer has moved over it this recently
const MAX_HOLD_MS = 15000; // after this time it is changed anyway
const ANNOUNCE_INTERVAL_MS = 5000;

const light = document.querySelector("[data-light]");

// ---- the connection

let socket = null;
let seq = null; // sequence number of the last frame; null: no snapshot on this connection yet
let lastHeard = 0; // 0: never
let startedAt = 0; // when the current attempt began
let failures = 0;
let retryTimer = 0;
let resyncAt = 0;
let skew = 0; // server clock minus browser clock, from heartbeats

function connect() {
  clearTimeout(retryTimer);
  retryTimer = 0;
  drop();
  startedAt = Date.now();
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const packed = "DecompressionStream" in globalThis ? "&packed=gzip" : "";
  const mine = new WebSocket(`${scheme}//${location.host}${document.body.dataset.socket}${packed}`);
  mine.binaryType = "blob";
  socket = mine;
  let last = Promise.resolve(); // messages are handled in order, although unpacking a frame is asynchronous
  mine.addEventListener("message", ({ data }) => {
    last = last.then(() => unpacked(data)).then((text) => { if (socket === mine) heard(text); }, () => { if (socket === mine) retry(); });
  });
  mine.addEventListener("close", () => { if (socket === mine) retry(); });
  mine.addEventListener("error", () => { if (socket === mine) retry(); });
  showLight();
}

function unpacked(data) {
  return typeof data === "string" ? data : new Response(data.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

function drop() {
  const old = socket;
  socket = null; // later events of this socket are ignored
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
    if (seq !== null && frame.seq <= seq) { /* contained in the snapshot already */ }
    else if (frame.from === seq) { seq = frame.seq; receive(frame.fragments); }
    else resync();
  } else if (frame.type === "heartbeat" && frame.seq !== seq) resync();
  // The server sends no further frame to a browser that has not acknowledged the last two.
  if (frame.type !== "heartbeat" && socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "ack", seq: frame.seq }));
  showLight();
}

function resync() {
  if (Date.now() - resyncAt < RESYNC_INTERVAL_MS) return; // a snapshot was requested already
  resyncAt = Date.now();
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "resync" }));
}

// ---- the light: the state of the connection in words and as a shape, and the age of the last message

function connectionState() {
  const age = Date.now() - lastHeard;
  if (socket?.readyState === WebSocket.OPEN && seq !== null) return age > LATE_AFTER_MS ? "late" : "live";
  return lastHeard || failures ? "reconnecting" : "connecting";
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
  setText(light.querySelector("[data-light-age]"), age === null ? "" : fill(aged, { seconds: age }));
}

function writeTimes(root) {
  writeTimesAt(root, Date.now() + skew);
}

// ---- fragments: held back while someone selects text in them or points at them, then morphed

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
  return pointerIn === fragment && Date.now() - pointerAt < POINTER_HOLD_MS;
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
    const held = now - since < MAX_HOLD_MS && inUse(fragment);
    if (held && !next.isEqualNode(fragment)) { fragment.dataset.held = ""; continue; }
    waiting.delete(name);
    delete fragment.dataset.held;
    apply(fragment, next);
  }
  announce();
}

function apply(fragment, next) {
  if (next.isEqualNode(fragment)) return;
  const restorePlace = keepPlace(fragment);
  morph(fragment, next);
  restorePlace();
}

// Returns a function that, in browsers without scroll anchoring, scrolls the line that is the first visible one now back
// to where it is now.
function keepPlace(fragment) {
  if (CSS.supports("overflow-anchor", "auto") || fragment.getBoundingClientRect().top >= 0) return () => {};
  const lines = [...document.querySelectorAll("[data-fragment] li[id], [data-fragment] h2")].filter((e) => e.offsetParent)
    .map((e) => [e, e.getBoundingClientRect().top]).filter(([, top]) => top >= 0 && top < innerHeight);
  return () => {
    const [line, top] = lines.find(([e]) => e.isConnected) ?? [];
    if (line) scrollBy(0, line.getBoundingClientRect().top - top);
  };
}

// ---- screen readers: the headline is announced, at most every few seconds

let announcedAt = 0;
let announced = document.querySelector("[data-headline]")?.textContent.trim();

function announce() {
  const text = document.querySelector("[data-headline]")?.textContent.trim();
  if (!text || text === announced || Date.now() - announcedAt < ANNOUNCE_INTERVAL_MS) return;
  announced = text;
  announcedAt = Date.now();
  setText(document.querySelector("[data-announce]"), text);
}

// ---- start

function watch() {
  const quietSince = Math.max(lastHeard, startedAt);
  if (socket && Date.now() - quietSince > LOST_AFTER_MS) retry();
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
