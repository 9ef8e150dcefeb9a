"""Hundreds of live pages in one process while Redis is lost: how long they are wrong.

``python -m tests.bench.outage``. Two web processes and a conductor on PostgreSQL and Redis. At one a match of a running
round is cancelled; all browsers are at the other: each on a page of its own (the board, every player, matches), and a
class on the board besides. What is measured is the time from the answer to the instructor until the page of that match
and the board show it to every browser: with Redis, with Redis killed a moment before, and with the message lost as
Redis was killed and is there again at once.
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
WAYS = WITH, GONE, LOST_ONE = "with Redis", "Redis is gone", "a message is lost"
LOST = "the channel layer took no message"
"""What a process says of it."""
ORDER = (WITH, GONE, WITH, LOST_ONE)
"""Again and again, while there are matches. A process says that it lost a message when the one before it arrived."""
SETTLED_S = 6.0
"""After Redis is back: both processes have subscribed again by then, however long their pause was."""
AIM_S = 5.0


class Browser:
    """One socket on one page, put together as a page does it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fragments: dict[str, str] = {}
        self.wanted = ""
        self.right_at = 0.0

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
                if self.wanted and any(self.wanted in html for html in frame["fragments"].values()):
                    self.right_at, self.wanted = time.monotonic(), ""
                await page.send_str(ACK)


class Room:
    """All browsers at one web process."""

    def __init__(self, browsers: list[Browser]) -> None:
        self.browsers = browsers

    def open(self, url: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Open the sockets; all have their first frame."""
        watches = [partial(one.watch, url=url) for one in self.browsers]
        return sockets(url, watches, lambda: all(one.fragments for one in self.browsers))

    def expect(self, match_id: str) -> list[Browser]:
        """These browsers are wrong from now on, until they show that a match was cancelled."""
        board, page = f"/ws/leagues/{LEAGUE}/", f"/ws/leagues/{LEAGUE}/matches/{match_id}/"
        words = {board: f'id="result-{match_id}"', page: "cancelled by the instructor"}
        found = [one for one in self.browsers if one.path in words]
        for one in found:
            one.wanted = words[one.path]
        return found


async def all_right(browsers: list[Browser]) -> float:
    """When the last of them shows what is expected of it, in monotonic seconds."""
    await until(lambda: not any(one.wanted for one in browsers), tick_s=0.01)
    return max(one.right_at for one in browsers)


async def cancelled(web: WebProcess, redis: Redis, room: Room, match_id: str, way: str) -> float:
    """Cancel a match in one of the ways; seconds until every browser was right."""

    def cancel() -> float:
        web.post(f"/leagues/{LEAGUE}/matches/{match_id}/cancel")
        return time.monotonic()

    theirs = room.expect(match_id)
    lost_before = web.log().count(LOST)
    if way != WITH:
        redis.kill()
    done_at = await asyncio.to_thread(cancel)
    if way == LOST_ONE:
        # Only then is it certain that the message will not come after all.
        await asyncio.to_thread(wait_for, "the message is lost", lambda: web.log().count(LOST) > lost_before)
        await asyncio.to_thread(redis.start)
    right_at = await all_right(theirs)
    if way == GONE:
        await asyncio.to_thread(redis.start)
    await asyncio.sleep(GAP_S if way == WITH else SETTLED_S)
    return right_at - done_at


async def measure(one: WebProcess, other: WebProcess, redis: Redis, pages: int, crowd: int) -> dict[str, list[float]]:
    """Seconds by way."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    async with aiohttp.ClientSession() as session:
        cast = Cast(one, session)
        async with cast.registered():
            await asyncio.to_thread(one.post, f"/leagues/{LEAGUE}/start")
            matches = await cast.begun()
            rest = [match["match_id"] for match in one.get(f"/leagues/{LEAGUE}/matches")]
            paths = ["/", *(f"/players/P{number:02d}/" for number in range(1, PLAYERS + 1))]
            paths += [f"/matches/{match}/" for match in [*matches, *(name for name in rest if name not in matches)]]
            browsers = [Browser(f"/ws/leagues/{LEAGUE}{path}") for path in [*paths[:pages], *["/"] * crowd]]
            room = Room(browsers)
            async with room.open(other.url):
                for match, way in zip(matches, itertools.cycle(ORDER), strict=False):
                    found[way].append(await cancelled(one, redis, room, match, way))
                    print(f"  {way:<20}{found[way][-1]:8.2f} s", flush=True)
    return found


def main() -> int:
    """Measure and print; the exit code."""
    parser = command_line("outage", __doc__)
    parser.add_argument("--pages", type=within(46, 466), default=300, help="different ones; 46 to 466")
    parser.add_argument("--crowd", type=within(0, 500), default=200, help="more browsers on the board; 0 to 500")
    wanted = parser.parse_args()
    with scratch() as folder:
        try:
            with scaled_site(folder) as (site, redis):
                site.start_conductor()
                one, other = site.start_web(2)
                print(f"{wanted.pages} different pages and {wanted.crowd} more browsers on the board, at one process")
                found = asyncio.run(measure(one, other, redis, wanted.pages, wanted.crowd))
        except pytest.skip.Exception as missing:
            print(f"not measured: {missing}")
            return 0
    for way, took in found.items():
        print(f"{way:<20}{min(took):8.2f} s at least   {max(took):.2f} s at most   (aim {AIM_S:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
