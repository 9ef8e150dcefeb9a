"""Leagues of any size in mid-round, and their pages in a browser without a site, for tests of how they look."""

from __future__ import annotations

import mimetypes
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client
from playwright.sync_api import Browser, Page, Route

from agents_registry.models import Agent
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import get_game
from matches.league import opening
from matches.models import Match
from tests import factories as make
from tests.e2e.browser import chromium

SIZES = {"720": (1280, 720), "1080": (1920, 1080), "4k": (3840, 2160)}
MISFITS = """() => {
  const misfits = [];
  const report = (element, why) => misfits.push(`${why}: ${element.className} ${element.textContent}`.slice(0, 90));
  for (const element of document.querySelectorAll("main, main *")) {
    if (element.closest("svg, .visually-hidden") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    if (style.display === "inline") continue;
    if (element.scrollWidth > element.clientWidth + 1) report(element, "cut sideways");
    if (style.overflowY !== "visible" && element.scrollHeight > element.clientHeight + 1) report(element, "cut below");
    const box = element.getBoundingClientRect();
    if (box.bottom > innerHeight + 1 || box.right > innerWidth + 1 || box.left < -1) report(element, "beyond the edge");
  }
  const { scrollHeight, scrollWidth } = document.documentElement;
  if (scrollHeight > innerHeight || scrollWidth > innerWidth) misfits.push("the page scrolls");
  return misfits;
}"""
HOST = "http://offline.test"
HARD_NAMES = (
    "Ada",
    "A very long name of sixty-four characters, that nobody would cut",
    "נועה בן־דוד ממכללת ירושלים, הסוכן שלא מפסיד אף פעם",
    "四目並べの達人とその仲間たちの長い名前のエージェント",
    "🤖🧠🎲 Robo-Brain 3000 🎉",
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "Bo",
)


def in_play(game_type: str, players: int, *, names: Sequence[str] = (), moves: int = 9) -> None:
    """A league ``fall`` in round 1, whose matches have different numbers of moves, and some of which are over."""
    opening.create_league(league_id="fall", display_name="Agents 2026, group 3", game_type=game_type)
    make.referee(room=1000)
    Agent.objects.update(game_types=[game_type])
    make.insert_players("fall", players)
    for number, agent in enumerate(Agent.objects.filter(kind="player").order_by("pk")):
        if names:
            Agent.objects.filter(pk=agent.pk).update(display_name=names[number % len(names)][:64])
    make.start_league("fall")
    make.open_round("fall")
    make.look()
    play(game_type, moves)


def play(game_type: str, moves: int) -> None:
    """Move on in every match of the round; every fourth is played to its end."""
    rng, game = random.Random(7), get_game(game_type)
    rows = Match.objects.select_related("player_a", "player_b", "league", "referee", "round")
    for number, match in enumerate(rows.filter(round__state="RUNNING").exclude(state="FINISHED").order_by("pk")):
        to_the_end = number % 4 == 1
        state = _played(game, match.player_ids, rng, 99 if to_the_end else (moves + number) % 30)
        if to_the_end:
            outcome = game.outcome(state)
            assert outcome is not None
            result = {"winner": outcome.winner, "score": {}, "details": outcome.details}
            status = "WIN" if outcome.winner else "DRAW"
            make.report(match, outcome.winner, status=status, result=result)
        else:
            _store_progress(match, game, state, number)


def _played(game: Game, players: tuple[str, str], rng: random.Random, moves: int) -> State:
    state = game.new_state(players)
    for _ in range(moves):
        movers = game.to_move(state)
        if not movers:
            return state if game.outcome(state) is not None else game.draw(state, rng)
        after = game.apply(state, movers[0], rng.choice(game.options(state, movers[0])))
        if moves != 99 and game.outcome(after) is not None:
            break
        state = after
    return state


def _store_progress(match: Match, game: Game, state: State, number: int) -> None:
    """Store the progress that a referee would report of a match, directly in its row."""
    a, b = match.player_ids
    locked = [[], [a], [a, b], [b]][number % 4] if game.hidden else []
    view = {} if game.hidden else game.view(state, None)
    moves = [] if game.hidden else [[[a, b][turn % 2], move] for turn, move in enumerate(state["moves"])]
    joined = [a, b] if number % 5 else [a]
    Match.objects.filter(pk=match.pk).update(
        state="COLLECTING_CHOICES", joined=joined, locked_in=locked, view=view, moves=moves
    )


def rendered(path: str, language: str = "en", client: Client | None = None) -> bytes:
    """The HTML of a page. To be called before a browser is started: beside Playwright's loop Django does no queries."""
    response = (client or Client()).get(path, HTTP_ACCEPT_LANGUAGE=language)
    assert response.status_code == 200
    return bytes(response.content)


def shown(browser: Browser, html: bytes, **context_options: Any) -> Page:
    """A page with this HTML and our static files; nothing is live, and no request leaves."""
    page = browser.new_context(**context_options).new_page()

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        is_file = path.startswith(settings.STATIC_URL)
        file = finders.find(path.removeprefix(settings.STATIC_URL)) if is_file else None
        kind = mimetypes.guess_type(path)[0] or "text/html"
        route.fulfill(body=Path(str(file)).read_bytes() if file else html, content_type=kind)

    page.route("**/*", answer)
    page.goto(HOST)
    return page


def scenes(page: Page) -> Iterator[str]:
    """Show all scenes of a projector one after the other; yields the name of the one shown."""
    seen: list[str] = []
    while (scene := str(page.locator("[data-shown]").get_attribute("data-scene"))) not in seen:
        seen.append(scene)
        yield scene
        page.keyboard.press("PageDown")
    assert sorted(seen) == sorted(one.get_attribute("data-scene") for one in page.locator("[data-scene]").all())


def screen_pages() -> Iterator[tuple[str, str, Page]]:
    """The projector's page in both languages at :data:`SIZES`: language, size, and the page."""
    pages = {language: rendered("/leagues/fall/screen/", language) for language in ("en", "he")}
    with chromium() as browser:
        for language, html in pages.items():
            for size, (width, height) in SIZES.items():
                page = shown(browser, html, viewport={"width": width, "height": height}, reduced_motion="reduce")
                yield language, size, page
                page.context.close()


def scenes_that_misfit() -> tuple[list[set[str]], dict[tuple[str, str, str], list[str]]]:
    """The names of the scenes at each language and size, and what does not fit, by language, size and scene."""
    seen: dict[tuple[str, str], set[str]] = {}
    found: dict[tuple[str, str, str], list[str]] = {}
    for language, size, page in screen_pages():
        for scene in scenes(page):
            seen.setdefault((language, size), set()).add(scene)
            if misfits := page.evaluate(MISFITS):
                found[language, size, scene] = misfits
    return list(seen.values()), found


def league_with_names(players: int, names: Sequence[str]) -> make.MadeLeague:
    """The league ``fall`` with players that have these names in turn; it has not begun."""
    opening.create_league(league_id="fall", display_name="Agents 2026, group 3")
    make.referee(room=1000)
    make.insert_players("fall", players)
    for number, agent in enumerate(Agent.objects.filter(kind="player").order_by("pk")):
        Agent.objects.filter(pk=agent.pk).update(display_name=names[number % len(names)])
    return make.MadeLeague("fall", [], [])
