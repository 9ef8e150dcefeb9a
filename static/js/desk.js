// Keeps the desk true: asks for its live part again and again, and morphs what has changed. What a person has opened,
// or is typing, is left alone. Every word shown comes from the page's data- attributes or from Intl.

const SOON = 500; // while answers are awaited, or a round is played
const LATER = 4000;
const PATIENCE = 5000;

const desk = document.querySelector("[data-desk]");
const lang = document.documentElement.lang || undefined;
let heardAt = Date.now();
let gone = false;

// ---- times in the browser's own zone

const clock = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const moment = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });

function writeTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const at = Date.parse(time.dateTime);
    if (Number.isFinite(at)) time.textContent = moment.format(at);
  }
}

function useOwnZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const shown of desk.querySelectorAll("[data-zone]")) shown.textContent = zone.replaceAll("_", " ");
  for (const local of desk.querySelectorAll("[data-local-time]")) {
    const utc = local.form.querySelector("[data-utc-time]");
    const carry = () => {
      const at = new Date(local.value); // a date and a time without a zone are read in the browser's own
      utc.value = Number.isNaN(at.getTime()) ? "" : at.toISOString();
    };
    local.addEventListener("input", carry);
    local.form.addEventListener("submit", carry);
  }
}

// ---- the light: when this was true

function showLight(root = desk) {
  const light = root.querySelector("[data-light]");
  if (!light) return;
  const late = Date.now() - heardAt > PATIENCE + LATER;
  light.dataset.state = gone || late ? "stale" : "fresh";
  const since = clock.format(heardAt);
  const word = gone ? desk.dataset.wordOut : late ? desk.dataset.wordStale.replace("{time}", since) : `${desk.dataset.wordFresh} ${since}`;
  if (light.textContent !== word) light.textContent = word;
}

// ---- the live part

function show(next) {
  const old = document.getElementById("fragment-desk");
  writeTimes(next);
  showLight(next);
  if (next.isEqualNode(old)) return;
  Idiomorph.morph(old, next, {
    morphStyle: "outerHTML",
    restoreFocus: true,
    callbacks: {
      // what somebody opened stays open, and where they have scrolled to stays
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.localName === "details"),
    },
  });
}

async function ask() {
  const answer = await fetch(desk.dataset.desk, { cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE) });
  const template = document.createElement("template");
  template.innerHTML = await answer.text();
  const next = template.content.querySelector("#fragment-desk");
  gone = answer.redirected || answer.status === 403;
  if (gone || !next) return;
  heardAt = Date.now();
  show(next);
}

async function keepAsking() {
  if (document.visibilityState === "visible") {
    try { await ask(); } catch { /* the light says since when nothing came; the next round tries again */ }
  }
  showLight();
  const pending = document.getElementById("fragment-desk").hasAttribute("data-pending");
  setTimeout(keepAsking, pending ? SOON : LATER);
}

if (desk) {
  useOwnZone();
  writeTimes(desk);
  showLight();
  const pending = document.getElementById("fragment-desk").hasAttribute("data-pending");
  setTimeout(keepAsking, pending ? SOON : LATER);
}
