"""Any messages of browsers on WebSockets while pages change: no server error, and every browser is kept up to date.

A real browser sends two messages only: that a frame has arrived, and that it wants a snapshot.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from hypothesis import given
from hypothesis import strategies as st

from leaguesite.asgi import application
from matches.live.hub import Page, hub
from tests.fuzz.messages import ODD
from tests.fuzz.profile import long_count, many, seeded
from tests.fuzz.site import TIMEOUT_S, Site, noting
from tests.fuzz.world import World
from tests.sizes import examples

QUICK, LONG = examples(40), 1_200
SHARDS = 2
PATHS = [
    *("/ws/leagues/", "/ws/leagues/winter/", "/ws/leagues/winter/matches/R1M1/", "/ws/leagues/winter/players/P01/"),
    *("/ws/leagues/fall/screen/", "/ws/leagues/fall/join/", "/ws/leagues/winter/charts/", "/ws/leagues/nowhere/"),
    *("/ws/leagues/winter/matches/R9M9/", "/ws/checks/00000000-0000-4000-8000-000000000000/"),
]
QUERIES = [
    "",
    "?packed=gzip",
    "?language=he",
    "?as=staff",
    "?packed=gzip&language=xx&as=",
    "?%ff=%00&language=\x00",
    "?" + "a=b&" * 300,
    "?seq=2&since=1&from=-1&resume=x&packed=gzip",
]


def browser_messages() -> st.SearchStrategy[str | bytes]:
    """Acknowledgements, requests for a snapshot, and everything that is neither."""
    odd = st.sampled_from(ODD)
    kind = st.sampled_from(
        ["ack", "resync", "ack", "resync", "ACK", "resume", "frame", "snapshot", "heartbeat", "", None, 0, [], {}]
    )
    more = st.sampled_from([{}, {"x": 1}, {"from": 1}, {"from": -1, "since": 10**9}, {"token": "1", "id": "0-0"}])
    nearly_valid = st.builds(lambda kind, seq, more: {"type": kind, "seq": seq, **more}, kind, odd, more)
    text = (nearly_valid | odd).map(json.dumps) | st.sampled_from(
        ['{"type":', "[" * 190, "9" * 200, "\x00", "ping", " " * 70_000]
    )
    return text | text | text | st.text(max_size=300) | st.binary(max_size=300)


@dataclass(frozen=True)
class Change:
    """A change of one fragment of a page."""

    fragment: str
    html: str


Step = tuple[int, str | bytes | Change]
Scenario = tuple[list[tuple[str, str]], list[Step]]


def scenarios() -> st.SearchStrategy[Scenario]:
    """Paths and queries of sockets, and steps: a message sent on one of the sockets, or a change of its page."""
    sockets = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(QUERIES)), min_size=1, max_size=4)
    changes = st.builds(Change, st.sampled_from(["header", "news"]), st.sampled_from(["", "<p>one</p>", "<p>two</p>"]))
    steps = st.tuples(st.integers(0, 4), st.one_of(*[browser_messages()] * 3, changes))
    return st.tuples(sockets, st.lists(steps, min_size=1, max_size=12))


def read(message: dict[str, Any]) -> dict[str, Any]:
    """Decode and check a message of the server, as a browser reads it."""
    assert message["type"] == "websocket.send"
    packed = message.get("bytes")
    frame = json.loads(gzip.decompress(packed) if packed is not None else message["text"])
    assert frame["type"] in ("snapshot", "frame", "heartbeat")
    assert isinstance(frame["seq"], int)
    if frame["type"] != "heartbeat":
        assert all(isinstance(html, str) for html in frame["fragments"].values())
    return frame


@dataclass
class Browser:
    """A socket and the page as the browser shows it, like ``static/js/live.js``."""

    socket: WebsocketCommunicator
    page: Page
    seq: int
    fragments: dict[str, str]

    async def receive(self) -> str:
        """Receive a message, assert that none was missed before it, and return its type."""
        frame = read(await self.socket.receive_output(timeout=TIMEOUT_S))
        if frame["type"] == "heartbeat":
            return "heartbeat"
        if frame["type"] == "snapshot":
            self.fragments = {}
        else:
            assert frame["from"] == self.seq
        self.seq = frame["seq"]
        self.fragments |= frame["fragments"]
        await self.send({"type": "ack", "seq": self.seq})
        return str(frame["type"])

    async def send(self, message: dict[str, Any]) -> None:
        await self.socket.send_to(text_data=json.dumps(message))

    async def catch_up(self) -> None:
        """Receive messages until the browser shows the current page."""
        while self.seq != self.page.seq:
            await self.receive()
        assert self.fragments == {name: html for name, (html, _) in self.page._fragments.items()}

    async def start_over(self) -> None:
        """Ask for a snapshot, and receive it."""
        await self.send({"type": "resync"})
        while await self.receive() != "snapshot":
            pass


async def opened(path: str) -> Browser | None:
    """A browser at a page; None if it is refused or there is no such page."""
    known = {listener for page in hub._pages.values() for listener in page.listeners}
    socket = WebsocketCommunicator(application, path, headers=[(b"origin", b"http://testserver")])
    accepted, code = await socket.connect(timeout=TIMEOUT_S)
    if not accepted:
        assert code == 4403
        return None
    first = await socket.receive_output(timeout=TIMEOUT_S)
    if first["type"] == "websocket.close":
        assert first["code"] == 4404
        return None
    frame = read(first)
    assert frame["type"] == "snapshot"
    (page,) = [page for page in hub._pages.values() if page.listeners - known]
    browser = Browser(socket, page, frame["seq"], frame["fragments"])
    await browser.send({"type": "ack", "seq": browser.seq})
    return browser


async def play(scenario: Scenario) -> int:
    """Open the sockets, do the steps, check that each browser is up to date; returns how many frames were sent."""
    addresses, steps = scenario
    well_behaved = await opened("/ws/leagues/winter/")
    assert well_behaved is not None
    fuzzed = [one for path, query in addresses if (one := await opened(path + query)) is not None]
    sent = 0
    for number, what in steps:
        if isinstance(what, Change):
            one = [well_behaved, *fuzzed][number % (1 + len(fuzzed))]
            one.page.update({what.fragment: what.html})
        elif fuzzed:
            kind = "text" if isinstance(what, str) else "bytes"
            await fuzzed[number % len(fuzzed)].socket.send_input({"type": "websocket.receive", kind: what})
            sent += 1
    for one in [well_behaved, *fuzzed]:
        await one.catch_up()
        await one.start_over()
        await one.catch_up()
    for one in [well_behaved, *fuzzed]:
        await one.socket.disconnect(timeout=TIMEOUT_S)
    assert hub.sockets == 0
    return sent


async def finish() -> None:
    """Cancel the tasks that the hub has left on this loop."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def run(site: Site, count: int, shard: int = 0) -> int:
    sent = 0

    @many(count)
    @seeded("frames", shard)
    @given(scenario=scenarios())
    def play_one(scenario: Scenario) -> None:
        nonlocal sent
        site.errors.seen.clear()
        with noting(scenario):
            sent += site.loop.run_until_complete(asyncio.wait_for(play(scenario), 2 * TIMEOUT_S))
            assert not site.errors.seen

    try:
        play_one()
    finally:
        site.loop.run_until_complete(finish())
    return sent


def test_any_messages_leave_every_browser_up_to_date(site: Site, world: World) -> None:
    assert run(site, QUICK) > QUICK


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_any_messages_leave_every_browser_up_to_date_at_length(
    site: Site, world: World, shard: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("inputs", run(site, long_count(LONG // SHARDS), shard))
