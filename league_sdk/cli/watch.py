"""``league watch``: a league's table in the terminal, while it is played."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from league_sdk.cli.console import EXIT_FAILED, EXIT_OK, err, fail, out, plain, print_line
from league_sdk.cli.options import DEFAULT_LEAGUE
from league_sdk.protocol import SDK_VERSION
from league_sdk.protocol.states import LeagueState
from league_sdk.typed_addresses import read_address

LIMIT_S, MAX_ANSWER_BYTES, NEWS_LINES = 10.0, 8 * 1024 * 1024, 8
FIRST_WAIT_S, MAX_WAIT_S = 1.0, 15.0
ENDED = (LeagueState.COMPLETED, LeagueState.STOPPED)
SHOWN_FIRST = (LeagueState.RUNNING, LeagueState.SCHEDULED, LeagueState.REGISTRATION)


class NoLeague(Exception):
    """There is no league to watch; the text says why."""


@dataclass
class Watched:
    """What is known of one league.

    Attributes:
        league: what the API says of it.
        table: the standings.
        news: the last events as sentences, oldest first.
        since: the place in the feed of events after which the next update reads on.
    """

    site: httpx.Client
    league_id: str
    league: dict[str, Any] = field(default_factory=dict)
    table: list[dict[str, Any]] = field(default_factory=list)
    news: deque[str] = field(default_factory=lambda: deque(maxlen=NEWS_LINES))
    since: str = ""

    def update(self) -> list[dict[str, Any]]:
        """Read what is new; returns the events since the last update.

        Raises:
            NoLeague: the site has no such league, or it is not the site of a league.
            httpx.HTTPError: it does not answer.
        """
        # The state is read first: if the league has ended by then, the events that are read next are all there will be.
        is_new = not self.league
        self.league = self._get("")
        events: list[dict[str, Any]] = []
        while True:
            feed = self._get("/events", since=self.since, limit="500")
            if feed["reset"]:
                self.news.clear()
            events += feed["events"]
            self.since = feed["next"]
            if not feed["more"]:
                break
        self.news.extend(f"{event['at'][11:19]} {event['text']}" for event in events)
        if events or is_new:
            self.table = self._get("/standings")
        return events

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.league.get("status") in ENDED

    def _get(self, what: str, **query: str) -> Any:
        return read(self.site, f"/api/leagues/{quote(self.league_id, safe='')}{what}", **query)


def read(site: httpx.Client, path: str, **query: str) -> Any:
    """Read one answer of a site.

    Raises:
        NoLeague: it has no such page, or what came is no JSON.
        httpx.HTTPError: it does not answer.
    """
    with site.stream("GET", path, params=query) as reply:
        if reply.status_code == 404:
            raise NoLeague(f"There is nothing at {site.base_url}{path}: no such league, or not the site of a league.")
        reply.raise_for_status()
        raw = bytearray()
        for part in reply.iter_bytes():
            raw += part
            if len(raw) > MAX_ANSWER_BYTES:
                raise NoLeague(
                    f"{site.base_url} answered with more than {MAX_ANSWER_BYTES} bytes: it is not from a league."
                )
    try:
        return httpx.Response(200, content=bytes(raw)).json()
    except ValueError:
        raise NoLeague(f"{site.base_url} is not the site of a league: its answer is not JSON.") from None


def watch(
    league: Annotated[
        str, typer.Argument(envvar="LEAGUE_URL", metavar="URL", help="The site, the league's board, or its /mcp.")
    ] = DEFAULT_LEAGUE,
    league_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Which league; without it the one that is running.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Show the table as it is and end.")] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print a line of JSON for each event and, at first and at last, for the table."),
    ] = False,
) -> None:
    """Watch a league in the terminal: its table and what happens, until it ends.

    Exit code: 0 it has ended (or was shown with --once, or Ctrl-C), 1 there is no such league or no site, 2 the command
    line cannot be used.
    """
    try:
        address = read_address(league if "://" in league else f"http://{league}", example=DEFAULT_LEAGUE)
    except ValueError as error:
        fail(f"{error}.")
    named = league_id or _league_in(address.path)
    headers = {"User-Agent": f"league-watch/{SDK_VERSION}", "Accept-Encoding": "identity"}
    base = f"{address.scheme}://{address.netloc.decode()}"
    root = address.copy_with(raw_path=b"/", fragment=None)
    with httpx.Client(base_url=root, headers=headers, timeout=LIMIT_S, trust_env=False) as site:
        try:
            watched = Watched(site, named or _current(site))
            _follow(watched, once=once, as_json=as_json)
        except NoLeague as error:
            fail(plain(error), EXIT_FAILED)
        except httpx.HTTPError as error:
            fail(
                f"No league answers at {base}: {plain(error) or type(error).__name__}. Is the site running?",
                EXIT_FAILED,
            )
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_OK) from None


def _league_in(path: str) -> str:
    """The league of a board's address; empty if it names none."""
    parts = path.strip("/").split("/")
    return parts[1] if len(parts) > 1 and parts[0] == "leagues" else ""


def _current(site: httpx.Client) -> str:
    """The latest league that is running; without one, the latest that is to start, in registration, or over.

    The demo comes last.

    Raises:
        NoLeague: the site has none.
    """
    rows = read(site, "/api/leagues")
    if not isinstance(rows, list) or not rows:
        raise NoLeague(f"There is no league at {site.base_url} yet.")
    rows = [row for row in rows if not row.get("demo")] or rows
    by_state = {row["status"]: row["league_id"] for row in reversed(rows)}
    return str(next((by_state[state] for state in SHOWN_FIRST if state in by_state), rows[0]["league_id"]))


def _follow(watched: Watched, *, once: bool, as_json: bool) -> None:
    watched.update()
    if out.is_terminal and not (once or as_json or watched.has_ended):
        with Live(shown(watched), console=out, refresh_per_second=4) as live:
            _go_on(watched, lambda new: live.update(shown(watched)))
        return
    _print(watched, as_json)
    if not (once or watched.has_ended):
        _go_on(watched, lambda new: _say_all(new, as_json))
        _print(watched, as_json)


def _print(watched: Watched, as_json: bool) -> None:
    if as_json:
        print_line({"league": watched.league, "table": watched.table})
    else:
        out.print(shown(watched))


def _go_on(watched: Watched, show: Callable[[list[dict[str, Any]]], None]) -> None:
    """Update again and again until the league has ended; a site that is away for a while is waited for."""
    wait_s = FIRST_WAIT_S
    while not watched.has_ended:
        time.sleep(wait_s)
        try:
            show(watched.update())
            wait_s = FIRST_WAIT_S
        except httpx.HTTPError as error:
            if wait_s == FIRST_WAIT_S:
                err.print(Text(f"The site does not answer ({plain(error)}), trying again."), soft_wrap=True)
            wait_s = min(wait_s * 2, MAX_WAIT_S)


def _say_all(events: list[dict[str, Any]], as_json: bool) -> None:
    for event in events:
        if as_json:
            print_line(event)
        else:
            out.print(Text(plain(f"{event['at'][11:19]} {event['text']}")), soft_wrap=True)


def shown(watched: Watched) -> Group:
    """The table and the last news."""
    facts = watched.league
    title = plain(facts.get("display_name") or watched.league_id)
    rounds = f", round {facts['round']} of {facts.get('rounds')}" if facts.get("round") else ""
    halted = ", paused" if facts.get("paused") else ""
    if facts.get("frozen_after_round") is not None:
        halted += f", the board is frozen after round {facts['frozen_after_round']}"
    table = Table(
        title=Text(f"{title}: {plain(facts.get('status'))}{plain(rounds)}{plain(halted)}"), title_justify="left"
    )
    for name in ("#", "player", "points", "played", "won", "drawn", "lost"):
        table.add_column(name, justify="left" if name == "player" else "right")
    for row in watched.table:
        cells = [row.get(key) for key in ("tied_rank", "display_name", "points", "played", "wins", "draws", "losses")]
        table.add_row(*(Text(plain("" if cell is None else cell)) for cell in cells))
    return Group(table, *(Text(plain(line), style="dim") for line in watched.news))
