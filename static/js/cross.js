// The table of everyone against everyone is one stop of the tab key; the arrow keys go from result to result in it.
// Without this script every result is a stop of its own.

const main = document.querySelector("main");

const table = () => main.querySelector("table.cross");
const cellsOf = (row) => [...row.cells].map((cell) => [...cell.querySelectorAll("a")]);

// Sets again what a redrawn table has lost. Correct attributes are left alone, or the observer would call this without end.
function rove(wanted = null) {
  const links = [...(table()?.tBodies[0]?.querySelectorAll("a") ?? [])];
  const stop = wanted ?? (links.includes(document.activeElement) ? document.activeElement : links.find((link) => link.getAttribute("tabindex") === "0") ?? links[0]);
  for (const link of links) {
    const index = link === stop ? "0" : "-1";
    if (link.getAttribute("tabindex") !== index) link.setAttribute("tabindex", index);
  }
  if (links.length && table().getAttribute("role") !== "grid") table().setAttribute("role", "grid");
}

// The next link from a place in a direction, over cells that have none.
function next(rows, row, column, down, right) {
  for (let [y, x] = [row + down, column + right]; rows[y]?.[x]; [y, x] = [y + down, x + right]) {
    if (rows[y][x].length) return right < 0 ? rows[y][x].at(-1) : rows[y][x][0];
  }
  return null;
}

function target(event, link) {
  const rows = [...table().tBodies[0].rows].map(cellsOf);
  const row = rows.findIndex((cells) => cells.some((links) => links.includes(link)));
  const column = rows[row].findIndex((links) => links.includes(link));
  const beside = rows[row][column]; // two who meet twice have two results in one cell
  const forward = document.documentElement.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  const all = event.ctrlKey ? rows.flat(2) : rows[row].flat();
  switch (event.key) {
    case "ArrowDown": return next(rows, row, column, 1, 0);
    case "ArrowUp": return next(rows, row, column, -1, 0);
    case "ArrowLeft":
    case "ArrowRight": {
      const by = event.key === forward ? 1 : -1;
      return beside[beside.indexOf(link) + by] ?? next(rows, row, column, 0, by);
    }
    case "Home": return all[0];
    case "End": return all.at(-1);
    default: return undefined;
  }
}

main.addEventListener("keydown", (event) => {
  const link = event.target.closest?.("table.cross tbody a");
  if (!link || event.altKey || event.metaKey || event.shiftKey) return;
  const to = target(event, link);
  if (to === undefined) return;
  event.preventDefault();
  to?.focus();
});
main.addEventListener("focusin", (event) => {
  const link = event.target.closest?.("table.cross tbody a");
  if (link) rove(link);
});
new MutationObserver(() => rove()).observe(main, { subtree: true, childList: true, attributes: true, attributeFilter: ["tabindex", "role"] });
rove();
