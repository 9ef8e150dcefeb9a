"""The audience: so many open sockets on the board, each acknowledging what it gets, with the time it got it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial

import aiohttp

from tests.bench.part import ACK, sockets
from tests.bench.processes import LEAGUE, Bench

# A finished match in the list of results, or in the current round when a round ended at a stroke.
SHOWN = re.compile(r'<li id="(?:result|match)-([^"]+)" class="line"[^>]*\bdata-result=')


class Audience:
    """What the sockets have seen.

    Attributes:
        seen: by socket, when each finished match was first shown to it (seconds since 1970).
        frames, bytes: everything received.
    """

    def __init__(self, sockets: int) -> None:
        self.seen: list[dict[str, float]] = [{} for _ in range(sockets)]
        self.frames = 0
        self.bytes = 0
        self._read: dict[str, list[str]] = {}
        self._ready = 0

    async def _watch(self, session: aiohttp.ClientSession, url: str, seen: dict[str, float]) -> None:
        async with session.ws_connect(url, max_msg_size=0) as socket:
            async for message in socket:
                now = time.time()
                text = str(message.data)
                for match_id in self._finished_in(text):
                    seen.setdefault(match_id, now)
                if not text.startswith('{"type": "heartbeat"'):
                    self._ready += text.startswith('{"type": "snapshot"')
                    await socket.send_str(ACK)
                self.frames += 1
                self.bytes += len(text)

    def _finished_in(self, text: str) -> list[str]:
        """Most sockets get the same frame: it is read once."""
        found = self._read.get(text)
        if found is None:
            fragments = json.loads(text).get("fragments", {})
            found = self._read[text] = SHOWN.findall(fragments.get("results", "") + fragments.get("current", ""))
            while len(self._read) > 50:
                self._read.pop(next(iter(self._read)))
        return found

    @contextlib.asynccontextmanager
    async def watching(self, bench: Bench) -> AsyncIterator[None]:
        """Open the sockets, and close them at the end."""
        if not self.seen:
            yield
            return
        url = f"{bench.url}/ws/leagues/{LEAGUE}/"
        watches = [partial(self._watch, url=url, seen=seen) for seen in self.seen]
        async with sockets(bench.url, watches, lambda: self._ready >= len(watches)):
            yield
            # The last frame is on its way for a moment longer.
            await asyncio.sleep(1)

    def delays_ms(self, bench: Bench) -> tuple[list[float], int]:
        """From the moment a result was accepted to its arrival, per match and socket; and how many never came."""
        rows = bench.rows("SELECT match_id, finished_at FROM matches_match WHERE league_id = ?", LEAGUE)
        accepted = {match_id: datetime.fromisoformat(f"{at}+00:00").timestamp() for match_id, at in rows}
        delays = [(at - accepted[match_id]) * 1000 for seen in self.seen for match_id, at in seen.items()]
        return delays, len(accepted) * len(self.seen) - len(delays)
