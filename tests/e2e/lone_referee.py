"""A referee process, and a league manager within the test that only records what the referee sends."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from league_sdk.protocol import rpc, tokens
from league_sdk.protocol.league_settings import LeagueSettings
from tests.bots.base import listening
from tests.bots.hostile.base import OWN
from tests.e2e.site import ROOT, free_port

LEAGUE_TOKEN = "tok_" + "e" * 32


class League:
    """A league manager that only records what its referee sends."""

    def __init__(self) -> None:
        self.results: dict[str, dict[str, Any]] = {}
        self.reports: list[str] = []
        """The match_id of each report, in order: twice for a match that was reported twice."""
        self.heartbeats: dict[str, list[float]] = {}
        """For each match_id, the times of the heartbeats that named it, in monotonic seconds."""
        self.handed_back: list[dict[str, Any]] = []
        self.transcript: list[dict[str, Any]] = []
        """The transcript entries of all matches, as heartbeats sent them."""
        self.changed = asyncio.Event()
        self.endpoint = ""

    async def mcp(self, request: web.Request) -> web.Response:
        """Record a call of the referee, and answer it."""
        body = rpc.loads(await request.read())
        fields = body["params"]
        answer: dict[str, Any] = {"status": "ok", "matches": []}
        if "referee_meta" in fields:
            self.endpoint = fields["referee_meta"]["contact_endpoint"]
            answer = {"status": "ACCEPTED", "referee_id": "REF01", "auth_token": "tok_" + "d" * 32}
            answer["league_token"] = LEAGUE_TOKEN
        elif "matches" in fields:
            for one in fields["matches"]:
                self.transcript += one["transcript"]
                self.heartbeats.setdefault(one["match_id"], []).append(time.monotonic())
            self.handed_back += [one for one in fields["matches"] if one["state"] == "HANDED_BACK"]
        else:
            self.results[fields["match_id"]] = fields
            self.reports.append(fields["match_id"])
        self.changed.set()
        return web.json_response(rpc.result(body["id"], answer))


def seat(player: str, url: str) -> dict[str, Any]:
    """The fields of one player in a ``start_match``."""
    return {
        "id": player,
        "endpoint": url,
        "dialect": "canonical",
        "league_token": "tok_" + "1" * 32,
        "auth_token_sha256": [tokens.digest(OWN)],
        "your_standings": {},
    }


class LoneReferee:
    """The ordinary referee as a process, without a site."""

    def __init__(
        self, league: League, referee: subprocess.Popen[str], session: aiohttp.ClientSession, max_matches: int
    ) -> None:
        self.league = league
        self.referee = referee
        self.session = session
        self.room = asyncio.Semaphore(max_matches)
        """For callers that play several matches at once: one for each match that may be in play."""
        self.numbers = itertools.count(1)
        self.labels: dict[str, str] = {}
        """The label of each match, by match_id."""

    async def _start(self, fields: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {LEAGUE_TOKEN}"}
        body = rpc.call("start_match", fields, 1)
        async with self.session.post(self.league.endpoint, json=body, headers=headers) as reply:
            answer = await reply.json()
        result: dict[str, Any] = answer.get("result", answer)
        return result

    async def play(self, first: str, second: str, label: str = "", **settings: Any) -> str:
        """Give a match to the referee and wait for its end; returns its id.

        Args:
            first: the URL of player A.
            second: the URL of player B.
            label: a word for the caller's statistics.
            settings: those of the match's league.
        """
        match = f"R1M{next(self.numbers)}"
        self.labels[match] = label
        fields = self.start_of(match, first, second, **settings)
        # The referee reports a match a little before it has room for the next one.
        while not (answer := await self._start(fields)).get("accepted"):
            if "matches already" not in str(answer):
                raise RuntimeError(f"the referee does not take {match}: {answer}")
            await asyncio.sleep(0.05)
        while match not in self.league.results and not any(o["match_id"] == match for o in self.league.handed_back):
            self.league.changed.clear()
            await self.league.changed.wait()
        return match

    def start_of(self, match: str, first: str, second: str, **settings: Any) -> dict[str, Any]:
        """The fields of a ``start_match``."""
        return {
            "auth_token": LEAGUE_TOKEN,
            "league_id": "bench",
            "round_id": 1,
            "match_id": match,
            "attempt": 1,
            "game_type": "even_odd",
            "conversation_id": f"conv-{match}",
            "settings": LeagueSettings(**settings).for_referee(),
            "player_A": seat("P01", first),
            "player_B": seat("P02", second),
        }

    def memory_mb(self) -> float:
        """The referee's resident memory in megabytes."""
        text = Path(f"/proc/{self.referee.pid}/status").read_text()
        return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def child(*command: str, **options: Any) -> subprocess.Popen[str]:
    """A process that ends when its standard input does."""
    return subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
    )


@asynccontextmanager
async def refereed(log: Path, *, max_matches: int = 60) -> AsyncIterator[LoneReferee]:
    """A league manager with one registered referee; ``max_matches`` is how many matches a caller may play at once."""
    league = League()
    options = ("--port", str(free_port()), "--name", "bench", "--max-concurrent", "64", "--exit-with-parent")
    async with listening(league.mcp) as url, aiohttp.ClientSession() as session:
        with log.open("w") as output:
            referee = child("-m", "league_sdk.judging", "--league", url, *options, stderr=output)
        try:
            # The referee prints this line once it accepts matches.
            line = await asyncio.to_thread(referee.stdout.readline)  # type: ignore[union-attr]
            if not league.endpoint:
                raise RuntimeError(f"the referee did not register: {line!r}, see {log}")
            yield LoneReferee(league, referee, session, max_matches)
        finally:
            end(referee)


def end(process: subprocess.Popen[str]) -> str:
    """End a child by closing its standard input; returns the rest of what it printed."""
    rest, _ = process.communicate(timeout=30)
    return rest
