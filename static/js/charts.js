// Draws the tables of [data-chart] as line charts: rank by round, points by round. The HTML table is the data, and stays
// for those who prefer to read it. The chart is in the shadow DOM of [data-plot], so that updates of the page skip it.

import { withoutOverlaps } from "./spacing.js";

const LIBRARY = new URL("../vendor/uplot/uPlot-1.6.32.iife.min.js", import.meta.url);
const SHEETS = [new URL("../vendor/uplot/uPlot-1.6.32.min.css", import.meta.url), new URL("../css/plot.css", import.meta.url)];
const NEAR = "400px"; // the library is loaded when a chart is this near to the visible part of the page
const CLOSE_PX = 18; // the pointer selects a line within this distance
const LEADERS = 3; // their lines are stronger
const LINK_REM = 1.25; // the width of the lines that lead from the ends of the lines to the names
const MAX_HIGH_ROWS = 40; // up to this number of players every name is high enough for a finger

let loading = null;
const charts = new Map(); // [data-plot] element -> its Chart

function library() {
  loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = LIBRARY;
    script.onload = () => done(globalThis.uPlot);
    script.onerror = () => failed(new Error("uPlot did not load"));
    document.head.append(script);
  });
  return loading;
}

function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

// The current colours and fonts of the page, as a canvas cannot use CSS custom properties. On the projector --plot-scale
// makes a chart larger than the rest of the page.
function styleOf(host) {
  const computed = getComputedStyle(document.documentElement);
  const token = (name) => computed.getPropertyValue(`--${name}`).trim();
  const rem = parseFloat(computed.fontSize) * (parseFloat(getComputedStyle(host).getPropertyValue("--plot-scale")) || 1);
  return { ink: token("ink"), quiet: token("ink-2"), rule: token("rule"), accent: token("accent"), rem, font: `${0.75 * rem}px ${token("sans")}` };
}

function readTable(section) {
  const table = section.querySelector("table.figures");
  const numbers = (cells) => [...cells].map((cell) => Number(cell.textContent));
  return {
    rounds: numbers(table.tHead.rows[0].querySelectorAll("th:not(:first-child)")),
    players: [...table.tBodies[0].rows].map((row) => ({
      id: row.querySelector(".pid").textContent,
      name: row.querySelector("bdi").textContent,
      values: numbers(row.cells).slice(1),
    })),
  };
}

class Chart {
  constructor(host) {
    this.host = host;
    this.kind = host.closest("[data-chart]").dataset.chart;
    this.pinned = null; // id of the player that was clicked
    this.pointed = null; // id of the player under the pointer or with the focus
    this.buttons = new Map();
    this.drawn = "";
    this.build();
  }

  build() {
    const shadow = this.host.attachShadow({ mode: "open" });
    const sheets = SHEETS.map((href) => Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
    this.styled = Promise.all(sheets.map((link) => new Promise((done) => { link.onload = link.onerror = done; })));
    // The time axis runs from left to right in every language.
    this.frame = Object.assign(element("div", "frame"), { dir: "ltr" });
    this.place = element("div", "place");
    this.place.setAttribute("aria-hidden", "true");
    this.reading = element("p", "reading");
    this.ends = element("div", "ends");
    this.ends.setAttribute("role", "toolbar");
    this.ends.setAttribute("aria-orientation", "vertical");
    this.ends.setAttribute("aria-label", this.host.dataset.wordPlayers);
    this.ends.addEventListener("keydown", (event) => this.step(event));
    this.frame.append(this.reading, this.place, this.ends);
    shadow.append(...sheets, this.frame);
    new ResizeObserver(() => this.draw()).observe(this.frame);
  }

  // Draws the chart again if its table has changed.
  async update() {
    const section = this.host.closest("[data-chart]");
    const text = section.querySelector("table.figures")?.textContent;
    if (text === undefined || text === this.drawn) return;
    this.drawn = text;
    this.data = readTable(section);
    [this.uPlot] = await Promise.all([library(), this.styled]);
    this.label();
    this.draw();
  }

  get lit() { return this.pointed ?? this.pinned; }

  // The index of the highlighted player: the selected one, or the leader.
  litIndex() { return Math.max(0, this.data.players.findIndex((player) => player.id === this.lit)); }

  // One button per player. Buttons are kept when the chart is drawn again, so that the focus is not lost.
  label() {
    const focused = this.host.shadowRoot.activeElement;
    const known = new Set(this.data.players.map((player) => player.id));
    for (const [id, button] of this.buttons) if (!known.has(id)) { button.remove(); this.buttons.delete(id); }
    for (const player of this.data.players) {
      let button = this.buttons.get(player.id);
      if (!button) this.buttons.set(player.id, button = this.button(player.id));
      button.title = `${player.id} ${player.name}`;
      button.querySelector("bdi").textContent = player.name;
    }
    const order = this.data.players.map((player) => this.buttons.get(player.id));
    if (order.some((button, n) => this.ends.children[n] !== button)) this.ends.append(...order);
    if (focused?.isConnected) focused.focus({ preventScroll: true });
    this.rove();
  }

  button(id) {
    const button = Object.assign(element("button", "end"), { type: "button" });
    button.append(element("span", "pid", id), " ", element("bdi", "name"));
    button.addEventListener("pointerenter", () => this.point(id));
    button.addEventListener("pointerleave", () => this.point(null));
    button.addEventListener("focus", () => { this.rove(button); this.point(id); });
    button.addEventListener("blur", () => this.point(null));
    button.addEventListener("click", () => { this.pinned = this.pinned === id ? null : id; this.light(); });
    return button;
  }

  // Roving tabindex: the tab key reaches one button, the arrow keys the others.
  rove(wanted = null) {
    const all = [...this.ends.children];
    const stop = wanted ?? all.find((button) => button.tabIndex === 0) ?? all[0];
    for (const button of all) button.tabIndex = button === stop ? 0 : -1;
  }

  step(event) {
    const all = [...this.ends.children];
    const at = all.indexOf(this.host.shadowRoot.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Escape") { this.pinned = null; this.point(null); }
    if (to === undefined) return;
    event.preventDefault();
    all[Math.min(Math.max(to, 0), all.length - 1)].focus();
  }

  point(id) {
    if (this.pointed === id) return;
    this.pointed = id;
    this.light();
  }

  draw() {
    if (!this.uPlot || !this.frame.clientWidth) return;
    const style = styleOf(this.host);
    this.narrow = this.frame.clientWidth < 34 * style.rem;
    this.frame.classList.toggle("narrow", this.narrow);
    const width = this.place.clientWidth;
    if (!width) return;
    const count = this.data.players.length;
    this.row = (count <= MAX_HIGH_ROWS ? 1.5 : 0.875) * style.rem;
    const height = Math.round(Math.max(16 * style.rem, count * this.row) + 2.25 * style.rem);
    this.plot?.destroy();
    this.style = style;
    this.plot = new this.uPlot(this.options(width, height), this.columns(), this.place);
    this.light();
  }

  columns() {
    const { rounds, players } = this.data;
    const start = this.kind === "race" ? [0] : []; // everyone starts with 0 points
    return [[...start, ...rounds], ...players.map((player) => [...start, ...player.values]), [...start, ...rounds].map(() => null)];
  }

  options(width, height) {
    const { style } = this;
    const { rounds, players } = this.data;
    const first = this.kind === "race" ? 0 : rounds[0];
    const last = rounds.at(-1);
    const whole = (plot, splits) => splits.map((split) => (Number.isInteger(split) ? String(split) : ""));
    const axis = { stroke: style.quiet, font: style.font, ticks: { show: false }, values: whole };
    const every = Math.ceil((last - first + 1) / Math.max(2, Math.floor(width / (2 * style.rem))));
    const rank = this.kind === "ranks";
    const dots = rounds.length === 1 && rank;
    const series = (more) => ({ points: { show: dots, size: 7 }, ...more });
    return {
      width, height, pxAlign: false, padding: [0.5 * style.rem, LINK_REM * style.rem, 0, 0], legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: first === last ? [first - 1, last + 0.02] : [first, last] },
        y: rank ? { dir: -1, range: [0.5, players.length + 0.5] } : { range: (plot, low, high) => [Math.min(0, low), Math.max(1, high) * 1.04] },
      },
      axes: [
        { ...axis, size: 1.75 * style.rem, grid: { stroke: style.rule, width: 1 }, splits: () => rounds.concat(first ? [] : [0]).filter((n) => (last - n) % every === 0).sort((a, b) => a - b) },
        { ...axis, size: 2 * style.rem, grid: { show: !rank, stroke: style.rule, width: 1 }, ...(rank ? { splits: () => players.map((_, n) => n + 1) } : {}) },
      ],
      series: [{}, ...players.map((player, n) => series({ stroke: n < LEADERS ? style.ink : style.quiet, width: n < LEADERS ? 2 : 1.25 })), { stroke: style.accent, width: 4, points: { show: true, size: 9, fill: style.accent } }],
      hooks: { setCursor: [(plot) => this.follow(plot)], draw: [(plot) => this.spread(plot)] },
    };
  }

  // Selects the line next to the pointer.
  follow(plot) {
    const { left, top, idx } = plot.cursor;
    if (left < 0 || idx == null) { if (this.hovered) { this.hovered = false; this.point(null); } return; }
    let [best, distance] = [null, CLOSE_PX];
    this.data.players.forEach((player, n) => {
      const away = Math.abs(plot.valToPos(plot.data[n + 1][idx], "y") - top);
      if (away < distance) [best, distance] = [player.id, away];
    });
    this.hovered = true;
    this.at = idx;
    this.point(best);
    this.showValue();
  }

  // Highlights the line of the selected player, or the leader's if none is selected.
  light() {
    if (!this.plot) return;
    const { plot } = this;
    const { players } = this.data;
    const chosen = players.findIndex((player) => player.id === this.lit);
    const shown = this.litIndex();
    players.forEach((_, n) => { plot.series[n + 1].alpha = chosen < 0 ? (n < LEADERS ? 0.9 : 0.45) : 0.22; });
    if (!this.hovered) this.at = plot.data[0].length - 1;
    const columns = plot.data.slice(0, -1);
    plot.setData([...columns, columns[shown + 1]], false);
    plot.redraw();
    players.forEach((player, n) => {
      const button = this.buttons.get(player.id);
      button.classList.toggle("lit", n === shown);
      button.setAttribute("aria-pressed", String(player.id === this.pinned));
    });
    this.showValue();
  }

  // Puts every name as near to the end of its line as its neighbours allow, and draws a line from the end to the name.
  spread(plot) {
    const { row } = this;
    const plotTop = plot.bbox.top / devicePixelRatio;
    const ends = this.data.players.map((player, n) => ({ n, button: this.buttons.get(player.id), end: plot.valToPos(plot.data[n + 1].at(-1), "y") }));
    ends.sort((one, other) => one.end - other.end);
    const tops = withoutOverlaps(ends.map(({ end }) => end), row, plot.bbox.height / devicePixelRatio);
    ends.forEach((one, n) => { one.top = tops[n]; });
    this.connect(plot, ends);
    this.ends.style.height = `${plot.height}px`;
    for (const { button, top } of ends) {
      button.style.height = `${row}px`;
      button.style.transform = `translateY(${Math.round(top + plotTop - row / 2)}px)`;
    }
    // A new name is at its place at once: all of them would slide there from the same corner, one over the other.
    const added = ends.filter(({ button }) => !button.classList.contains("placed"));
    if (!added.length) return;
    void this.ends.offsetHeight; // the place is taken before there is a transition
    for (const { button } of added) button.classList.add("placed");
  }

  // Connects the ends of the lines with the names. The highlighted connection is drawn last, above the others.
  connect(plot, ends) {
    const { ctx, bbox, series } = plot;
    const left = bbox.left + bbox.width;
    const right = left + LINK_REM * this.style.rem * devicePixelRatio;
    const lit = this.litIndex();
    ctx.save();
    for (const { n, end, top } of ends.toSorted((one, other) => (one.n === lit) - (other.n === lit))) {
      ctx.globalAlpha = n === lit ? 1 : series[n + 1].alpha;
      ctx.strokeStyle = n === lit ? this.style.accent : this.style.quiet;
      ctx.lineWidth = (n === lit ? 2 : 1) * devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(left, bbox.top + end * devicePixelRatio);
      ctx.lineTo(right, bbox.top + top * devicePixelRatio);
      ctx.stroke();
    }
    ctx.restore();
  }

  // Writes the highlighted player's name and its value in the round under the pointer, else in the last round.
  showValue() {
    const { players } = this.data;
    const n = this.litIndex();
    const at = Math.min(this.at, this.plot.data[0].length - 1);
    const value = this.plot.data[n + 1][at];
    const text = [players[n].name, `${this.host.dataset.wordRound} ${this.plot.data[0][at]}: ${this.kind === "ranks" ? "#" : ""}${value}`];
    const parts = [element("span", "pid", players[n].id), " ", element("bdi", "", text[0]), " ", element("span", "value", text[1])];
    this.reading.replaceChildren(...parts);
  }
}

// ---- start: a chart is drawn when it comes near the visible part of the page, and again when its table has changed

const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    if (!charts.has(target)) charts.set(target, new Chart(target));
    charts.get(target).update();
  }
}, { rootMargin: NEAR });

const watched = new WeakSet();
let asked = 0;

function updateCharts() {
  asked = 0;
  for (const [host, chart] of charts) if (host.isConnected) chart.update(); else charts.delete(host);
  for (const host of document.querySelectorAll("[data-plot]")) {
    if (!watched.has(host)) { watched.add(host); near.observe(host); }
  }
}

const redraw = () => { for (const chart of charts.values()) chart.draw(); };
new MutationObserver(() => { asked ||= requestAnimationFrame(updateCharts); }).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
updateCharts();
