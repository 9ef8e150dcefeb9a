// A file chooser of the admin: says which file is chosen, takes one that is dropped on it, and says beside it what is
// wrong with a file before it is sent. The browser's own input lies over the whole chooser and handles keyboard, click
// and drop. Texts and the largest size are in data- attributes. Without this script the input is shown as it is.

import { fill, setText } from "./morph.js";

const MB = 1_000_000;

function problem(chooser, input) {
  const [file, ...more] = input.files;
  if (!file) return "";
  const { wordMany, wordKind, wordLarge, wordEmpty } = chooser.dataset;
  const maxBytes = Number(input.dataset.maxBytes);
  const kinds = input.accept.split(",").filter((kind) => kind.startsWith("."));
  if (more.length) return wordMany;
  if (kinds.length && !kinds.some((kind) => file.name.toLowerCase().endsWith(kind))) return fill(wordKind, { kinds: kinds.join(", ") });
  if (file.size > maxBytes) {
    return fill(wordLarge, { size: Math.ceil((10 * file.size) / MB) / 10, most: Math.max(1, Math.floor(maxBytes / MB)) });
  }
  return file.size ? "" : wordEmpty;
}

function show(chooser, input) {
  const found = problem(chooser, input);
  setText(chooser.querySelector("[data-file-name]"), input.files[0]?.name ?? chooser.dataset.wordNone);
  const beside = chooser.parentElement.querySelector("[data-file-problem]");
  setText(beside, found);
  beside.hidden = !found;
  // With a custom validity the browser does not send the form, and shows the same text at the input.
  input.setCustomValidity(found);
  input.setAttribute("aria-invalid", String(Boolean(found)));
  input.setAttribute("aria-describedby", beside.id);
  chooser.toggleAttribute("data-wrong", Boolean(found));
}

for (const chooser of document.querySelectorAll("[data-file]")) {
  const input = chooser.querySelector("input[type=file]");
  chooser.dataset.ready = "";
  input.addEventListener("change", () => show(chooser, input));
  for (const [name, over] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]]) {
    chooser.addEventListener(name, () => chooser.toggleAttribute("data-over", over));
  }
  // A file that misses the chooser must not replace the page and what was typed.
  for (const name of ["dragover", "drop"]) {
    addEventListener(name, (event) => { if (event.target !== input) event.preventDefault(); });
  }
  show(chooser, input);
}
