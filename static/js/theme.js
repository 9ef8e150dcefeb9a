// Loaded in <head> without defer, so that the chosen theme is there before the first paint.
// No choice stored means: follow the system. The words come from the button's data- attributes.
(() => {
  const KEY = "theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const read = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const write = (value) => {
    try { value ? localStorage.setItem(KEY, value) : localStorage.removeItem(KEY); } catch { /* private window: this page only */ }
  };
  const valid = (value) => (value === "light" || value === "dark" ? value : null);
  const systemTheme = () => (system.matches ? "dark" : "light");
  let choice = valid(read());
  let button = null;

  function show() {
    if (choice) root.dataset.theme = choice; else delete root.dataset.theme;
    if (!button) return;
    const next = (choice ?? systemTheme()) === "dark" ? "light" : "dark";
    button.textContent = next === "dark" ? button.dataset.wordDark : button.dataset.wordLight;
    button.hidden = false;
  }

  show();
  system.addEventListener("change", show);
  addEventListener("storage", (event) => { if (event.key === KEY) { choice = valid(event.newValue); show(); } });
  addEventListener("DOMContentLoaded", () => {
    button = document.querySelector("[data-theme-switch]");
    button?.addEventListener("click", () => {
      const next = (choice ?? systemTheme()) === "dark" ? "light" : "dark";
      choice = next === systemTheme() ? null : next;
      write(choice);
      show();
    });
    show();
  });
})();
