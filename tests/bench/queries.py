"""How many LEAGUE_QUERY calls the site answers, beside a minimal FastAPI on uvicorn that reads the same rows.

``python -m tests.bench.queries``. A league is played to its end; then the table is asked for at ``/mcp`` of the site
(``manage.py host``) and of ``tests.bench.minimal``, in turn. The result is the median of the ratios of these pairs.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import httpx

from league_sdk.protocol import rpc
from tests import wire
from tests.bench.part import command_line, scratch
from tests.bench.processes import LEAGUE, Bench, Process, running
from tests.bots import words
from tests.e2e.site import free_port, wait_for

PLAYERS = 30
PAIRS = 7
CONNECTIONS = 4
CALLS = 250
"""Calls of each connection, for one figure."""
UNLIMITED = "1000000 per 1 second"
"""Lifts the limit of calls per token, which would otherwise be what is measured."""
PATIENCE_S = 600.0


def register(bench: Bench, port: int) -> dict[str, Any]:
    """Register an agent that waits in the lobby; returns the answer."""
    request = wire.request("register_player", wire.player_request(f"Asker {port}", port=port))
    answer: dict[str, Any] = httpx.post(f"{bench.url}/mcp", json=request, trust_env=False, timeout=60).json()["result"]
    return answer


def standings_query(bench: Bench) -> dict[str, Any]:
    """The call that is measured, with the token of an agent in the lobby."""
    answer = register(bench, 20_000)
    return rpc.call(
        "league_query",
        words.message(
            "LEAGUE_QUERY",
            f"player:{answer['player_id']}",
            "conv-bench",
            auth_token=answer["auth_token"],
            league_id=LEAGUE,
            query_type="GET_STANDINGS",
        ),
        1,
    )


async def rate(port: int, call: dict[str, Any], connections: int, calls: int) -> float:
    """Answered calls a second over connections that stay open."""
    body = rpc.dumps(call)
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(calls):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
            content = await reader.readexactly(int(fields[b"content-length"]))
            if not head.startswith(b"HTTP/1.1 200") or b'"standings"' not in content:
                raise RuntimeError(f"no table in the answer: {head!r} {content[:300]!r}")
        writer.close()
        await writer.wait_closed()

    begun = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(connections)))
    return connections * calls / (time.perf_counter() - begun)


def check_same_table(bench: Bench, port: int, call: dict[str, Any]) -> None:
    """Check that site and minimal server give the same table.

    Raises:
        RuntimeError: they give different tables.
    """
    answers = [
        httpx.post(f"http://127.0.0.1:{one}/mcp", json=call, trust_env=False, timeout=60).json()["result"]["data"]
        for one in (bench.port, port)
    ]
    if answers[0] != answers[1]:
        raise RuntimeError(f"two different tables: {json.dumps(answers)[:1000]}")


def measure(bench: Bench, folder: Path, pairs: int) -> list[tuple[float, float]]:
    """Calls a second of the site and of the minimal server: one pair of figures for each turn."""
    bench.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
    bench.wait_until(LEAGUE, "COMPLETED", PATIENCE_S)
    call, port = standings_query(bench), free_port()
    database = str(folder / "data" / "league.sqlite3")
    minimal = Process("minimal", folder / "minimal.log", "-m", "tests.bench.minimal", str(port), database)
    try:

        def answers() -> bool:
            minimal.says("")
            try:
                return httpx.post(f"http://127.0.0.1:{port}/mcp", json=call, trust_env=False).status_code == 200
            except httpx.TransportError:
                return False

        wait_for("the minimal server answers", answers)
        check_same_table(bench, port, call)
        rates = []
        for number in range(-1, pairs):
            pair = tuple(asyncio.run(rate(one, call, CONNECTIONS, CALLS)) for one in (bench.port, port))
            # The first pair warms up both and is not counted.
            if number >= 0:
                rates.append(pair)
                print(f"site {pair[0]:6.0f}/s   minimal {pair[1]:6.0f}/s   ratio {pair[0] / pair[1]:.2f}", flush=True)
        return rates
    finally:
        minimal.stop()


def main() -> None:
    """Measure and print."""
    parser = command_line("queries", __doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--players", type=int, default=PLAYERS)
    options = parser.parse_args()
    os.environ["LEAGUE_CALLS_PER_TOKEN"] = UNLIMITED
    with scratch() as folder, running(folder, options.players) as bench:
        rates = measure(bench, folder, options.pairs)
    ratio = statistics.median(site / minimal for site, minimal in rates)
    print(f"LEAGUE_QUERY: {ratio:.2f} times the rate of a minimal FastAPI, median of {len(rates)} pairs")


if __name__ == "__main__":
    main()
