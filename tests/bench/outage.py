"""Hundreds of live pages at one web process while Redis is down: how long they show an outdated match.

``python -m tests.bench.outage``. Two web processes and a conductor run on PostgreSQL and Redis. The instructor cancels
a match of a running round at one of them; all browsers are at the other: each on a page of its own (the board, every
player, matches), and a class on the board besides. Measured is the time from the answer to the instructor until every
browser on the board or on the page of that match shows it: with Redis; with Redis killed just before; and with Redis
killed and restarted, so that only the message about the match is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import json
import sys
import time
from functools import partial

import aiohttp
import pytest

from tests.bench.part import ACK, command_line, scratch, sockets, until, within
from tests.bench.room import GAP_S, PLAYERS, Cast
from tests.e2e.scaled import WebProcess, scaled_site
from tests.e2e.servers import Redis
from tests.e2e.site import wait_for

LEAGUE = "league_2025_even_odd"
CASES = REDIS_UP, REDIS_DOWN, MESSAGE_LOST = "with Redis", "Redis is down", "a message is lost"
LOST_LOG_LINE = "the channel layer took no message"
"""What a process logs when it has lost a message."""
ORDER = (REDIS_UP, REDIS_DOWN, REDIS_UP, MESSAGE_LOST)
"""Repeated while there are matches. A case with Redis comes before each other one, because a process logs a lost
message only if the message before it arrived."""
SETTLED_S = 6.0
"""How long to wait after Redis is back: by then both processes have subscribed again."""
AIM_S = 5.0


class Browser:
    """One socket on one page, which keeps the page's fragments as the page's script does."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fragments: dict[str, str] = {}
        self.expected = ""
        self.shown_at = 0.0

    async def watch(self, session: aiohttp.ClientSession, url: str) -> None:
        """Read until cancelled."""
        async with session.ws_connect(url + self.path + "?packed=gzip", max_msg_size=0) as page:
            seq = 0
            async for message in page:
                raw = message.data
                frame = json.loads(gzip.decompress(raw) if isinstance(raw, bytes) else raw)
                if frame["type"] == "heartbeat" or (frame["type"] == "frame" and frame["from"] != seq):
                    if frame["seq"] != seq:
                        await page.send_str('{"type":"resync"}')
                    continue
                seq = frame["seq"]
                self.fragments |= frame["fragments"]
                if self.expected and any(self.expected in html for html in frame["fragments"].values()):
                    self.shown_at, self.expected = time.monotonic(), ""
                await page.send_str(ACK)


class Room:
    """All browsers at one web process."""

    def __init__(self, browsers: list[Browser]) -> None:
        self.browsers = browsers

    def open(self, url: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Open the sockets; the block begins when all have their first frame."""
        watches = [partial(one.watch, url=url) for one in self.browsers]
        return sockets(url, watches, lambda: all(one.fragments for one in self.browsers))

    def expect(self, match_id: str) -> list[Browser]:
        """Begin to watch for a cancelled match; returns the browsers that must show that it was cancelled."""
        board, page = f"/ws/leagues/{LEAGUE}/", f"/ws/leagues/{LEAGUE}/matches/{match_id}/"
        words = {board: f'id="result-{match_id}"', page: "cancelled by the instructor"}
        affected = [one for one in self.browsers if one.path in words]
        for one in affected:
            one.expected = words[one.path]
        return affected


async def all_shown(browsers: list[Browser]) -> float:
    """Wait until every browser shows what is expected; returns when the last one did, in monotonic seconds."""
    await until(lambda: not any(one.expected for one in browsers), tick_s=0.01)
    return max(one.shown_at for one in browsers)


async def cancel_match(web: WebProcess, redis: Redis, room: Room, match_id: str, case: str) -> float:
    """Cancel a match in one of the cases; returns the seconds until every browser showed it."""

    def cancel() -> float:
        web.post(f"/leagues/{LEAGUE}/matches/{match_id}/cancel")
        return time.monotonic()

    affected = room.expect(match_id)
    lost_before = web.log().count(LOST_LOG_LINE)
    if case != REDIS_UP:
        redis.kill()
    done_at = await asyncio.to_thread(cancel)
    if case == MESSAGE_LOST:
        # The message must be lost for certain before Redis is back, otherwise it would still be delivered.
        await asyncio.to_thread(wait_for, "the message is lost", lambda: web.log().count(LOST_LOG_LINE) > lost_before)
        await asyncio.to_thread(redis.start)
    shown_at = await all_shown(affected)
    if case == REDIS_DOWN:
        await asyncio.to_thread(redis.start)
    await asyncio.sleep(GAP_S if case == REDIS_UP else SETTLED_S)
    return shown_at - done_at


async def measure(one: WebProcess, other: WebProcess, redis: Redis, pages: int, crowd: int) -> dict[str, list[float]]:
    """The seconds of each cancelled match, by case."""
    seconds: dict[str, list[float]] = {case: [] for case in CASES}
    async with aiohttp.ClientSession() as session:
        cast = Cast(one, session)
        async with cast.registered():
            await asyncio.to_thread(one.post, f"/leagues/{LEAGUE}/start")
            matches = await cast.started_matches()
            rest = [match["match_id"] for match in one.get(f"/leagues/{LEAGUE}/matches")]
            paths = ["/", *(f"/players/P{number:02d}/" for number in range(1, PLAYERS + 1))]
            paths += [f"/matches/{match}/" for match in [*matches, *(name for name in rest if name not in matches)]]
            browsers = [Browser(f"/ws/leagues/{LEAGUE}{path}") for path in [*paths[:pages], *["/"] * crowd]]
            room = Room(browsers)
            async with room.open(other.url):
                for match, case in zip(matches, itertools.cycle(ORDER), strict=False):
                    seconds[case].append(await cancel_match(one, redis, room, match, case))
                    print(f"  {case:<20}{seconds[case][-1]:8.2f} s", flush=True)
    return seconds


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = command_line("outage", __doc__)
    parser.add_argument("--pages", type=within(46, 466), default=300, help="different ones; 46 to 466")
    parser.add_argument("--crowd", type=within(0, 500), default=200, help="more browsers on the board; 0 to 500")
    options = parser.parse_args()
    with scratch() as folder:
        try:
            with scaled_site(folder) as (site, redis):
                site.start_conductor()
                one, other = site.start_web(2)
                print(f"{options.pages} different pages and {options.crowd} more browsers on the board, at one process")
                seconds = asyncio.run(measure(one, other, redis, options.pages, options.crowd))
        except pytest.skip.Exception as missing:
            print(f"not measured: {missing}")
            return 0
    for case, took in seconds.items():
        print(f"{case:<20}{min(took):8.2f} s at least   {max(took):.2f} s at most   (aim {AIM_S:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
