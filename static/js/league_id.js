// While the name of a new league is typed, says which id the league will have, unless an id is typed, too.

import { fill, setText } from "./morph.js";

const TYPING_MS = 250;

const shown = document.querySelector("[data-next-id]");
const name = document.getElementById("id_display_name");
const id = document.getElementById("id_league_id");
let timer = 0;
let asked = 0;

async function show() {
  const number = ++asked;
  let next = "";
  if (name.value.trim() && !id.value.trim()) {
    try {
      const answer = await fetch(`${shown.dataset.nextId}?${new URLSearchParams({ name: name.value })}`);
      if (answer.ok && !answer.redirected) next = await answer.text();
    } catch { /* not connected: no id is announced, and the form works all the same */ }
  }
  if (number === asked) setText(shown, next && fill(shown.dataset.words, { id: next }));
}

for (const field of [name, id]) field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, TYPING_MS); });
show();
