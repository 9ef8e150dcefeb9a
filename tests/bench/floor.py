"""The floor: the calls that players got in a run, sent again by a bare aiohttp loop, with nothing around them.

Same bodies, same order, same concurrency: a round's announcements to all at once; its matches at once, and within
each two invitations at once, two choices, two GAME_OVER; then table and end of round to all at once.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import httpx

from league_sdk.protocol import rpc
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.protocol.tokens import REDACTED
from tests.bench.processes import LEAGUE, Bench

Call = tuple[str, bytes]
"""An address and a body."""
Step = list[list[list[Call]]]
"""What runs at the same time: each a list of what is sent one after the other, mostly in pairs."""
HEADERS = {"Content-Type": "application/json"}


class Script:
    """Everything that went to the players in a run, from the site's own record of it."""

    def __init__(self, bench: Bench) -> None:
        agents = bench.rows("SELECT id, code, endpoint FROM agents_registry_agent WHERE league_id = ?", LEAGUE)
        self._by_code = {code: endpoint for _, code, endpoint in agents}
        self._by_pk = {pk: endpoint for pk, _, endpoint in agents}
        self.calls = 0
        self.transcripts: list[list[Any]] = []
        """Of the matches, in their order."""
        matches = self._matches(bench)
        broadcasts = self._broadcasts(bench)
        self.steps: list[tuple[bool, Step]] = []
        """In their order; true for the matches of a round."""
        for number in sorted(matches):
            self.steps.append((False, broadcasts[number, "ROUND_ANNOUNCEMENT"]))
            self.steps.append((True, matches[number]))
            tables, ends = (broadcasts[number, kind] for kind in ("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"))
            told = [[[table], [end]] for ((table,),), ((end,),) in zip(tables, ends, strict=True)]
            self.steps.append((False, told))
        self.steps.append((False, broadcasts[None, "LEAGUE_COMPLETED"]))

    def _call(self, endpoint: str, message: dict[str, Any]) -> Call:
        self.calls += 1
        # The record has no tokens; one of the same length stands in.
        body = rpc.dumps(rpc.call(METHODS[MessageType(message["message_type"])], message, self.calls))
        return endpoint, body.replace(REDACTED.encode(), f"tok_{secrets.token_hex(16)}".encode())

    def _matches(self, bench: Bench) -> dict[int, Step]:
        """Round by round: a match is three pairs, one after the other."""
        rows = bench.rows(
            "SELECT r.number, m.id, x.entry FROM matches_message x JOIN matches_match m ON m.id = x.match_id "
            "JOIN matches_round r ON r.id = m.round_id ORDER BY r.number, m.id, x.n"
        )
        sent: dict[tuple[int, int], list[Call]] = defaultdict(list)
        for number, match, text in rows:
            entry = json.loads(text)
            if (number, match) not in sent:
                self.transcripts.append([])
            self.transcripts[-1].append(entry)
            if entry["method"]:
                sent[number, match].append(self._call(self._by_code[entry["recipient"]], entry["body"]))
        found: dict[int, Step] = defaultdict(list)
        for (number, _), calls in sent.items():
            found[number].append([calls[i : i + 2] for i in range(0, len(calls), 2)])
        return found

    def _broadcasts(self, bench: Bench) -> dict[Any, Step]:
        """By round and type: to each player one call."""
        rows = bench.rows(
            "SELECT b.round_number, b.message_type, b.payload, d.agent_id FROM matches_delivery d "
            "JOIN matches_broadcast b ON b.id = d.broadcast_id ORDER BY d.agent_id, d.id"
        )
        found: dict[Any, Step] = defaultdict(list)
        for number, kind, payload, agent in rows:
            if agent in self._by_pk:
                message = json.loads(payload) | {"auth_token": REDACTED}
                found[number, kind].append([[self._call(self._by_pk[agent], message)]])
        return found

    async def play(self) -> float:
        """Send it all once; the seconds it took."""
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, headers=HEADERS) as session:

            async def post(call: Call) -> None:
                async with session.post(call[0], data=call[1]) as reply:
                    await reply.read()

            return await self._send(post)

    async def play_by_httpx(self) -> float:
        """The same by httpx as it comes, one client for all; the seconds it took."""
        async with httpx.AsyncClient(headers=HEADERS, trust_env=False) as client:

            async def post(call: Call) -> None:
                await client.post(call[0], content=call[1])

            return await self._send(post)

    async def _send(self, post: Callable[[Call], Awaitable[None]]) -> float:
        async def strand(pairs: list[list[Call]]) -> None:
            for pair in pairs:
                await asyncio.gather(*map(post, pair))

        begun = time.perf_counter()
        for _, step in self.steps:
            await asyncio.gather(*map(strand, step))
        return time.perf_counter() - begun
