"""How long a student's ping and the instructor's desk wait while a neighbour asks for one public page over and over.

``python -m tests.bench.neighbours``. The registration of a league is closed, which makes its whole schedule. Then each
of the most expensive public queries and pages is asked for in several loops from another address, one kind after the
other, while a student pings and the instructor opens the desk.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from tests import wire
from tests.bench.part import command_line, percentiles, scratch
from tests.bench.processes import PATIENCE_S, Bench, running_site
from tests.e2e.site import PASSWORD, wait_for

LEAGUE = "crowd"
PLAYERS = 600
LOOPS = 6
"""How many loops the neighbour runs at once."""
MEASURED_S = 5.0
"""How long each kind of request is asked for."""
PING_AIM_MS, DESK_AIM_MS = 250, 1000
STUDENT, NEIGHBOUR = "127.0.0.2", "127.0.0.3"
GAP_S = 0.05
"""The pause between two pings, and between two requests for the desk."""

Ask = Callable[[httpx.AsyncClient], Awaitable[httpx.Response]]


def query(method: str, **params: Any) -> Ask:
    """A query at ``/mcp`` without a token."""
    request = wire.request(method, {"league_id": LEAGUE, **params})
    return lambda client: client.post("/mcp", json=request)


def page(path: str) -> Ask:
    """A page, or a URL of the API; ``{league}`` in the path stands for the league."""
    return lambda client: client.get(path.format(league=LEAGUE))


REQUESTS: dict[str, Ask] = {
    "nothing": lambda client: client.get("/health"),
    "get_standings": query("get_standings"),
    "get_schedule": query("get_schedule"),
    "get_next_match": query("get_next_match", player_id="P01"),
    "get_player_stats": query("get_player_stats", player_id="P01"),
    "/api/…/standings": page("/api/leagues/{league}/standings"),
    "/api/…/rounds": page("/api/leagues/{league}/rounds"),
    "/api/…/matches": page("/api/leagues/{league}/matches"),
    "/api/…/ledger": page("/api/leagues/{league}/ledger"),
    "board": page("/leagues/{league}/"),
    "charts": page("/leagues/{league}/charts/"),
    "screen": page("/leagues/{league}/screen/"),
    "replay": page("/leagues/{league}/replay/"),
    "a player's page": page("/leagues/{league}/players/P01/"),
}


def fill(bench: Bench, players: int) -> float:
    """Fill a league and close its registration; returns the seconds until its whole schedule was made."""
    bench.create(LEAGUE)
    for number in range(players):
        request = wire.player_request(f"Crowd {number}", port=20_000 + number, league_id=LEAGUE)
        answer = bench.http.post("/mcp", json=wire.request("register_player", request)).json()
        if answer["result"]["status"] != "ACCEPTED":
            raise RuntimeError(f"a player was not accepted: {answer}")
    begun = time.perf_counter()
    bench.post(f"/leagues/{LEAGUE}/close")
    # The database is asked and not the site, so that the wait does not slow the site down.
    count = "SELECT count(*) FROM matches_match WHERE league_id = ?"
    all_pairs = [(players * (players - 1) // 2,)]
    wait_for("the schedule is made", lambda: bench.rows(count, LEAGUE) == all_pairs, PATIENCE_S)
    return time.perf_counter() - begun


async def log_in(client: httpx.AsyncClient, password: str) -> None:
    """Log the client in as the instructor."""
    form = await client.get("/admin/login/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.text)
    if token is None:
        raise RuntimeError("the login page has no form")
    sent = {"username": "instructor", "password": password, "csrfmiddlewaretoken": token[1]}
    answer = await client.post("/admin/login/", data=sent, headers={"Referer": str(form.url)})
    if answer.status_code != 302:
        raise RuntimeError(f"the login was refused: {answer.status_code}")


async def response_times_ms(client: httpx.AsyncClient, ask: Ask, until: float) -> list[float]:
    """Ask again and again until a time; returns how long each answer took, in milliseconds."""
    times_ms = []
    while time.perf_counter() < until:
        begun = time.perf_counter()
        answer = await ask(client)
        times_ms.append(1000 * (time.perf_counter() - begun))
        if answer.status_code != 200:
            raise RuntimeError(f"{answer.url} was answered with {answer.status_code}: {answer.text[:300]}")
        await asyncio.sleep(GAP_S)
    return times_ms


async def neighbour(url: str, ask: Ask, until: float) -> Counter[int]:
    """Run the neighbour's loops until a time; returns how often each HTTP status was answered."""
    statuses: Counter[int] = Counter()

    async def loop() -> None:
        # verify=False: reading the CA certificates would take 30 ms of this process, and delay the measured pings.
        transport = httpx.AsyncHTTPTransport(local_address=NEIGHBOUR, verify=False)
        async with httpx.AsyncClient(base_url=url, transport=transport, timeout=120) as client:
            while time.perf_counter() < until:
                statuses[(await ask(client)).status_code] += 1

    await asyncio.gather(*(loop() for _ in range(LOOPS)))
    return statuses


async def measure(bench: Bench, names: list[str], for_s: float) -> int:
    """Print a line for each kind of request; returns how many of them missed an aim."""
    over = 0
    transport = httpx.AsyncHTTPTransport(local_address=STUDENT)
    student = httpx.AsyncClient(base_url=bench.url, transport=transport, timeout=120)
    instructor = httpx.AsyncClient(base_url=bench.url, trust_env=False, timeout=120)
    async with student, instructor:
        await log_in(instructor, PASSWORD)
        for name in names:
            until = time.perf_counter() + for_s
            pings, desks, statuses = await asyncio.gather(
                response_times_ms(student, query("ping"), until),
                response_times_ms(instructor, page("/admin/matches/league/{league}/change/"), until),
                neighbour(bench.url, REQUESTS[name], until),
            )
            ping, desk = percentiles(pings), percentiles(desks)
            over += ping["p99"] > PING_AIM_MS or desk["p99"] > DESK_AIM_MS
            print(
                f"{name:18} ping p50 {ping['p50']:5.0f} p99 {ping['p99']:5.0f} max {ping['max']:5.0f} ms   "
                f"desk p50 {desk['p50']:5.0f} p99 {desk['p99']:5.0f} max {desk['max']:5.0f} ms   "
                f"answers {dict(statuses)}",
                flush=True,
            )
    return over


def main() -> None:
    """Measure and print."""
    parser = command_line("neighbours", __doc__)
    parser.add_argument("--players", type=int, default=PLAYERS)
    parser.add_argument("--seconds", type=float, default=MEASURED_S)
    parser.add_argument("requests", nargs="*", choices=[*REQUESTS, []], help="all by default")
    options = parser.parse_args()
    os.environ["LEAGUE_REGISTRATIONS_PER_ADDRESS"] = "1000000 per 1 second"
    with scratch() as folder, running_site(folder) as bench:
        print(f"closing a league of {options.players}: {fill(bench, options.players):.1f} s", flush=True)
        over = asyncio.run(measure(bench, options.requests or list(REQUESTS), options.seconds))
        aims = f"a ping waiting for over {PING_AIM_MS} ms or the desk for over {DESK_AIM_MS} ms (p99)"
        print(f"{over} kinds of requests kept {aims}")


if __name__ == "__main__":
    main()
