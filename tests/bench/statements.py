"""How long the slowest statement of each page and action takes on PostgreSQL, in a league of 2,000 players.

``python -m tests.bench.statements``. The league's two million matches and the results of its first rounds are written
straight into the database. Then each page is opened and each action is carried out in this process, which lets
statements run for longer than the site does (``statement_timeout``, 10 s).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import wire
from tests.bench import rows
from tests.bench.deployed import UNLIMITED, load
from tests.bench.part import command_line, scratch, within
from tests.e2e.scaled import ENVIRONMENT
from tests.e2e.servers import new_database
from tests.e2e.site import API_KEY

LEAGUE, OPEN = "large", "open"
"""The league that is played, and one as large whose registration is open."""
PLAYERS, ROUNDS = 2000, 20
LIMIT_S = 300
SHOWN_MS = 500
"""The text of a slower statement is printed."""
LONG_MS = 2000
"""A fifth of what the site allows; the bench ends with 1 if a statement is slower."""
PIECES = 5
"""How many pieces of a schedule and of a deletion are measured."""

LEAGUE_PAGES = (
    *("", "players/P01/", "matches/R1M1/", "matches/R1M1/messages", "charts/", "screen/", "replay/"),
    *("replay/fragments/", "embed/", "join/", "mine/", "story/"),
)
API = (
    *("", "/standings", "/rounds", "/matches", "/matches/R1M1", "/agents", "/ledger", "/events", "/luck", "/roster"),
    *("/names", "/corrections", "/roles", "/evidence", "/settings", "/plan", "/notices"),
    *("/export/league.json", "/export/league.zip", "/export/standings.csv", "/export/matches.csv"),
)
DESK = (
    *("change/", "now/", "settings/", "roster/", "people/", "corrections/", "notices/", "remote/", "papers/"),
    *("papers/evidence/", "papers/standings.csv", "season/", "history/", "correct/?kind=void&match_id=R1M1&reason=x"),
    *("correct/?kind=withdraw&player_id=P05&matches_become=void&reason=x",),
)
LISTS = (
    *("matches/league/", "matches/match/", "matches/match/?q=R1M1", "matches/match/?q=Player+17", "matches/match/?p=9"),
    *("matches/match/?o=1", "matches/match/?o=2", "matches/match/?o=-3", "matches/match/?state=FINISHED"),
    *(f"matches/match/?league={LEAGUE}", f"matches/match/?league={LEAGUE}&o=-1"),
    *("agents_registry/agent/", "agents_registry/agent/?q=Player+17", "agents_registry/agent/?o=2"),
    *("matches/auditentry/", "matches/league/compatibility/", "", "auth/user/"),
)
QUERIES = ("get_standings", "get_schedule", "get_next_match", "get_player_stats")


class Watch:
    """Notes how long the statements of this process take, of all its connections."""

    def __init__(self) -> None:
        self.ms: list[tuple[float, str]] = []

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        """Run a statement: a wrapper of Django's."""
        begun = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            self.ms.append((1000 * (time.perf_counter() - begun), sql))

    def step(self, name: str, work: Callable[[], Any]) -> float:
        """Do something and print what it took; returns the milliseconds of its slowest statement."""
        self.ms = []
        begun, used = time.perf_counter(), time.process_time()
        said = work()
        took, used = 1000 * (time.perf_counter() - begun), 1000 * (time.process_time() - used)
        slowest, sql = max(self.ms, default=(0.0, ""))
        total = sum(ms for ms, _ in self.ms)
        print(
            f"{name:44} {took:7.0f} ms, processor {used:6.0f} ms, {len(self.ms):5} statements {total:7.0f} ms, "
            f"slowest {slowest:6.0f} ms  {said}",
            flush=True,
        )
        if slowest > SHOWN_MS:
            print(f"    {sql[:1500]}", flush=True)
        return slowest


def asked(answer: Any) -> str:
    """The status and the size of an answer, all of which is read."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    refused = body[:150].decode(errors="replace") if answer.status_code >= 400 else ""
    return f"{answer.status_code} {len(body) / 1000:.0f} kB {refused}"


def work_of(desk: Any, public: Any, script: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every page and action by its name, in the order in which they are measured."""
    from matches.conducting import due  # noqa: PLC0415 - only when Django has its settings
    from matches.league import making, removing  # noqa: PLC0415

    for page in LEAGUE_PAGES:
        yield f"/leagues/…/{page}", lambda page=page: asked(public.get(f"/leagues/{LEAGUE}/{page}"))
    yield "/", lambda: asked(public.get("/"))
    for name in QUERIES:
        call = wire.request(name, {"league_id": LEAGUE, "player_id": "P01"})
        yield name, lambda call=call: asked(wire.post(public, call))
    for path in API:
        yield f"/api/leagues/…{path}", lambda path=path: asked(script.get(f"/api/leagues/{LEAGUE}{path}"))
    for page in DESK:
        yield f"desk {page}", lambda page=page: asked(desk.get(f"/admin/matches/league/{LEAGUE}/{page}"))
    for page in LISTS:
        yield f"/admin/{page}", lambda page=page: asked(desk.get(f"/admin/{page}"))
    for path in ("/api/leagues", "/api/audit", "/api/compatibility", "/metrics", "/health"):
        yield path, lambda path=path: asked(script.get(path))

    newcomer = wire.request("register_player", wire.player_request("Newcomer", port=19_999, league_id=OPEN))
    yield "registration as the 2,001st", lambda: asked(wire.post(public, newcomer))

    def post(path: str, league: str = LEAGUE, **body: Any) -> Callable[[], str]:
        return lambda: asked(script.post(f"/api/leagues/{league}{path}", body, content_type="application/json"))

    def look() -> str:
        plan = due.look(busy_agents=(), draining=False, pieces=False)
        return f"{len(plan.starts)} starts, {len(plan.parcels)} parcels"

    wish = {"kind": "withdraw", "player_id": "P05", "matches_become": "void", "reason": "went home"}
    yield "a look of the conductor", look
    yield "withdraw", post("/corrections", **wish)
    yield "disqualify", post("/corrections", **wish | {"kind": "disqualify", "player_id": "P07"})
    yield "void", post("/corrections", kind="void", match_id="R2M1", reason="wrong game")
    yield "replay a match", post("/corrections", kind="replay", match_id="R3M1", reason="wrong game")
    yield "undo", post("/corrections/1/undo", reason="came back")
    yield "freeze", post("/freeze", from_round=ROUNDS + 2)
    yield "series", post("/series", series_id="spring")
    yield "clone", post("/clone", wanted_id="copy")
    key = ENVIRONMENT["LEAGUE_REFEREE_KEY"]
    judge = wire.referee_request("Bench Referee", port=29_999, code=key, progress=True, room=1000)
    yield "a referee registers", lambda: asked(wire.post(public, wire.request("register_referee", judge)))
    yield "resume", post("/resume")
    yield "a round is started", post("/start")
    yield "a look after it", look
    yield "another look", look
    yield "close", post("/close", OPEN)
    yield f"{PIECES} pieces of a schedule", lambda: [making.write_pieces() for _ in range(PIECES)]
    yield "stop", post("/stop")
    yield "archive", post("/archive")
    yield "delete", post("/delete", typed=LEAGUE)
    yield f"{PIECES} pieces of a deletion", lambda: [removing.remove_pieces() for _ in range(PIECES)]
    yield "a look of the conductor beside it", look


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """Django in this process on a database of its own, prepared; gives the URL of the database."""
    with new_database() as url:
        options = f"?options=-c%20statement_timeout%3D{LIMIT_S}s%20-c%20lock_timeout%3D{LIMIT_S}s"
        os.environ |= ENVIRONMENT | {"DATABASE_URL": url + options, "LEAGUE_DATA": str(folder / "data")}
        os.environ |= {"DJANGO_SETTINGS_MODULE": "leaguesite.settings", "LEAGUE_REGISTRATIONS_PER_ADDRESS": UNLIMITED}
        import django  # noqa: PLC0415 - its settings are read from what was just set

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415
        from django.db import connections  # noqa: PLC0415

        from storage.postgresql import base  # noqa: PLC0415

        base.ANSWER_LIMIT_S = LIMIT_S
        call_command("prepare")
        try:
            yield url
        finally:
            connections.close_all()
            for each in connections.all():
                each.close_pool()


def write(url: str, script: Any, players: int, rounds: int) -> None:
    """Write both leagues with their players, and schedule and results of the first."""
    for league in (LEAGUE, OPEN):
        made = script.post("/api/leagues", {"league_id": league}, content_type="application/json")
        entered = wire.request("register_player", wire.player_request("Player 1", port=20_001, league_id=league))
        print(league, asked(made), asked(wire.post(script, entered)))
    with psycopg.connect(url, autocommit=True) as connection:
        database, begun = rows.Postgres(connection), time.perf_counter()
        for league in (LEAGUE, OPEN):
            rows.fill(database, league, players)
        rows.schedule(database, LEAGUE)
        with connection.transaction():
            rows.play(database, LEAGUE, rounds)
        database.execute("VACUUM ANALYZE")
        ((size,),) = database.execute("SELECT pg_database_size(current_database())").fetchall()
        print(f"written in {time.perf_counter() - begun:.0f} s: database {size / 1e6:.0f} MB, {load()}", flush=True)


def measure(url: str, players: int, rounds: int, only: list[str]) -> list[str]:
    """Print a line for each page and action; returns the names of those with a statement that is too slow."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415 - only when Django has its settings
    from django.db import connection  # noqa: PLC0415
    from django.db.backends.signals import connection_created  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    script = Client(headers={"authorization": f"Bearer {API_KEY}", "host": "127.0.0.1"})
    public, desk = Client(headers={"host": "127.0.0.1"}), Client(headers={"host": "127.0.0.1"})
    desk.force_login(get_user_model().objects.get(is_superuser=True))
    write(url, script, players, rounds)
    watch = Watch()
    connection_created.connect(lambda connection, **_: connection.execute_wrappers.append(watch), weak=False)
    connection.close()
    slow = []
    for name, work in work_of(desk, public, script):
        if not only or any(one in name for one in only):
            slow += [name] * (watch.step(name, work) > LONG_MS)
    return slow


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = command_line("statements", __doc__)
    parser.add_argument("--players", type=within(4, 4000), default=PLAYERS)
    parser.add_argument("--rounds", type=within(3, 1999), default=ROUNDS, help="how many have results")
    parser.add_argument("only", nargs="*", help="those with one of these words in their names; all by default")
    options = parser.parse_args()
    with scratch() as folder:
        tempfile.tempdir = str(folder)
        try:
            with site(folder) as url:
                slow = measure(url, options.players, options.rounds, options.only)
        except pytest.skip.Exception as missing:
            print(f"not measured: {missing}")
            return 0
    print(f"slower than {LONG_MS} ms: {', '.join(slow) or 'none'}")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
