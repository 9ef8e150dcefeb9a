"""The audience: open sockets on the board. Each acknowledges every frame and notes when a result was first shown."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import time
from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial
from typing import NamedTuple

import aiohttp

from tests.bench.part import ACK, sockets
from tests.bench.processes import LEAGUE, Bench
from tests.e2e.site import Instructor

# A finished match, in the list of results or among the matches of the current round.
FINISHED_MATCH = re.compile(r'<li id="(?:result|match)-([^"]+)" class="line(?: drawn)?"[^>]*\bdata-result=')


class _Frame(NamedTuple):
    """A frame as it is parsed once: the ids of the finished matches that it shows, and whether it is a snapshot."""

    match_ids: list[str]
    is_snapshot: bool


class Audience:
    """The sockets, and what they have received.

    Args:
        sockets: how many.
        league: whose board they show.
        packed: whether they take frames gzipped, as today's browsers do (``static/js/live.js``).

    Attributes:
        seen: for each socket, when each finished match was first shown to it (seconds since 1970).
        frames, bytes: how many were received in all.
    """

    def __init__(self, sockets: int, league: str = LEAGUE, *, packed: bool = True) -> None:
        self._league = league
        self._packed = packed
        self.seen: list[dict[str, float]] = [{} for _ in range(sockets)]
        self.frames = 0
        self.bytes = 0
        self._frames: dict[str | bytes, _Frame] = {}
        self._ready = 0

    async def _watch(self, session: aiohttp.ClientSession, url: str, seen: dict[str, float]) -> None:
        async with session.ws_connect(url, max_msg_size=0) as socket:
            async for message in socket:
                now = time.time()
                frame = self._read(message.data)
                if frame is None:
                    continue
                await socket.send_str(ACK)
                for match_id in frame.match_ids:
                    seen.setdefault(match_id, now)
                self._ready += frame.is_snapshot
                self.frames += 1
                self.bytes += len(message.data)

    def _read(self, data: str | bytes) -> _Frame | None:
        """A frame; None for a heartbeat. Most sockets get the same frame, so each is parsed once."""
        if isinstance(data, str) and data.startswith('{"type": "heartbeat"'):
            return None
        known = self._frames.get(data)
        if known is None:
            text = gzip.decompress(data).decode() if isinstance(data, bytes) else data
            fragments = json.loads(text).get("fragments", {})
            match_ids = FINISHED_MATCH.findall(fragments.get("results", "") + fragments.get("current", ""))
            known = self._frames[data] = _Frame(match_ids, text.startswith('{"type": "snapshot"'))
            while len(self._frames) > 50:
                self._frames.pop(next(iter(self._frames)))
        return known

    @contextlib.asynccontextmanager
    async def watching(self, bench: Instructor, over_s: float = 0.0) -> AsyncIterator[None]:
        """Open the sockets, one after the other over ``over_s`` seconds, and close them at the end."""
        if not self.seen:
            yield
            return
        url = f"{bench.url}/ws/leagues/{self._league}/{'?packed=gzip' if self._packed else ''}"
        watches = [partial(self._watch, url=url, seen=seen) for seen in self.seen]
        async with sockets(bench.url, watches, lambda: self._ready >= len(watches), over_s):
            yield
            # The last frame may still be on its way.
            await asyncio.sleep(1)

    def delays_ms(self, bench: Bench) -> tuple[list[float], int]:
        """The delays from the moment a result was accepted until a socket showed it; how many were never shown."""
        rows = bench.rows("SELECT match_id, finished_at FROM matches_match WHERE league_id = ?", self._league)
        accepted = {match_id: datetime.fromisoformat(f"{at}+00:00").timestamp() for match_id, at in rows}
        delays = [(at - accepted[match_id]) * 1000 for seen in self.seen for match_id, at in seen.items()]
        return delays, len(accepted) * len(self.seen) - len(delays)
