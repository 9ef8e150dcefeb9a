"""Django under ASGI as it is served here: whole requests on a thread, cookies, limits, static files."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import threading
import weakref
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth import get_user_model
from django.core import signals

from leaguesite.environment import BASE_DIR
from leaguesite.mcp import mounting
from leaguesite.mcp.calls import Source
from leaguesite.serving import queues
from leaguesite.serving.threads import live_thread
from matches.audience.pages import PageKey
from matches.live.hub import Hub
from tests import factories as make
from tests import wire
from tests.league_sdk.mcp.talking import stateless
from tests.leaguesite.serving.asgi import PATIENCE_S, begin, send
from tests.matches.agent_server import Agents
from tests.sizes import sampled

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"


@pytest.fixture
def here() -> Agents:
    """Tests use only its ``in_db``: it does database work of an async test in a thread of its own."""
    return Agents()


@pytest.mark.parametrize("parts", [1, 7])
async def test_a_call_at_mcp_is_answered_in_however_many_parts_its_body_comes(here: Agents, parts: int) -> None:
    await here.in_db(lambda: make.open_league("fall"))
    raw = json.dumps(wire.request("register_player", wire.player_request())).encode()
    step = -(-len(raw) // parts)
    pieces = (raw[at : at + step] for at in range(0, len(raw), step))
    answer = await send("POST", "/mcp", *pieces, content_type=JSON)
    assert (answer.status, answer.all("content-type"), answer.json["result"]["player_id"]) == (
        200,
        ["application/json"],
        "P01",
    )


async def test_a_notification_has_no_body() -> None:
    answer = await send("POST", "/mcp", b'{"jsonrpc":"2.0","method":"ping"}', content_type=JSON)
    assert (answer.status, answer.body) == (204, b"")


@pytest.mark.parametrize("path", sampled(["/leagues/fall/", "/admin/login/", "/api/leagues"], every=2))
async def test_no_request_waits_for_the_rendering_of_live_pages(here: Agents, path: str) -> None:
    rendering, go_on = threading.Event(), threading.Event()

    def slow(key: PageKey, language: str, without: frozenset[str]) -> None:
        rendering.set()
        go_on.wait(PATIENCE_S)

    async def hear_nothing(message: object) -> None:
        await asyncio.Event().wait()

    await here.in_db(make.running_league)
    hub = Hub(live_thread, render=slow, listen=hear_nothing)
    joining = asyncio.create_task(hub.join(PageKey("board", "fall"), "en"))
    try:
        assert await asyncio.to_thread(rendering.wait, PATIENCE_S)
        assert (await send("GET", path)).status in (200, 401)
    finally:
        go_on.set()
        await joining


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [("POST", "/mcp", "agents"), ("GET", "/", "pages"), ("POST", "/admin/login/", "logins")],
)
async def test_when_too_many_wait_for_a_thread_the_next_is_told_to_come_again(
    monkeypatch: pytest.MonkeyPatch, method: str, path: str, kind: str
) -> None:
    monkeypatch.setitem(queues.MAX_WAITING, kind, 0)
    answer = await send(method, path, b"{}")
    data = answer.json["error"]["data"]
    assert (answer.status, answer.all("retry-after"), data["error_code"], data["retryable"]) == (
        429,
        ["1"],
        "E009",
        True,
    )
    assert (await send("GET", "/health")).status == (429 if kind == "pages" else 200)


async def test_a_request_whose_sender_goes_away_is_not_answered() -> None:
    talk = await begin("POST", "/mcp", b"{", whole=False)
    await talk.send_input({"type": "http.disconnect"})
    await talk.wait(PATIENCE_S)
    assert talk.output_queue.empty()


async def test_a_stream_whose_reader_has_gone_before_it_begins_ends_at_once() -> None:
    body, headers = stateless("subscriptions/listen", notifications={})
    talk = await begin("POST", "/mcp", json.dumps(body).encode(), content_type=JSON, **headers)
    await talk.send_input({"type": "http.disconnect"})
    # Not talk.wait(): it would cancel a request that does not end, and the test would see no difference.
    ended, _going_on = await asyncio.wait([talk.future], timeout=PATIENCE_S)
    assert ended
    assert len(mounting.server.listeners) == 0


async def test_a_stream_does_not_keep_its_request_in_memory() -> None:
    references: list[weakref.ref[Source]] = []

    class Noted(Source):
        """A source of which a test knows whether it is still kept."""

        __slots__ = ("__weakref__",)

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            references.append(weakref.ref(self))

    body, headers = stateless("subscriptions/listen", notifications={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leaguesite.mcp.views.Source", Noted)
        talk = await begin("POST", "/mcp", json.dumps(body).encode(), content_type=JSON, **headers)
        assert (await talk.receive_output(PATIENCE_S))["status"] == 200
        assert (await talk.receive_output(PATIENCE_S))["body"] == b""
        assert b"acknowledged" in (await talk.receive_output(PATIENCE_S))["body"]
    gc.collect()
    assert [source() for source in references] == [None]
    await talk.send_input({"type": "http.disconnect"})
    await talk.wait(PATIENCE_S)
    assert len(mounting.server.listeners) == 0


async def test_every_request_sends_djangos_signals_of_start_and_end() -> None:
    seen: list[str] = []

    def started(**_: Any) -> None:
        seen.append("started")

    def finished(**_: Any) -> None:
        seen.append("finished")

    signals.request_started.connect(started)
    signals.request_finished.connect(finished)
    try:
        for path in ("/health", "/static/favicon.svg", "/nowhere"):
            await send("GET", path)
    finally:
        signals.request_started.disconnect(started)
        signals.request_finished.disconnect(finished)
    assert seen == ["started", "finished"] * 3


async def test_a_static_file_is_served_with_its_type() -> None:
    answer = await send("GET", "/static/css/site.css")
    assert (answer.status, answer.all("content-type")) == (200, ['text/css; charset="utf-8"'])
    assert answer.body == (BASE_DIR / "static/css/site.css").read_bytes()


async def test_a_login_with_its_csrf_token_opens_the_admin(here: Agents) -> None:
    users = get_user_model().objects
    await here.in_db(lambda: users.create_superuser("instructor", password="a long password"))
    page = await send("GET", "/admin/login/")
    assert page.status == 200
    hidden = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.body.decode())[0]
    form = {"username": "instructor", "password": "a long password", "csrfmiddlewaretoken": hidden, "next": "/admin/"}
    cookie = f"csrftoken={page.cookies['csrftoken']}"
    posted = await send(
        "POST",
        "/admin/login/",
        urlencode(form).encode(),
        content_type="application/x-www-form-urlencoded",
        cookie=cookie,
    )
    assert (posted.status, posted.all("location"), sorted(posted.cookies)) == (
        302,
        ["/admin/"],
        ["csrftoken", "league_device", "sessionid"],
    )
    inside = await send("GET", "/admin/", cookie=f"sessionid={posted.cookies['sessionid']}")
    assert inside.status == 200


async def test_without_its_csrf_token_a_login_is_refused() -> None:
    answer = await send("POST", "/admin/login/", b"", content_type="application/x-www-form-urlencoded")
    assert answer.status == 403


async def test_a_page_that_fails_is_answered_with_our_500_page(
    here: Agents, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("matches.audience.pages.context_of", lambda key: 1 / 0)
    await here.in_db(lambda: make.open_league("fall"))
    answer = await send("GET", "/leagues/fall/")
    heading = re.findall(r"<h1>(.*?)</h1>", answer.body.decode())
    assert (answer.status, heading) == (500, ["Something went wrong on our side"])
    assert [record.message for record in caplog.records] == ["Internal Server Error: /leagues/fall/"]


async def test_a_stream_that_has_nothing_to_say_yet_begins_at_once(here: Agents) -> None:
    initialize = wire.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
    initialize["params"]["clientInfo"] = {"name": "a client", "version": "1"}
    accept = "application/json, text/event-stream"
    opened = await send("POST", "/mcp", json.dumps(initialize).encode(), content_type=JSON, accept=accept)
    session = opened.all("mcp-session-id")[0]
    stream = await begin("GET", "/mcp", accept="text/event-stream", mcp_session_id=session)
    start = await stream.receive_output(PATIENCE_S)
    assert (start["type"], start["status"]) == ("http.response.start", 200)
    # Daphne writes the head with the first part, even if that is empty; the first event comes after 15 seconds.
    assert await stream.receive_output(5) == {"type": "http.response.body", "body": b"", "more_body": True}
    await stream.send_input({"type": "http.disconnect"})
    await stream.wait(PATIENCE_S)
