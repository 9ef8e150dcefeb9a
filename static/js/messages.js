// Fetches the body of a message of a match when its details are opened, so that the page of a long match stays small.
// Without this script a link leads to the same JSON.

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
    if (!answer.ok) return; // the link stays; a reader who follows it sees the error
    text = await answer.text();
  } catch {
    return;
  }
  const body = document.createElement("pre");
  body.className = "json";
  body.dir = "ltr";
  body.tabIndex = 0; // it may be scrollable, and then needs the focus
  body.textContent = text;
  if (link.isConnected) link.replaceWith(body);
}

// A URL with the anchor of a message opens the message.
function openNamed() {
  const id = decodeURIComponent(location.hash.slice(1));
  const details = id.startsWith("msg-") ? document.getElementById(id)?.querySelector("details") : null;
  if (details) details.open = true;
}

addEventListener("hashchange", openNamed);
openNamed();
