// The switch between light and dark. Without a choice the page follows the system. A choice is kept in a cookie: the
// server writes it into the page, so that the first paint is right. The labels are data- attributes of the button.

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const tabs = new BroadcastChannel("theme");
const button = document.querySelector("[data-theme-switch]");
const YEAR_S = 365 * 86400;

const systemTheme = () => (system.matches ? "dark" : "light");
const shown = () => root.dataset.theme ?? systemTheme();

function show(choice) {
  if (choice) root.dataset.theme = choice; else delete root.dataset.theme;
  if (!button) return;
  button.textContent = shown() === "dark" ? button.dataset.wordLight : button.dataset.wordDark;
  button.hidden = false;
}

button?.addEventListener("click", () => {
  const next = shown() === "dark" ? "light" : "dark";
  const choice = next === systemTheme() ? "" : next;
  document.cookie = `theme=${choice}; path=/; samesite=lax; max-age=${choice ? YEAR_S : 0}`;
  show(choice);
  tabs.postMessage(choice);
});
tabs.addEventListener("message", ({ data }) => show(data));
system.addEventListener("change", () => show(root.dataset.theme));
show(root.dataset.theme);
