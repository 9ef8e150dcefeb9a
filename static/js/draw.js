// Verifies the committed draw of a match in the reader's browser, step by step; data-check has the data. All texts come
// from the page's data- attributes. A library computes the hashes, as browsers offer them on https and localhost only,
// and a class may use plain http.

import { fill } from "./morph.js";

const facts = document.getElementById("fragment-match_draw");
const area = document.querySelector("[data-draw]");
const stepList = area?.querySelector("[data-draw-found]");
const sum = area?.querySelector(".draw-sum");
const button = area?.querySelector("[data-draw-go]");
const BYTE_LIMIT = 250; // bytes from here on are skipped, so that all ten numbers are equally likely
const PARITIES = ["even", "odd"];
const GAMES = { // the legal choices, and who wins
  even_odd: {
    legal: (choice) => PARITIES.includes(choice),
    winner: ({ choices, players }, number) => {
      const right = players.filter((_, seat) => choices[seat] === PARITIES[number % 2]);
      return { winner: right.length === 1 ? right[0] : null };
    },
  },
  even_odd_numbers: {
    legal: (choice) => /^[1-5]$/.test(choice),
    winner: ({ choices, players }, number) => {
      const sum = Number(choices[0]) + Number(choices[1]) + number;
      return { winner: players[sum % 2], sum };
    },
  },
};

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function seedOf(text) {
  return /^[0-9a-f]{64}$/.test(text) ? Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16)) : null;
}

// ---- the steps: each has a name, a value, and ok: true, false, or null if there is nothing to compare the value with

async function stepsOf(check) {
  const word = area.dataset;
  const seed = seedOf(check.seed);
  if (!seed) return [{ name: "commitment", value: word.wordSeed, ok: false, said: check.commitment }];
  const [{ sha256 }, { hmac }] = await Promise.all([
    import("../vendor/noble-hashes-2.4.0/sha2.js"), import("../vendor/noble-hashes-2.4.0/hmac.js"),
  ]);
  const commitment = hex(sha256(seed));
  const steps = [{ name: "commitment", value: commitment, ok: commitment === check.commitment, said: check.commitment }];
  if (check.number === null) return steps;
  const game = GAMES[check.game];
  const stated = [check.league_id, check.match_id, check.play, ...check.choices].join("|");
  const legal = check.choices.every((choice) => (game ? game.legal(choice) : choice !== ""));
  let message = stated;
  const digest = (text) => hmac(sha256, seed, new TextEncoder().encode(text));
  let bytes = digest(message);
  for (let block = 1; !bytes.some((byte) => byte < BYTE_LIMIT); block += 1) {
    message = `${stated}|${block}`;
    bytes = digest(message);
  }
  const place = bytes.findIndex((byte) => byte < BYTE_LIMIT);
  const byte = bytes[place];
  const number = 1 + (byte % 10);
  steps.push(
    { name: "message", value: message, ok: legal },
    { name: "hmac", value: hex(bytes), ok: null },
    { name: "byte", value: fill(word.wordByte, { place: place + 1, byte }), ok: null },
    { name: "number", value: `1 + ${byte} mod 10 = ${number}`, ok: number === check.number, said: check.number },
  );
  if (!game) return steps;
  const words = { even: facts.dataset.wordEven, odd: facts.dataset.wordOdd }; // sent with the facts, so that no page contains a choice before the end
  const parity = PARITIES[number % 2];
  const same = check.parity === null ? null : parity === check.parity; // a referee may omit it
  steps.push({ name: "parity", value: words[parity], ok: same, said: words[check.parity] ?? check.parity });
  const { winner, sum: total } = game.winner(check, number);
  const named = (player) => player ?? word.wordNone;
  const added = total === undefined ? "" : `${fill(word.wordSum, { sum: total, parity: words[PARITIES[total % 2]] })} → `;
  steps.push({ name: "winner", value: added + named(winner), ok: winner === check.winner, said: named(check.winner) });
  return steps;
}

function show(steps, drawn) {
  const word = area.dataset;
  for (const item of stepList.querySelectorAll("[data-step]")) {
    const step = steps.find(({ name }) => name === item.dataset.step);
    item.hidden = !step;
    if (!step) continue;
    item.dataset.verdict = step.ok === null ? "computed" : step.ok ? "ok" : "wrong";
    item.querySelector(".step-verdict").textContent = { ok: word.wordOk, wrong: word.wordWrong, computed: word.wordComputed }[item.dataset.verdict];
    item.querySelector(".step-value").textContent = step.value;
    item.querySelector(".step-said").replaceChildren(...(step.ok === false && "said" in step ? saidOf(step) : []));
  }
  const holds = steps.every(({ ok }) => ok !== false);
  sum.dataset.verdict = holds ? "ok" : "wrong";
  sum.textContent = drawn ? (holds ? word.wordHolds : word.wordFails) : holds ? word.wordSeedHolds : word.wordSeedFails;
  open(true);
}

// What the league states instead of the value; a hash is shown in a fixed-width font and from left to right.
function saidOf({ name, said }) {
  const value = document.createElement(name === "commitment" ? "code" : "bdi");
  if (name === "commitment") value.dir = "ltr";
  value.textContent = said;
  const [before, after] = area.dataset.wordSaid.split("{said}");
  return [before, value, after];
}

function open(isOpen) {
  stepList.hidden = !isOpen;
  button.setAttribute("aria-expanded", String(isOpen));
}

async function go() {
  const text = facts.dataset.check;
  const check = JSON.parse(text);
  sum.textContent = ""; // so that a screen reader reads the same verdict again
  let steps;
  try {
    steps = await stepsOf(check);
  } catch (error) {
    open(false);
    sum.dataset.verdict = "wrong";
    sum.textContent = fill(area.dataset.wordBroken, { why: error.message });
    return;
  }
  if (facts.dataset.check === text) show(steps, check.number !== null); // otherwise the match has changed meanwhile
}

// ---- the data may change at any moment: the results for older data are then hidden

let known = null;

function hideOldResults() {
  const text = facts.dataset.check ?? null;
  area.hidden = text === null;
  if (text !== known) {
    open(false);
    sum.textContent = "";
  }
  known = text;
}

if (facts && area) {
  button.addEventListener("click", go);
  new MutationObserver(hideOldResults).observe(facts, { attributes: true });
  hideOldResults();
}
