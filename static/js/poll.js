// Fetches a part of the page again and again while the page is visible, for pages without a socket.

import { parse } from "./morph.js";

const TIMEOUT_MS = 5000;

/**
 * @param address returns the URL of the part
 * @param take    is called with the response and the element in it
 * @param wait    is called at the start and after every attempt; returns the milliseconds until the next one
 */
export function poll(address, take, wait) {
  let timer = setTimeout(fetchPart, wait());

  async function fetchPart() {
    clearTimeout(timer);
    if (document.visibilityState === "visible") {
      try {
        const answer = await fetch(address(), { cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(TIMEOUT_MS) });
        take(answer, parse(await answer.text()));
      } catch { /* no answer: the next attempt follows */ }
    }
    clearTimeout(timer);
    timer = setTimeout(fetchPart, wait());
  }

  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") fetchPart(); });
}
