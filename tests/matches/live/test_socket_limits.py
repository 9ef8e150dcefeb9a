"""Which sockets are refused, and which are closed: of staff who may no longer watch, of browsers that take nothing."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from matches.audience.pages import PageKey
from matches.live import hub as hubs
from matches.live.socket import NOT_ALLOWED, TRY_LATER, Limits, SocketCounts, Times, _Socket
from matches.models import Role, RoleName
from tests import factories as make
from tests.matches.agent_server import PATIENCE_S, Agents
from tests.matches.live.browsing import BOARD, MATCH, browsing, serving, socket_of

pytestmark = pytest.mark.django_db(transaction=True)
CALLER, OTHER_CALLER, UNKNOWN = "192.0.2.1", "192.0.2.2", ""


# Staff --------------------------------------------------------------------------------------------


async def test_a_staff_socket_is_closed_when_the_person_logs_out(db_thread: Agents) -> None:
    browser = Client()

    def log_in() -> str:
        make.running_league()
        browser.force_login(get_user_model().objects.create_superuser("ada"))
        return browser.cookies["sessionid"].value

    session = await db_thread.in_db(log_in)
    socket = socket_of(BOARD, query="?as=staff", session=session, app=serving(times=Times(allowed_interval_s=0.01)))
    assert (await socket.connect(timeout=PATIENCE_S))[0]
    await socket.receive_json_from(timeout=PATIENCE_S)
    await db_thread.in_db(browser.logout)
    closed = await socket.receive_output(timeout=PATIENCE_S)
    assert (closed["type"], closed["code"]) == ("websocket.close", NOT_ALLOWED)
    await socket.wait(timeout=PATIENCE_S)


async def test_a_staff_socket_needs_a_role_in_the_league(db_thread: Agents) -> None:
    def log_in() -> str:
        make.running_league()
        make.open_league("other")
        person = get_user_model().objects.create_user("bob", is_staff=True)
        Role.objects.create(league_id="other", user=person, name=RoleName.INSTRUCTOR)
        browser = Client()
        browser.force_login(person)
        return browser.cookies["sessionid"].value

    staff_session = await db_thread.in_db(log_in)
    others = [PageKey(kind, "fall") for kind in ("charts", "screen", "join")]
    for key in (BOARD, MATCH, PageKey("players", "fall", "P01"), *others):
        for session in (staff_session, "x", None):
            socket = socket_of(key, query="?as=staff", session=session)
            assert await socket.connect(timeout=PATIENCE_S) == (False, NOT_ALLOWED)


# Browsers that take nothing -----------------------------------------------------------------------


class StallingSocket:
    """The server's side of a socket whose browser accepts this many messages and then no more."""

    def __init__(self, max_messages: int, **times: float) -> None:
        self.max_messages = max_messages
        self.sent: list[dict[str, Any]] = []
        page = hubs.Page(BOARD, "en")
        page.update({"header": "as it is"})
        listener = hubs.Listener(page)
        listener.news.set()
        self.socket = _Socket(listener, self._send, Times(patience_s=0.01, **times))

    async def _send(self, message: dict[str, Any]) -> None:
        if len(self.sent) >= self.max_messages:
            # As the server does: what cannot be written keeps the writer waiting.
            await asyncio.get_running_loop().create_future()
        self.sent.append(message)

    async def run(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.socket.keep_sending()


async def test_a_browser_that_acknowledges_nothing_is_disconnected_after_one_frame() -> None:
    stalling = StallingSocket(10_000, heartbeat_s=0.001)
    await stalling.run()
    assert json.loads(stalling.sent[0]["text"])["type"] == "snapshot"
    assert stalling.sent[-1] == {"type": "websocket.close", "code": TRY_LATER}
    between = {json.loads(message["text"])["type"] for message in stalling.sent[1:-1]}
    assert between <= {"heartbeat"}


async def test_a_browser_that_has_acknowledged_everything_stays_connected() -> None:
    stalling = StallingSocket(200, heartbeat_s=0.001)
    frames: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    frames.put_nowait({"type": "websocket.receive", "text": '{"type":"ack"}'})
    reading = asyncio.create_task(stalling.socket.keep_reading(frames.get))
    await stalling.run()
    reading.cancel()
    # The socket sent until the browser accepted no more, far longer than it waits for an acknowledgement.
    assert [len(stalling.sent), stalling.sent[-1]["type"]] == [200, "websocket.send"]


async def test_a_browser_that_reads_nothing_is_disconnected() -> None:
    stalling = StallingSocket(0, closing_s=0.01)
    await stalling.run()
    assert stalling.sent == []


# Too many -----------------------------------------------------------------------------------------


def has_room(sockets: SocketCounts, caller: str, key: PageKey) -> bool:
    with sockets.taken(caller, key, "en") as taken:
        return taken


@pytest.mark.parametrize(
    ("limit", "boards", "matches"),
    [
        # Whether there is room for a third socket on the board, and for one on a match: from here, from elsewhere.
        ("sockets", [False, False], [False, False]),
        ("from_address", [False, True], [False, True]),
        ("from_address_on_page", [False, True], [True, True]),
    ],
)
async def test_sockets_are_limited_by_ip_address_and_page(limit: str, boards: list[bool], matches: list[bool]) -> None:
    sockets = SocketCounts(replace(Limits(), **{limit: 2}))
    with sockets.taken(CALLER, BOARD, "en") as first, sockets.taken(CALLER, BOARD, "he") as second:
        assert (first, second) == (True, True)
        assert [has_room(sockets, caller, BOARD) for caller in (CALLER, OTHER_CALLER)] == boards
        assert [has_room(sockets, caller, MATCH) for caller in (CALLER, OTHER_CALLER)] == matches
    assert not sockets._open


@pytest.mark.parametrize(
    ("limits", "matches"),
    [
        (Limits(pages=2), [False, False, False]),
        (Limits(pages_from_address=2), [False, True, True]),
        (Limits(), [True, True, True]),
    ],
)
async def test_different_pages_are_limited_in_total_and_by_ip_address(limits: Limits, matches: list[bool]) -> None:
    """A board in two languages from one address; then a match, from there, from another, and from an unknown one."""
    sockets = SocketCounts(limits)
    with sockets.taken(CALLER, BOARD, "en"), sockets.taken(CALLER, BOARD, "he"):
        assert [has_room(sockets, caller, MATCH) for caller in (CALLER, OTHER_CALLER, UNKNOWN)] == matches
        # What is open already costs nothing more.
        assert [has_room(sockets, caller, BOARD) for caller in (CALLER, OTHER_CALLER, UNKNOWN)] == [True, True, True]
    # The sockets are closed, and so are their pages.
    assert has_room(sockets, CALLER, MATCH)
    assert not sockets._open


async def test_two_hundred_students_behind_one_ip_address_stay_within_the_limits() -> None:
    """Everybody looks at their own page, a match and an earlier match; some also at the pages that all share."""
    sockets = SocketCounts()
    common = [PageKey(kind, "fall") for kind in ("board", "charts", "screen", "join")]
    own = [PageKey("player", "fall", f"P{number:03}") for number in range(200)]
    matches = [PageKey("match", "fall", f"R1M{number}") for number in range(100)]
    earlier = [PageKey("match", "fall", f"R0M{number}") for number in range(200)]
    with ExitStack() as stack:
        for key in (*common * 50, *own, *matches * 2, *earlier):
            assert stack.enter_context(sockets.taken(CALLER, key, "en"))
        for key in common:
            assert stack.enter_context(sockets.taken(CALLER, key, "he"))


@pytest.mark.parametrize(
    ("limits", "refused"),
    [(Limits(pages=1), [(MATCH, ""), (BOARD, "?language=he")]), (Limits(sockets=1), [(BOARD, "")])],
)
async def test_a_socket_beyond_a_limit_is_closed_with_try_later(
    db_thread: Agents, limits: Limits, refused: list[tuple[PageKey, str]]
) -> None:
    await db_thread.in_db(make.running_league)
    site = serving(sockets=SocketCounts(limits))
    async with browsing(BOARD, app=site):
        for key, query in refused:
            assert await socket_of(key, query=query, app=site).connect(timeout=PATIENCE_S) == (False, TRY_LATER)
    async with browsing(BOARD, app=site) as again:
        assert (await again.frame())["type"] == "snapshot"
