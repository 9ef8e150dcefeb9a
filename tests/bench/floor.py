"""The floor: the calls that players got in a run, sent again by a bare aiohttp loop, without the site.

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
"""Sequences that are sent side by side. The groups of a sequence go out in order, the calls of a group together."""
HEADERS = {"Content-Type": "application/json"}


class Script:
    """Every message that the site sent to the players in a run, as the site recorded it."""

    def __init__(self, bench: Bench) -> None:
        agents = bench.rows("SELECT id, code, endpoint FROM agents_registry_agent WHERE league_id = ?", LEAGUE)
        self._by_code = {code: endpoint for _, code, endpoint in agents}
        self._by_pk = {pk: endpoint for pk, _, endpoint in agents}
        self.calls = 0
        self.transcripts: list[list[Any]] = []
        """The transcript of each match, in the order of the matches."""
        matches = self._matches(bench)
        broadcasts = self._broadcasts(bench)
        self.steps: list[tuple[bool, Step]] = []
        """The steps in order, each with a flag: true for the matches of a round, false for broadcasts."""
        for number in sorted(matches):
            self.steps.append((False, broadcasts[number, "ROUND_ANNOUNCEMENT"]))
            self.steps.append((True, matches[number]))
            tables, ends = (broadcasts[number, kind] for kind in ("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"))
            updates = [[[table], [end]] for ((table,),), ((end,),) in zip(tables, ends, strict=True)]
            self.steps.append((False, updates))
        self.steps.append((False, broadcasts[None, "LEAGUE_COMPLETED"]))

    def _call(self, endpoint: str, message: dict[str, Any]) -> Call:
        self.calls += 1
        # The record has no tokens; a random one of the same length takes its place.
        body = rpc.dumps(rpc.call(METHODS[MessageType(message["message_type"])], message, self.calls))
        return endpoint, body.replace(REDACTED.encode(), f"tok_{secrets.token_hex(16)}".encode())

    def _matches(self, bench: Bench) -> dict[int, Step]:
        """The matches by round; a match is three pairs of calls, one after the other."""
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
        by_round: dict[int, Step] = defaultdict(list)
        for (number, _), calls in sent.items():
            by_round[number].append([calls[i : i + 2] for i in range(0, len(calls), 2)])
        return by_round

    def _broadcasts(self, bench: Bench) -> dict[Any, Step]:
        """The broadcasts by round and type: one call to each player."""
        rows = bench.rows(
            "SELECT b.round_number, b.message_type, b.payload, d.agent_id FROM matches_delivery d "
            "JOIN matches_broadcast b ON b.id = d.broadcast_id ORDER BY d.agent_id, d.id"
        )
        by_round_and_type: dict[Any, Step] = defaultdict(list)
        for number, kind, payload, agent in rows:
            if agent in self._by_pk:
                message = json.loads(payload) | {"auth_token": REDACTED}
                by_round_and_type[number, kind].append([[self._call(self._by_pk[agent], message)]])
        return by_round_and_type

    async def play(self) -> float:
        """Send all calls once; returns the seconds it took."""
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, headers=HEADERS) as session:

            async def post(call: Call) -> None:
                async with session.post(call[0], data=call[1]) as reply:
                    await reply.read()

            return await self._send(post)

    async def play_by_httpx(self) -> float:
        """Send all calls once by httpx, with one client and its default settings; returns the seconds it took."""
        async with httpx.AsyncClient(headers=HEADERS, trust_env=False) as client:

            async def post(call: Call) -> None:
                await client.post(call[0], content=call[1])

            return await self._send(post)

    async def _send(self, post: Callable[[Call], Awaitable[None]]) -> float:
        async def send_in_order(pairs: list[list[Call]]) -> None:
            for pair in pairs:
                await asyncio.gather(*map(post, pair))

        begun = time.perf_counter()
        for _, step in self.steps:
            await asyncio.gather(*map(send_in_order, step))
        return time.perf_counter() - begun
