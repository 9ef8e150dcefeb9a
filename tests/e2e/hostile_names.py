"""Makes leagues full of very long and unusual names, and finds the text that a page cuts off because of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from playwright.sync_api import Page

from tests.bots.scripted import listening, params_of, reply_to
from tests.bots.words import ANSWERS, CHOOSE, meta, registration, rpc
from tests.e2e.site import Instructor

NAMES = [
    "Wunderlichsternenhimmelsbeobachtungsturmwächtergehilfenprüfungen",
    "שחקןשלאמפסיקלדברעלהמשחקהכיחשובבעולםכולווגםעלמהשהיהאתמולבערבבבית",
    "👩‍👩‍👧‍👦🏴‍☠️🧑🏽‍🚀🫠" * 6,
    "漢字仮名交じり文大会出場者代表選手権優勝候補筆頭" * 3,
    "\N{HANGUL FILLER}\N{ARABIC-INDIC DIGIT THREE}",
]
"""A long word, one from right to left, emoji, CJK, a nearly invisible name. The site keeps the first 64 characters."""
PLAYED, STARTED, WAITING, CROWD = "names-played", "names-started", "names-waiting", "names-crowd"
TILES = 60
"""How many tiles the readiness wall of the waiting league has: one for each player and each person on the roster."""

FIND_CUT_OFF_JS = r"""() => {
  const wrong = [];
  const describe = (e) => `${e.tagName.toLowerCase()}.${e.className} "${(e.innerText ?? "").slice(0, 20)}"`;
  const hides = (how) => how === "hidden" || how === "clip";
  for (const e of document.querySelectorAll("body *:not(svg, svg *, input)")) {
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!e.checkVisibility({ visibilityProperty: true }) || box.width < 2 || box.height < 2) continue;
    const wide = e.scrollWidth - e.clientWidth, high = e.scrollHeight - e.clientHeight;
    const isMarked = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none" || e.title;
    if (hides(style.overflowX) && !isMarked && wide > 1) wrong.push(`${describe(e)} hides ${wide} px of its width`);
    if (hides(style.overflowY) && !isMarked && high > 2) wrong.push(`${describe(e)} hides ${high} px of its height`);
    const writes = [...e.childNodes].some((one) => one.nodeType === Node.TEXT_NODE && one.data.trim());
    const spills = style.overflowX === "visible" && style.display !== "inline" && e.clientWidth && wide > 2;
    if (writes && spills) wrong.push(`${describe(e)} spills ${wide} px`);
  }
  return wrong;
}"""
"""JavaScript for :func:`cut_off`."""


def cut_off(page: Page) -> list[str]:
    """The elements of the page that hide text without an ellipsis or a title, or whose text leaves its box."""
    return list(page.evaluate(FIND_CUT_OFF_JS))


def register(site: Instructor, league: str, name: str, endpoint: str) -> str:
    """Register a player that answers in this process; returns its auth_token."""
    request = registration("player", "any", f"conv-{random.getrandbits(32)}", meta(name, endpoint), league_id=league)
    answer = site.http.post("/mcp", json=rpc("register_player", request)).json()
    assert answer["result"]["status"] == "ACCEPTED", answer
    return str(answer["result"]["auth_token"])


def play(body: Any) -> dict[str, Any]:
    """The players' answer to any message: all of them accept, and choose at random."""
    params = params_of(body)
    kind = params.get("message_type", "")
    if kind not in ANSWERS:
        return {"status": "ok"}
    fields = {"parity_choice": random.choice(["even", "odd"])} if kind == CHOOSE else {"accept": True}
    return reply_to(params, ANSWERS[kind], **fields)


def roster(people: int) -> str:
    """A roster as CSV, of this many people with names from :data:`NAMES`."""
    return "\n".join(["name,email", *(f"{NAMES[n % 4]}{n},s{n}@example.org" for n in range(people))])


@contextmanager
def named_players(site: Instructor) -> Iterator[list[tuple[str, str]]]:
    """Make four leagues with :data:`NAMES`.

    PLAYED has ended, STARTED has played its first round, WAITING has a long roster and has not begun, and CROWD has a
    roster and no player.

    Yields:
        The auth_token and the endpoint of each player of PLAYED.
    """
    players: dict[str, list[tuple[str, str]]] = {}
    with ExitStack() as stack:
        for league in (PLAYED, STARTED, WAITING):
            body = {"league_id": league, "display_name": NAMES[0], "game_type": "even_odd", "settings": {}}
            site.post("/leagues", body, status=201)
            agents = [(name, stack.enter_context(listening(play)).endpoint) for name in NAMES]
            players[league] = [(register(site, league, name, endpoint), endpoint) for name, endpoint in agents]
        site.play_to_the_end(PLAYED)
        site.post(f"/leagues/{STARTED}/start")
        site.wait_for_round(STARTED, 1)
        site.post(f"/leagues/{WAITING}/roster", {"text": roster(TILES - len(NAMES))})
        crowd = {"league_id": CROWD, "display_name": NAMES[0], "game_type": "even_odd", "settings": {}}
        site.post("/leagues", crowd, status=201)
        site.post(f"/leagues/{CROWD}/roster", {"text": roster(100)})
        site.post(f"/leagues/{CROWD}/notices", {"text": f"{NAMES[0]} " * 3}, status=201)
        yield players[PLAYED]
        site.end(STARTED)
