"""What MCP costs in processor time: calls of the site by a client, players that are MCP servers, and subscriptions.

``python -m tests.bench.mcp``. Each figure is the median of pairs that are measured in turn.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import httpx

from league_sdk.mcp.versions import META_CAPABILITIES, META_VERSION, STATELESS_VERSIONS
from league_sdk.protocol import rpc
from tests.bench.__main__ import play, play_in_turn
from tests.bench.audience import Audience
from tests.bench.part import command_line, scratch, sockets
from tests.bench.processes import LEAGUE, Bench, running
from tests.bench.queries import UNLIMITED, register, standings_query

PLAYERS, SUBSCRIPTIONS, PAIRS, CALLS = 30, 200, 7, 300
MCP_PLAYERS = 18
"""How many players a league has in which all players are MCP servers."""
MCP_CLIENTS = 4
"""How many clients share the subscriptions: the site does not allow one client to have all of them."""
HANDSHAKE = "2025-11-25"
MAX_RATIOS = {"calls": 1.3, "players": 1.3, "subscriptions": 1.0}
"""How many times the processor time of the same work without MCP each kind may take."""


class Asker:
    """Asks the site for the table in three ways, over one connection that stays open."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._plain = standings_query(bench)
        params = self._plain["params"]
        self._token = params["auth_token"]
        self._arguments = {"league_id": LEAGUE, "query_type": "GET_STANDINGS"}
        self._http = httpx.Client(
            base_url=bench.url,
            trust_env=False,
            timeout=60,
            headers={"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {self._token}"},
        )
        opened = self._post(
            rpc.call("initialize", {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT_INFO}, 1)
        )
        self._session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": HANDSHAKE}
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, self._session)

    def _post(self, body: dict[str, Any], headers: dict[str, str] | None = None) -> httpx.Response:
        return self._http.post("/mcp", json=body, headers=headers or {}).raise_for_status()

    def plain(self) -> None:
        """Make one call of league.v2."""
        assert self._post(self._plain).json()["result"]["data"]["standings"]

    def stateless(self) -> None:
        """Make one ``tools/call`` as MCP 2026-07-28 has it, without a session."""
        version = STATELESS_VERSIONS[0]
        meta = {META_VERSION: version, META_CAPABILITIES: {}}
        headers = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "league_query"}
        self._read_table(rpc.call("tools/call", self._call | {"_meta": meta}, 1), headers)

    def in_session(self) -> None:
        """Make one ``tools/call`` in a session."""
        self._read_table(rpc.call("tools/call", self._call, 1), self._session)

    @property
    def _call(self) -> dict[str, Any]:
        return {"name": "league_query", "arguments": self._arguments}

    def _read_table(self, body: dict[str, Any], headers: dict[str, str]) -> None:
        assert self._post(body, headers).json()["result"]["structuredContent"]["data"]["standings"]

    def cost_s(self, ask: Callable[[], None]) -> float:
        """Make CALLS calls; returns the processor seconds that the site used for them."""
        before = self._bench.host.cpu_s()
        for _ in range(CALLS):
            ask()
        return self._bench.host.cpu_s() - before


CLIENT_INFO = {"name": "bench", "version": "1"}


def calls(folder: Path, pairs: int) -> dict[str, list[float]]:
    """The ratios of processor time, a call by MCP to one of league.v2, by the way it is made."""
    ratios: dict[str, list[float]] = {"stateless": [], "in_session": []}
    with running(folder, PLAYERS) as bench:
        asyncio.run(play(bench, Audience(0)))
        asker = Asker(bench)
        for number in range(-1, pairs):
            plain = asker.cost_s(asker.plain)
            turn = {way: asker.cost_s(getattr(asker, way)) / plain for way in ratios}
            # The first turn warms up and is not counted.
            if number >= 0:
                for way, ratio in turn.items():
                    ratios[way].append(ratio)
    return ratios


def players(folder: Path, pairs: int) -> list[float]:
    """The ratios of processor time (host and referees), leagues of MCP servers to leagues of plain players."""
    runs = play_in_turn(folder, MCP_PLAYERS, ("plain", "mcp"), pairs)
    used = {kind: [run["cpu_s"]["host"] + run["cpu_s"]["referees"] for run in of] for kind, of in runs.items()}
    return [mcp / plain for mcp, plain in zip(used["mcp"], used["plain"], strict=True)]


class Subscribers(Audience):
    """Clients of MCP that are subscribed to the table of a league, and ask for nothing else."""

    def __init__(self, count: int, league: str, tokens: list[str]) -> None:
        super().__init__(count, league)
        self._count, self._tokens, self._open = count, tokens, 0
        self._opening = asyncio.Semaphore(20)
        self.updates = 0

    async def _listen(self, session: aiohttp.ClientSession, url: str, token: str) -> None:
        version = STATELESS_VERSIONS[0]
        notifications = {"resourceSubscriptions": [f"league://{self._league}/standings"]}
        meta = {META_VERSION: version, META_CAPABILITIES: {}}
        headers = {
            "MCP-Protocol-Version": version,
            "Mcp-Method": "subscriptions/listen",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {token}",
        }
        body = rpc.call("subscriptions/listen", {"notifications": notifications, "_meta": meta}, 1)
        async with AsyncExitStack() as stack:
            # At most 20 are opened at once: the site's queue of requests does not hold two hundred.
            async with self._opening:
                stream = await stack.enter_async_context(session.post(url, json=body, headers=headers))
            stream.raise_for_status()
            async for line in stream.content:
                self._open += b"subscriptions/acknowledged" in line
                self.updates += b"notifications/resources/updated" in line

    @asynccontextmanager
    async def watching(self, bench: Bench) -> AsyncIterator[None]:
        """Open the streams, and close them at the end."""
        listen = partial(self._listen, url=f"{bench.url}/mcp")
        watches = [partial(listen, token=self._tokens[n % len(self._tokens)]) for n in range(self._count)]
        async with sockets(bench.url, watches, lambda: self._open >= self._count):
            yield
        if not self.updates:
            raise RuntimeError("no subscriber received an update")


def subscriptions(folder: Path, pairs: int) -> list[float]:
    """The ratios of the host's processor time, leagues with SUBSCRIPTIONS subscriptions to leagues with browsers."""
    leagues = {f"{kind}_{number}": "plain" for number in range(pairs + 1) for kind in ("browsers", "subscriptions")}
    used: dict[str, list[float]] = {"browsers": [], "subscriptions": []}
    with running(folder, PLAYERS, leagues) as bench:
        tokens = [register(bench, 20_001 + number)["auth_token"] for number in range(MCP_CLIENTS)]
        for league in leagues:
            kind = league.partition("_")[0]
            browsers = kind == "browsers"
            audience = Audience(SUBSCRIPTIONS, league) if browsers else Subscribers(SUBSCRIPTIONS, league, tokens)
            run = asyncio.run(play(bench, audience, league))
            used[kind] += [] if league.endswith("_0") else [run["cpu_s"]["host"]]
    return [one / other for one, other in zip(used["subscriptions"], used["browsers"], strict=True)]


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = command_line("mcp", __doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    pairs = parser.parse_args().pairs
    os.environ["LEAGUE_CALLS_PER_TOKEN"] = UNLIMITED
    good = True
    for name, measure in (("calls", calls), ("players", players), ("subscriptions", subscriptions)):
        with scratch() as folder:
            found = measure(folder, pairs)
        for way, ratios in found.items() if isinstance(found, dict) else [(name, found)]:
            ratio = statistics.median(ratios)
            each = ", ".join(f"{one:.2f}" for one in ratios)
            print(f"{name} ({way}): {ratio:.2f} times the other, at most {MAX_RATIOS[name]} ({each})", flush=True)
            good = good and ratio <= MAX_RATIOS[name]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
