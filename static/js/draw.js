// Checks the committed draw of a match in the reader's own browser, step by step. What is checked stands in data-check.
// Every string shown comes from the page's data- attributes.

const facts = document.getElementById("fragment-match_draw");
const area = document.querySelector("[data-draw]");
const found = area?.querySelector("[data-draw-found]");
const sum = area?.querySelector(".draw-sum");
const button = area?.querySelector("[data-draw-go]");
const LIMIT = 250;
const PARITIES = ["even", "odd"];
const GAMES = { // which choices there are, and who wins
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

const fill = (text, names) => text.replace(/\{(\w+)\}/g, (whole, name) => names[name] ?? whole);
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// WebCrypto is there on https and localhost only; a classroom's plain http has the same two functions from a library.
async function tools() {
  const subtle = globalThis.crypto?.subtle;
  if (subtle) {
    const bytes = async (buffer) => new Uint8Array(await buffer);
    return {
      sha256: (data) => bytes(subtle.digest("SHA-256", data)),
      hmac: async (key, data) => {
        const known = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
        return bytes(subtle.sign("HMAC", known, data));
      },
    };
  }
  const [{ sha256 }, { hmac }] = await Promise.all([
    import("../vendor/noble-hashes-2.4.0/sha2.js"), import("../vendor/noble-hashes-2.4.0/hmac.js"),
  ]);
  return { sha256, hmac: (key, data) => hmac(sha256, key, data) };
}

function seedOf(text) {
  return /^[0-9a-f]{64}$/.test(text) ? Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16)) : null;
}

// ---- the steps: each has a name, what came out, and ok: true, false, or null where there is nothing to compare with

async function stepsOf(check) {
  const word = area.dataset;
  const seed = seedOf(check.seed);
  if (!seed) return [{ name: "commitment", value: word.wordSeed, ok: false, said: check.commitment }];
  const { sha256, hmac } = await tools();
  const commitment = hex(await sha256(seed));
  const steps = [{ name: "commitment", value: commitment, ok: commitment === check.commitment, said: check.commitment }];
  if (check.number === null) return steps;
  const game = GAMES[check.game];
  const stated = [check.league_id, check.match_id, check.play, ...check.choices].join("|");
  const legal = check.choices.every((choice) => (game ? game.legal(choice) : choice !== ""));
  let message = stated;
  let bytes = await hmac(seed, new TextEncoder().encode(message));
  for (let block = 1; !bytes.some((byte) => byte < LIMIT); block += 1) {
    message = `${stated}|${block}`;
    bytes = await hmac(seed, new TextEncoder().encode(message));
  }
  const place = bytes.findIndex((byte) => byte < LIMIT);
  const byte = bytes[place];
  const number = 1 + (byte % 10);
  steps.push(
    { name: "message", value: message, ok: legal },
    { name: "hmac", value: hex(bytes), ok: null },
    { name: "byte", value: fill(word.wordByte, { place: place + 1, byte }), ok: null },
    { name: "number", value: `1 + ${byte} mod 10 = ${number}`, ok: number === check.number, said: check.number },
  );
  if (!game) return steps;
  const words = { even: facts.dataset.wordEven, odd: facts.dataset.wordOdd }; // they stand with the facts: no choice is on a page before the end
  const parity = PARITIES[number % 2];
  const same = check.parity === null ? null : parity === check.parity; // a referee may leave it out
  steps.push({ name: "parity", value: words[parity], ok: same, said: words[check.parity] ?? check.parity });
  const { winner, sum: total } = game.winner(check, number);
  const named = (player) => player ?? word.wordNone;
  const added = total === undefined ? "" : `${fill(word.wordSum, { sum: total, parity: words[PARITIES[total % 2]] })} → `;
  steps.push({ name: "winner", value: added + named(winner), ok: winner === check.winner, said: named(check.winner) });
  return steps;
}

function show(steps, drawn) {
  const word = area.dataset;
  for (const item of found.querySelectorAll("[data-step]")) {
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

// What the league says instead: a hash keeps its face and its direction in a line of words.
function saidOf({ name, said }) {
  const value = document.createElement(name === "commitment" ? "code" : "bdi");
  if (name === "commitment") value.dir = "ltr";
  value.textContent = said;
  const [before, after] = area.dataset.wordSaid.split("{said}");
  return [before, value, after];
}

function open(whether) {
  found.hidden = !whether;
  button.setAttribute("aria-expanded", String(whether));
}

async function go() {
  const text = facts.dataset.check;
  const check = JSON.parse(text);
  sum.textContent = ""; // so that the same verdict is spoken again, too
  let steps;
  try {
    steps = await stepsOf(check);
  } catch (error) {
    open(false);
    sum.dataset.verdict = "wrong";
    sum.textContent = fill(area.dataset.wordBroken, { why: error.message });
    return;
  }
  if (facts.dataset.check === text) show(steps, check.number !== null); // else the match has moved on meanwhile
}

// ---- the facts may be pushed anew at any moment: what was found of others is taken away

let known = null;

function look() {
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
  new MutationObserver(look).observe(facts, { attributes: true });
  look();
}
