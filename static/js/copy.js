// Copy buttons. They are hidden without this script; the text can always be selected by hand.

const SHOW_RESULT_MS = 2000;

async function copy(text, box) {
  if (navigator.clipboard?.writeText) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed: use the older way below */ }
  }
  // The clipboard API needs https, and a class may use plain http: select the text and copy the selection.
  const range = document.createRange();
  range.selectNodeContents(box);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  const done = document.execCommand("copy");
  if (done) selection.removeAllRanges();
  return done;
}

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-copy-button]") : null;
  if (!button) return;
  const box = button.closest("[data-copy]").querySelector("[data-copy-text]");
  const done = await copy(box.textContent, box);
  const before = button.innerHTML;
  if (button.dataset.busy) return;
  button.dataset.busy = "1";
  button.textContent = done ? button.dataset.wordDone : button.dataset.wordFailed;
  button.setAttribute("aria-live", "polite");
  setTimeout(() => { button.innerHTML = before; delete button.dataset.busy; }, SHOW_RESULT_MS);
});

export function showButtons(root) {
  for (const button of root.querySelectorAll("[data-copy-button]")) button.hidden = false;
}

showButtons(document);
