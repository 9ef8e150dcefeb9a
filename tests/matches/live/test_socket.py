"""Live pages as a browser sees them: join, snapshot, then whole fragments with a sequence number."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.auth import get_user_model
from django.test import Client

from leaguesite.asgi import application
from matches.audience import pages
from matches.audience.pages import KINDS, PageKey
from matches.league import lifecycle
from matches.live import hub as hubs
from matches.live import socket as consumers
from matches.models import Role, RoleName
from matches.push import notify
from tests import factories as make
from tests.matches.agent_server import PATIENCE_S, Agents

pytestmark = pytest.mark.django_db(transaction=True)
BOARD, MATCH = PageKey("board", "fall"), PageKey("match", "fall", "R1M1")
CHOICE = re.compile(r"\b(even|odd)\b")


@pytest.fixture
async def here(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agents]:
    """Pushes use this loop; database work has a thread."""
    monkeypatch.setattr(notify, "_loop", asyncio.get_running_loop())
    found = Agents()
    update = hubs.Page.update

    def watched(page: hubs.Page, fragments: dict[str, str]) -> None:
        update(page, fragments)
        found.news.set()

    monkeypatch.setattr(hubs.Page, "update", watched)
    yield found
    sockets, subscription = hubs.hub.sockets, hubs.hub._subscription
    while subscription is not None and not subscription.done():
        # Again, if need be: redis-py swallows a cancellation that comes while it subscribes.
        subscription.cancel()
        await asyncio.wait({subscription}, timeout=1)
    assert sockets == 0


class Browser:
    """One socket and the page it has put together."""

    def __init__(self, socket: WebsocketCommunicator) -> None:
        self._socket = socket
        self.fragments: dict[str, str] = {}
        self.frames: list[dict[str, Any]] = []

    async def say(self, wish: Any) -> None:
        await self._socket.send_to(text_data=wish if isinstance(wish, str) else json.dumps(wish))

    async def frame(self, *, ack: bool = True) -> dict[str, Any]:
        """The next frame that is not a heartbeat."""
        while True:
            found = await self._socket.receive_json_from(timeout=PATIENCE_S)
            if found["type"] != "heartbeat":
                break
        self.frames.append(found)
        self.fragments |= found["fragments"]
        if ack:
            await self.say({"type": "ack", "seq": found["seq"]})
        return found

    async def catch_up(self, expected: dict[str, str]) -> None:
        """Take frames until the page is as expected."""
        while self.fragments != expected:
            await self.frame()

    @property
    def silent(self) -> bool:
        return self._socket.output_queue.empty()


def socket_of(key: PageKey, origin: str | None = "http://testserver", query: str = "") -> WebsocketCommunicator:
    tail = f"matches/{key.item}/" if key.item else ""
    headers = [(b"origin", origin.encode())] if origin else []
    return WebsocketCommunicator(application, f"/ws/leagues/{key.league_id}/{tail}{query}", headers=headers)


@asynccontextmanager
async def browsing(key: PageKey, query: str = "") -> AsyncIterator[Browser]:
    socket = socket_of(key, query=query)
    connected, _ = await socket.connect(timeout=PATIENCE_S)
    assert connected
    try:
        yield Browser(socket)
    finally:
        await socket.disconnect(timeout=PATIENCE_S)


def rendered(key: PageKey) -> Callable[[], dict[str, str]]:
    def render() -> dict[str, str]:
        found = pages.fragments(key, "en")
        assert found is not None
        return found

    return render


@pytest.mark.parametrize(("key", "names"), [(BOARD, KINDS["board"].fragments), (MATCH, KINDS["match"].fragments)])
async def test_snapshot_has_every_fragment(here: Agents, key: PageKey, names: tuple[str, ...]) -> None:
    await here.in_db(make.playing)
    expected = await here.in_db(rendered(key))
    async with browsing(key) as browser:
        assert await browser.frame() == {"type": "snapshot", "seq": 1, "fragments": expected}
    assert tuple(expected) == names


async def test_a_change_comes_as_the_fragments_that_changed(here: Agents) -> None:
    await here.in_db(make.playing)
    async with browsing(BOARD) as browser:
        before = (await browser.frame())["fragments"]
        await here.in_db(lambda: lifecycle.pause(league_id="fall"))
        after = await here.in_db(rendered(BOARD))
        changed = {name: html for name, html in after.items() if html != before[name]}
        assert set(changed) == {"header", "feed"}
        found, seq = {}, 1
        # In two frames where the page was being rendered at the time: with the header of before and the feed of after.
        while found != changed:
            frame = await browser.frame()
            assert (frame["type"], frame["from"], frame["seq"]) == ("frame", seq, seq + 1)
            assert frame["fragments"].keys() <= changed.keys() - found.keys(), "each comes once, and no other one"
            found |= frame["fragments"]
            seq += 1


async def test_a_page_hears_of_its_own_league_and_match_only(here: Agents) -> None:
    place = await here.in_db(make.playing)
    async with browsing(MATCH) as browser:
        await browser.frame()
        await here.in_db(lambda: make.progress(place.match("R1M2"), joined=["P03"]))
        await here.in_db(lambda: make.progress(place.match("R1M1"), joined=["P01"]))
        found = await browser.frame()
    assert (found["from"], found["seq"], set(found["fragments"])) == (1, 2, {"match_header", "match_transcript"})


async def test_two_frames_may_be_unacknowledged_and_the_rest_comes_as_one(here: Agents) -> None:
    await here.in_db(make.playing)
    async with browsing(BOARD) as browser:
        await browser.frame(ack=False)
        await here.in_db(lambda: lifecycle.pause(league_id="fall"))
        assert (await browser.frame(ack=False))["seq"] == 2
        page = hubs.hub._pages[BOARD, "en"]
        for number, change in ((3, lifecycle.resume), (4, lifecycle.pause)):
            await here.in_db(lambda change=change: change(league_id="fall"))
            await here.until(lambda number=number: page.seq == number)
        assert browser.silent
        await browser.say({"type": "ack"})
        found = await browser.frame()
        assert (found["from"], found["seq"]) == (2, 4)
        assert browser.fragments == await here.in_db(rendered(BOARD))


async def test_resync_is_answered_with_a_snapshot(here: Agents) -> None:
    await here.in_db(make.playing)
    async with browsing(BOARD) as browser:
        first = await browser.frame()
        await browser.say({"type": "resync"})
        assert await browser.frame() == first


@pytest.mark.parametrize("seq", [0, 3, 99, -1, "1", None, [1]])
async def test_a_frame_that_was_not_sent_is_not_acknowledged(here: Agents, seq: Any) -> None:
    await here.in_db(make.playing)
    async with browsing(BOARD) as browser:
        await browser.frame(ack=False)
        await here.in_db(lambda: lifecycle.pause(league_id="fall"))
        await browser.frame(ack=False)
        for _ in range(3):
            await browser.say({"type": "ack", "seq": seq})
        await here.in_db(lambda: lifecycle.resume(league_id="fall"))
        await here.until(lambda: hubs.hub._pages[BOARD, "en"].seq == 3)
        assert browser.silent
        # The second has the first in it.
        await browser.say({"type": "ack", "seq": 2})
        assert (await browser.frame(ack=False))["from"] == 2
        await here.in_db(lambda: lifecycle.pause(league_id="fall"))
        assert (await browser.frame(ack=False))["from"] == 3


async def test_a_second_wish_for_a_snapshot_waits_its_time(monkeypatch: pytest.MonkeyPatch, here: Agents) -> None:
    monkeypatch.setattr(consumers, "SNAPSHOT_AGAIN_S", 3600.0)
    await here.in_db(make.playing)
    async with browsing(BOARD) as browser:
        first = await browser.frame()
        await browser.say({"type": "resync"})
        assert await browser.frame() == first
        await browser.say({"type": "resync"})
        await here.in_db(lambda: lifecycle.pause(league_id="fall"))
        assert (await browser.frame())["type"] == "frame"


async def test_a_wish_that_came_too_early_is_answered_later(monkeypatch: pytest.MonkeyPatch, here: Agents) -> None:
    monkeypatch.setattr(consumers, "SNAPSHOT_AGAIN_S", 0.05)
    await here.in_db(make.playing)
    async with browsing(BOARD) as browser:
        first = await browser.frame()
        for _ in range(3):
            await browser.say({"type": "resync"})
            assert await browser.frame() == first


async def test_packed_frames_hold_the_same(here: Agents) -> None:
    await here.in_db(make.playing)
    async with browsing(BOARD) as plain:
        expected = await plain.frame()
        packed = socket_of(BOARD, query="?packed=gzip")
        assert await packed.connect() == (True, None)
        found = await packed.receive_output(timeout=PATIENCE_S)
        assert json.loads(gzip.decompress(found["bytes"])) == expected
        await packed.disconnect()


@pytest.mark.parametrize("junk", [" ", "{", "[]", "5", '"ack"', '{"type":"drop"}', '{"type":' + "1" * 300 + "}"])
async def test_what_a_browser_says_else_is_ignored(here: Agents, junk: str) -> None:
    await here.in_db(make.playing)
    async with browsing(BOARD) as browser:
        await browser.frame()
        await browser.say(junk)
        await browser.say({"type": "resync"})
        assert (await browser.frame())["type"] == "snapshot"


@pytest.mark.parametrize("key", [PageKey("board", "nowhere"), PageKey("match", "fall", "R9M9")])
async def test_a_page_that_is_not_there_closes_with_4404(here: Agents, key: PageKey) -> None:
    await here.in_db(make.playing)
    socket = socket_of(key)
    assert await socket.connect(timeout=PATIENCE_S) == (True, None)
    assert await socket.receive_output(timeout=PATIENCE_S) == {"type": "websocket.close", "code": 4404}
    await socket.wait(timeout=PATIENCE_S)


@pytest.mark.parametrize("origin", ["http://evil.example", "http://testserver.evil.example", "null", None])
async def test_a_foreign_origin_is_refused(here: Agents, origin: str | None) -> None:
    await here.in_db(make.playing)
    socket = socket_of(BOARD, origin)
    connected, _ = await socket.connect(timeout=PATIENCE_S)
    assert connected is False


async def test_an_old_snapshot_and_the_frames_equal_a_new_snapshot(here: Agents) -> None:
    place = await here.in_db(lambda: make.setting(players=4, auto_advance=True, announce_wait_s=0))
    async with browsing(BOARD) as board:
        await board.frame()
        await here.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await here.in_db(make.look)
        async with browsing(MATCH) as match:
            await match.frame()
            for state in ("WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER"):
                lines = [make.line(len(state))]
                await here.in_db(
                    lambda state=state, lines=lines: make.progress(place.match("R1M1"), state=state, transcript=lines)
                )
            await here.in_db(lambda: make.report(place.match("R1M1"), None))
            for _ in range(3):
                await here.in_db(lambda: make.finish_round(place))
                await here.in_db(make.look)
            for browser, key in ((board, BOARD), (match, MATCH)):
                await browser.catch_up(await here.in_db(rendered(key)))
                seen = [frame["seq"] for frame in browser.frames]
                assert [frame.get("from") for frame in browser.frames] == [None, *seen[:-1]]
                async with browsing(key) as late:
                    assert (await late.frame())["fragments"] == browser.fragments
    assert (await here.in_db(lambda: place.league.state)) == "COMPLETED"


async def test_no_choice_is_shown_before_the_draw(here: Agents) -> None:
    place = await here.in_db(lambda: make.playing(players=2))
    client = Client()

    def tell(**changes: Any) -> list[str]:
        """Report progress; what the pages and the API show then."""
        make.progress(place.match("R1M1"), joined=["P01", "P02"], **changes)
        paths = ("/", "/leagues/fall/", "/leagues/fall/matches/R1M1/", "/api/leagues/fall/matches/R1M1")
        return [found for path in paths for found in CHOICE.findall(client.get(path).content.decode())]

    asked = make.line(0, message_type="CHOOSE_PARITY_CALL", method="choose_parity", body={})
    answered = make.line(1, sender="player:P01", method="", body={"parity_choice": "odd"})
    async with browsing(BOARD) as board, browsing(MATCH) as match:
        for browser in (board, match):
            await browser.frame()
        shown = await here.in_db(lambda: tell(state="COLLECTING_CHOICES", locked_in=["P01"], transcript=[asked]))
        for browser, key in ((board, BOARD), (match, MATCH)):
            await browser.catch_up(await here.in_db(rendered(key)))
            assert CHOICE.findall(json.dumps(browser.frames)) == []
            assert "has locked in" in json.dumps(browser.fragments)
        assert shown == []
        shown = await here.in_db(lambda: tell(state="DRAWING_NUMBER", transcript=[answered]))
        await match.catch_up(await here.in_db(rendered(MATCH)))
        assert (set(shown), set(CHOICE.findall(json.dumps(match.frames)))) == ({"odd"}, {"odd"})


@pytest.mark.parametrize(("query", "language"), [("", "en"), ("?language=he", "he"), ("?language=xx", "en")])
async def test_the_language_of_the_page(here: Agents, query: str, language: str) -> None:
    await here.in_db(make.playing)
    async with browsing(BOARD, query) as browser:
        await browser.frame()
        assert list(hubs.hub._pages) == [(BOARD, language)]


async def test_a_browser_that_leaves_before_its_snapshot_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(key: PageKey, language: str) -> dict[str, str]:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(PATIENCE_S)
        return {"header": "late"}

    monkeypatch.setattr(pages, "fragments", slow)
    monkeypatch.setattr(notify, "get_channel_layer", lambda: None)
    with ThreadPoolExecutor(1) as thread:
        hub = hubs.Hub(thread)
        joining = asyncio.create_task(hub.join(BOARD, "en"))
        await begun.wait()
        joining.cancel()
        await asyncio.gather(joining, return_exceptions=True)
        go_on.set()
        assert (hub.sockets, hub._pages) == (0, {})


async def test_a_socket_of_the_staff_is_closed_when_its_person_logs_out(
    monkeypatch: pytest.MonkeyPatch, here: Agents
) -> None:
    monkeypatch.setattr(consumers, "ALLOWED_AGAIN_S", 0.01)
    browser = Client()

    def log_in() -> str:
        make.playing()
        browser.force_login(get_user_model().objects.create_superuser("ada"))
        return browser.cookies["sessionid"].value

    cookie = (b"cookie", f"sessionid={await here.in_db(log_in)}".encode())
    headers = [(b"origin", b"http://testserver"), cookie]
    socket = WebsocketCommunicator(application, "/ws/leagues/fall/?as=staff", headers=headers)
    assert (await socket.connect(timeout=PATIENCE_S))[0]
    await socket.receive_json_from(timeout=PATIENCE_S)
    await here.in_db(browser.logout)
    closed = await socket.receive_output(timeout=PATIENCE_S)
    assert (closed["type"], closed["code"]) == ("websocket.close", consumers.NOT_ALLOWED)
    await socket.wait(timeout=PATIENCE_S)


async def test_whoever_has_no_role_in_this_league_gets_no_socket_of_its_staff(here: Agents) -> None:
    def log_in() -> str:
        make.playing()
        make.open_league("other")
        person = get_user_model().objects.create_user("bob", is_staff=True)
        Role.objects.create(league_id="other", user=person, name=RoleName.INSTRUCTOR)
        browser = Client()
        browser.force_login(person)
        return browser.cookies["sessionid"].value

    cookie = (b"cookie", f"sessionid={await here.in_db(log_in)}".encode())
    for path in ("", "matches/R1M1/", "players/P01/", "charts/", "screen/", "join/"):
        for given in ([cookie], [(b"cookie", b"sessionid=x")], []):
            headers = [(b"origin", b"http://testserver"), *given]
            socket = WebsocketCommunicator(application, f"/ws/leagues/fall/{path}?as=staff", headers=headers)
            assert await socket.connect(timeout=PATIENCE_S) == (False, consumers.NOT_ALLOWED)


class Taking:
    """A server's side of a socket whose browser takes so many messages and then nothing more."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sent: list[dict[str, Any]] = []

    async def send(self, message: dict[str, Any]) -> None:
        if len(self.sent) >= self.most:
            # As the server does: what cannot be written keeps the writer waiting.
            await asyncio.get_running_loop().create_future()
        self.sent.append(message)


async def ended(socket: consumers._Socket) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await socket.keep_sending()


def listening() -> hubs.Listener:
    page = hubs.Page(BOARD, "en")
    page.update({"header": "as it is"})
    found = hubs.Listener(page)
    found.news.set()
    return found


async def test_a_browser_that_acknowledges_nothing_is_dropped_also_after_one_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT_S", 0.001)
    monkeypatch.setattr(consumers, "PATIENCE_S", 0.01)
    taking = Taking(10_000)
    await ended(consumers._Socket(listening(), taking.send))
    assert json.loads(taking.sent[0]["text"])["type"] == "snapshot"
    assert taking.sent[-1] == {"type": "websocket.close", "code": consumers.TRY_LATER}
    between = {json.loads(message["text"])["type"] for message in taking.sent[1:-1]}
    assert between <= {"heartbeat"}


async def test_a_browser_that_has_acknowledged_everything_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT_S", 0.001)
    monkeypatch.setattr(consumers, "PATIENCE_S", 0.01)
    taking = Taking(200)
    socket = consumers._Socket(listening(), taking.send)
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    heard.put_nowait({"type": "websocket.receive", "text": '{"type":"ack"}'})
    reading = asyncio.create_task(socket.keep_reading(heard.get))
    await ended(socket)
    reading.cancel()
    # It went on until the browser took nothing more, far beyond the patience with one that says nothing.
    assert [len(taking.sent), taking.sent[-1]["type"]] == [200, "websocket.send"]


async def test_a_browser_that_reads_nothing_is_dropped_though_nothing_can_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumers, "PATIENCE_S", 0.01)
    monkeypatch.setattr(consumers, "CLOSING_S", 0.01)
    taking = Taking(0)
    await ended(consumers._Socket(listening(), taking.send))
    assert taking.sent == []


@pytest.mark.parametrize(
    ("limits", "last"),
    [
        ({"MOST_SOCKETS": 2}, [False, False]),
        ({"MOST_FROM_ADDRESS": 2}, [False, True]),
        ({"MOST_FROM_ADDRESS_ON_PAGE": 2}, [False, True]),
    ],
)
async def test_sockets_are_counted_by_address_and_page(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], last: list[bool]
) -> None:
    """Two from one address on one page; then a third from there, and one from elsewhere."""
    for name, value in limits.items():
        monkeypatch.setattr(consumers, name, value)
    seats = consumers._Seats()
    with seats.taken("192.0.2.1", BOARD, "en") as first, seats.taken("192.0.2.1", BOARD, "en") as second:
        found = []
        for caller in ("192.0.2.1", "192.0.2.2"):
            with seats.taken(caller, BOARD, "en") as seated:
                found.append(seated)
        with seats.taken("192.0.2.1", MATCH, "en") as elsewhere:
            assert elsewhere is ("MOST_FROM_ADDRESS_ON_PAGE" in limits)
        assert (first, second, found) == (True, True, last)
    assert not (seats._taken or seats._pages)


@pytest.mark.parametrize(
    ("limits", "elsewhere", "nowhere"),
    [
        ({"MOST_PAGES": 2}, False, False),
        ({"MOST_PAGES_FROM_ADDRESS": 2}, True, True),
        ({}, True, True),
    ],
)
async def test_different_pages_are_counted_in_all_and_by_address(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], elsewhere: bool, nowhere: bool
) -> None:
    """A board in two languages from one address; then a match, from there, from elsewhere, and from who knows where."""
    for name, value in limits.items():
        monkeypatch.setattr(consumers, name, value)
    seats = consumers._Seats()

    def seated(caller: str, key: PageKey) -> bool:
        with seats.taken(caller, key, "en") as found:
            return found

    with seats.taken("192.0.2.1", BOARD, "en"), seats.taken("192.0.2.1", BOARD, "he"):
        assert [seated(caller, MATCH) for caller in ("192.0.2.1", "192.0.2.2", "")] == [not limits, elsewhere, nowhere]
        # What is open already costs nothing more.
        assert [seated(caller, BOARD) for caller in ("192.0.2.1", "192.0.2.2", "")] == [True, True, True]
    # They have gone, and so have their pages.
    assert seated("192.0.2.1", MATCH)
    assert not (seats._taken or seats._pages)


async def test_a_class_of_two_hundred_has_all_its_pages_open() -> None:
    """Behind one address: everybody their own page and that of a match, some of them what everybody looks at."""
    seats = consumers._Seats()
    common = [PageKey(kind, "fall") for kind in ("board", "charts", "screen", "join")]
    own = [PageKey("player", "fall", f"P{number:03}") for number in range(200)]
    matches = [PageKey("match", "fall", f"R1M{number}") for number in range(100)]
    earlier = [PageKey("match", "fall", f"R0M{number}") for number in range(200)]
    with ExitStack() as stack:
        for key in (*common * 50, *own, *matches * 2, *earlier):
            assert stack.enter_context(seats.taken("192.0.2.1", key, "en"))
        for key in common:
            assert stack.enter_context(seats.taken("192.0.2.1", key, "he"))


async def test_a_page_too_many_is_told_to_come_later(monkeypatch: pytest.MonkeyPatch, here: Agents) -> None:
    monkeypatch.setattr(consumers, "MOST_PAGES", 1)
    await here.in_db(make.playing)
    async with browsing(BOARD):
        for key, query in ((MATCH, ""), (BOARD, "?language=he")):
            assert await socket_of(key, query=query).connect(timeout=PATIENCE_S) == (False, consumers.TRY_LATER)
        async with browsing(BOARD) as other:
            assert (await other.frame())["type"] == "snapshot"


async def test_a_socket_too_many_is_told_to_come_later(monkeypatch: pytest.MonkeyPatch, here: Agents) -> None:
    monkeypatch.setattr(consumers, "MOST_SOCKETS", 1)
    await here.in_db(make.playing)
    async with browsing(BOARD):
        assert await socket_of(BOARD).connect(timeout=PATIENCE_S) == (False, consumers.TRY_LATER)
    async with browsing(BOARD) as again:
        assert (await again.frame())["type"] == "snapshot"
