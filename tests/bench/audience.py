"""The audience: open sockets on the board. Each acknowledges every frame and notes when a result was first shown."""

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

# A finished match: in the list of results, or in the current round if the whole round ended within one frame.
FINISHED_MATCH = re.compile(r'<li id="(?:result|match)-([^"]+)" class="line"[^>]*\bdata-result=')


class Audience:
    """The sockets, and what they have received.

    Attributes:
        seen: for each socket, when each finished match was first shown to it (seconds since 1970).
        frames, bytes: how many were received in all.
    """

    def __init__(self, sockets: int, league: str = LEAGUE) -> None:
        self._league = league
        self.seen: list[dict[str, float]] = [{} for _ in range(sockets)]
        self.frames = 0
        self.bytes = 0
        self._finished_by_frame: dict[str, list[str]] = {}
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
        """The ids of the finished matches in a frame. Most sockets get the same frame, so each frame is parsed once."""
        match_ids = self._finished_by_frame.get(text)
        if match_ids is None:
            fragments = json.loads(text).get("fragments", {})
            match_ids = self._finished_by_frame[text] = FINISHED_MATCH.findall(
                fragments.get("results", "") + fragments.get("current", "")
            )
            while len(self._finished_by_frame) > 50:
                self._finished_by_frame.pop(next(iter(self._finished_by_frame)))
        return match_ids

    @contextlib.asynccontextmanager
    async def watching(self, bench: Bench) -> AsyncIterator[None]:
        """Open the sockets, and close them at the end."""
        if not self.seen:
            yield
            return
        url = f"{bench.url}/ws/leagues/{self._league}/"
        watches = [partial(self._watch, url=url, seen=seen) for seen in self.seen]
        async with sockets(bench.url, watches, lambda: self._ready >= len(watches)):
            yield
            # The last frame may still be on its way.
            await asyncio.sleep(1)

    def delays_ms(self, bench: Bench) -> tuple[list[float], int]:
        """The delays from the moment a result was accepted until a socket showed it; how many were never shown."""
        rows = bench.rows("SELECT match_id, finished_at FROM matches_match WHERE league_id = ?", self._league)
        accepted = {match_id: datetime.fromisoformat(f"{at}+00:00").timestamp() for match_id, at in rows}
        delays = [(at - accepted[match_id]) * 1000 for seen in self.seen for match_id, at in seen.items()]
        return delays, len(accepted) * len(self.seen) - len(delays)
