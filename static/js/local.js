// For every page of the admin: writes its times in the reader's zone, with UTC beside, and gives the skin's scroll areas
// names in the reader's language: the skin names them in English when the page is loaded.

import "./file.js";
import { writeTimes } from "./morph.js";

function nameScrollAreas() {
  const word = document.getElementById("main")?.dataset.wordScrolls;
  for (const area of document.querySelectorAll('.simplebar-content-wrapper[aria-label="scrollable content"]')) {
    if (word) area.setAttribute("aria-label", word);
  }
}

writeTimes(document, Date.now());
addEventListener("load", nameScrollAreas);
