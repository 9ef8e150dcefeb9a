// Opens messages of a match: what was sent and received is fetched when someone wants to see it.
// A page of a long match stays light this way, and without a script the link leads to the same JSON.

document.addEventListener("toggle", (event) => {
  const details = event.target;
  if (!(details instanceof HTMLDetailsElement) || !details.open) return;
  const link = details.querySelector("[data-keep] a[href]");
  if (link) fill(link);
}, { capture: true }); // toggle does not bubble

async function fill(link) {
  let text;
  try {
    const answer = await fetch(link.href);
    if (!answer.ok) return; // the link stays: whoever follows it sees what is wrong
    text = await answer.text();
  } catch {
    return;
  }
  const body = document.createElement("pre");
  body.className = "json";
  body.dir = "ltr";
  body.tabIndex = 0; // it may scroll
  body.textContent = text;
  if (link.isConnected) link.replaceWith(body);
}

// An address of one message opens it, so that a student can point at it.
function openNamed() {
  const id = decodeURIComponent(location.hash.slice(1));
  const details = id.startsWith("msg-") ? document.getElementById(id)?.querySelector("details") : null;
  if (details) details.open = true;
}

addEventListener("hashchange", openNamed);
openNamed();
