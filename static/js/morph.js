// Used by every page that changes in place: parse a new fragment, write its times, morph it in, animate what moved.
// idiomorph is loaded before, as a global.

const SLIDE_MS = 200;
const TINT_MS = 2000;

const lang = document.documentElement.lang || undefined;
const ago = new Intl.RelativeTimeFormat(lang, { numeric: "always", style: "narrow" });
const clock = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "medium" });
const minute = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
const utcClock = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" });
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

export function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

/** Replaces {name} in a text by the value of that name. */
export function fill(text, names) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => names[name] ?? whole);
}

// ---- times: ages and clocks are written by the browser, so that the server's HTML is the same for everyone

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

// A future time: as the reader's clock shows it, and how long until then.
function until(moment, milliseconds) {
  const days = Math.abs(milliseconds) > 43200000 ? { dateStyle: "medium" } : {};
  const then = new Intl.DateTimeFormat(lang, { ...days, timeStyle: "short" }).format(moment);
  const s = Math.ceil(milliseconds / 1000);
  if (s <= 0) return then;
  const [count, unit] = s < 60 ? [s, "second"] : s < 3600 ? [Math.ceil(s / 60), "minute"] : s < 172800 ? [Math.round(s / 3600), "hour"] : [Math.round(s / 86400), "day"];
  return `${then} (${ago.format(count, unit)})`;
}

// The bar that shows how much of a deadline has passed.
function writeDeadline(bar, now) {
  const limit = Number(bar.dataset.limit);
  const gone = Math.min(limit, Math.max(0, Math.floor((now - Date.parse(bar.dataset.since)) / 1000)));
  if (Number.isFinite(gone)) bar.querySelector("rect")?.setAttribute("width", gone);
}

const WRITTEN = [
  ["data-relative", (at, now) => relative(now - at)],
  ["data-since", (at, now) => running(now - at)],
  ["data-until", (at, now) => until(at, at - now)],
  ["data-clock", (at) => clock.format(at)],
  ["data-local", (at) => `${minute.format(at)} (${utcClock.format(at)} UTC)`],
];

// The time by the reader's clock and in UTC, shown when the pointer is over a time. The server wrote it in UTC only.
const stamp = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const utcStamp = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: "UTC" });

function writeTitles(root) {
  for (const time of root.querySelectorAll("time[title$=' UTC']")) {
    const at = Date.parse(time.dateTime);
    if (Number.isFinite(at)) time.title = `${stamp.format(at)} (${utcStamp.format(at)} UTC)`;
  }
}

/** Writes all ages, clocks, future times and deadline bars below root, for the given current time in milliseconds. */
export function writeTimes(root, now) {
  for (const bar of root.querySelectorAll("[data-limit]")) writeDeadline(bar, now);
  writeTitles(root);
  for (const [name, words] of WRITTEN) {
    for (const time of root.querySelectorAll(`time[${name}]`)) {
      const at = Date.parse(time.dateTime);
      if (Number.isFinite(at)) setText(time, words(at, now));
    }
  }
}

/** Parses the HTML of a fragment into an element. */
export function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild ?? document.createElement("section");
}

/** Morphs a fragment of the page into its next version; rows slide to their new places, changed numbers are tinted. */
export function morph(fragment, next) {
  if (next.isEqualNode(fragment)) return;
  const changed = [];
  const before = placesOf(fragment);
  Idiomorph.morph(fragment, next, {
    morphStyle: "outerHTML",
    restoreFocus: true,
    callbacks: {
      beforeNodeMorphed(old, fresh) {
        // not changed: content that a script has fetched, and a button that says "Copied" for a moment
        if (old instanceof Element && (old.hasAttribute("data-busy") || (old.hasAttribute("data-keep") && old.id === fresh.id))) return false;
        if (old instanceof Element && old.hasAttribute("data-tint") && old.textContent !== fresh.textContent) changed.push(old);
        return true;
      },
      // not changed: whether details are open, and whether a copy button is visible
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.localName === "details") && !(name === "hidden" && node.hasAttribute("data-copy-button")),
    },
  });
  slide(before);
  tint(changed);
}

// ---- motion: only of what changed, and none if the reader prefers reduced motion

function placesOf(fragment) {
  const places = new Map();
  if (!reducedMotion.matches) for (const row of fragment.querySelectorAll("tr[id]")) places.set(row.id, row.getBoundingClientRect().top + scrollY);
  return places;
}

function slide(before) {
  const moves = [];
  for (const [id, top] of before) {
    const row = document.getElementById(id);
    const by = row ? top - (row.getBoundingClientRect().top + scrollY) : 0;
    if (Math.abs(by) > 1) moves.push([row, by]);
  }
  for (const [row, by] of moves) row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: SLIDE_MS, easing: "ease-out" });
}

function tint(elements) {
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--tint").trim();
  const easing = reducedMotion.matches ? "step-end" : "ease-in"; // without motion the tint disappears at once, at the end
  // no final keyframe: the colour fades to the element's own background, as some rows have one
  for (const element of elements) element.animate([{ backgroundColor: colour, offset: 0 }], { duration: TINT_MS, easing });
}
