"""One league of 1,000 players that are called and 1,000 that dial out, on PostgreSQL and Redis.

``python -m tests.bench.crowd``. Half of those that dial out hold a WebSocket, half poll. All register; the schedule of
two million matches is written into the database, and some rounds are played, of 1,000 matches each. Then the messages
of each type are counted that each player was sent, and pages are opened. Of each step are printed the time, and the
processor time of each part: what else the machine does makes only the first much longer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from tests.bench import rows
from tests.bench.deployed import Deployed, deployed, load, playing
from tests.bench.part import command_line, scratch, within
from tests.e2e.site import wait_for

LEAGUE = "crowd"
PLAYERS, ROUNDS, REFEREES, MATCHES_AT_ONCE = 2000, 2, 4, 256
KINDS = ("plain", "called", "websocket", "poll")
"""A quarter of the players is of each kind; the first two are called."""
LIMIT_S = 3600.0
EACH_ROUND = (
    *("ROUND_ANNOUNCEMENT", "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"),
    *("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"),
)
"""What each player is sent in a round."""
ENDS = "SELECT status, attempt, count(*) FROM matches_match WHERE finished_at IS NOT NULL GROUP BY 1, 2"
PAGES = ("/leagues/{}/", "/leagues/{}/players/P01/", "/leagues/{}/charts/", "/api/leagues/{}/standings")


@contextmanager
def step(bench: Deployed, name: str, of: int, unit: str) -> Iterator[None]:
    """Print what a step took, in all and for each of ``of`` units."""
    before, begun = bench.cpu_s(), time.perf_counter()
    yield
    wall, used = time.perf_counter() - begun, bench.used_s(before)
    each = ", ".join(f"{part} {1000 * value / of:.3g}" for part, value in used.items())
    print(f"{name}: {wall:.1f} s ({load()}); ms of processor for each of {of} {unit}: {each}", flush=True)


def not_told(where: list[str], rounds: int, players: int) -> dict[str, int]:
    """How many messages of each type are missing, of those that every player must be sent."""
    received = [sent for url in where for sent in httpx.get(url, trust_env=False, timeout=60).json().values()]
    received += [{}] * (players - len(received))
    lacking = {name: sum(max(0, rounds - sent.get(name, 0)) for sent in received) for name in EACH_ROUND}
    return {name: count for name, count in lacking.items() if count}


def play(bench: Deployed, number: int) -> None:
    """Start a round, and return when it is over and every message of it was delivered or given up."""
    bench.post(f"/leagues/{LEAGUE}/start", {"auto_advance": False})
    over = "SELECT state FROM matches_round WHERE league_id = %s AND number = %s"
    wait_for("the round is over", lambda: bench.rows(over, LEAGUE, number) == [("COMPLETED",)], LIMIT_S)
    waiting = "SELECT count(*) FROM matches_delivery WHERE state = 'PENDING'"
    wait_for("all messages are delivered", lambda: bench.rows(waiting) == [(0,)], LIMIT_S)


def measure(bench: Deployed, players: int, rounds: int) -> int:
    """Print the figures; returns how many messages and results are missing."""
    bench.create(LEAGUE)
    bench.let_in(LEAGUE)
    with ExitStack() as stack:
        where, each = [], players // len(KINDS)
        for kind in KINDS:
            with step(bench, f"registration of {kind}", each, "players"):
                where.append(stack.enter_context(playing(bench, each, f"{LEAGUE}={kind}"))[1])
        with bench.writing() as database:
            rows.schedule(database, LEAGUE)
        print(f"the schedule is written; database: {bench.database_mb():.0f} MB", flush=True)
        for number in range(1, rounds + 1):
            with step(bench, f"round {number}", players // 2, "matches"):
                play(bench, number)
            ends = bench.rows(ENDS)
            states = dict(bench.rows("SELECT state, count(*) FROM matches_delivery GROUP BY 1"))
            lacking = not_told(where, number, players)
            print(f"  results by end and attempt: {ends}; deliveries {states}; not received: {lacking}", flush=True)
            memory = ", ".join(f"{part} {mb:.0f}" for part, mb in bench.memory_mb().items())
            print(f"  MB of memory: {memory}; database {bench.database_mb():.0f} MB", flush=True)
        for page in PAGES:
            with step(bench, page, 1, "page"):
                size = len(bench.http.get(page.format(LEAGUE)).raise_for_status().content)
            print(f"  {size / 1000:.0f} kB", flush=True)
    bad = sum(count for status, attempt, count in ends if status not in ("WIN", "DRAW") or attempt != 1)
    return bad + sum(lacking.values())


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = command_line("crowd", __doc__)
    parser.add_argument("--players", type=within(8, 4000), default=PLAYERS)
    parser.add_argument("--rounds", type=within(1, 3), default=ROUNDS, help="1 to 3")
    options = parser.parse_args()
    with scratch() as folder:
        try:
            with deployed(folder, referees=REFEREES, matches_at_once=MATCHES_AT_ONCE) as bench:
                wrong = measure(bench, options.players, options.rounds)
        except pytest.skip.Exception as missing:
            print(f"not measured: {missing}")
            return 0
    print(f"{wrong} results or messages are missing")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
