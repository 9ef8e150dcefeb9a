"""Django under ASGI as it is served here: whole requests on a thread, cookies, limits, static files."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth import get_user_model
from django.core import signals

from league_sdk.protocol.limits import MAX_BODY_BYTES
from leaguesite.asgi import application
from leaguesite.environment import BASE_DIR
from leaguesite.serving import devices, threads
from leaguesite.serving.threads import FORM_BYTES, is_agent_path
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.live.hub import hub
from matches.push import notify
from tests import factories as make
from tests import wire
from tests.matches.agent_server import Agents

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_S = 30


class Answer:
    """A response that has come in whole."""

    def __init__(self, start: dict[str, Any], body: bytes) -> None:
        self.status: int = start["status"]
        self.headers = [(name.decode().lower(), value.decode("latin1")) for name, value in start["headers"]]
        self.body = body

    def all(self, name: str) -> list[str]:
        return [value for found, value in self.headers if found == name]

    @property
    def cookies(self) -> dict[str, str]:
        return dict(one.partition(";")[0].split("=", 1) for one in self.all("set-cookie"))


def scope(method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in ({"host": "testserver"} | headers).items()],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
    }


async def send(method: str, path: str, body: bytes = b"", *, parts: int = 1, **headers: str) -> Answer:
    """One request, its body in several parts."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    talk = ApplicationCommunicator(application, scope(method, path, named))
    step = max(1, -(-len(body) // parts))
    chunks = [body[at : at + step] for at in range(0, len(body), step)] or [b""]
    for position, chunk in enumerate(chunks):
        await talk.send_input({"type": "http.request", "body": chunk, "more_body": position < len(chunks) - 1})
    start = await talk.receive_output(PATIENCE_S)
    content, more = b"", True
    while more:
        message = await talk.receive_output(PATIENCE_S)
        content += message.get("body", b"")
        more = message.get("more_body", False)
    await talk.wait(PATIENCE_S)
    return Answer(start, content)


@pytest.fixture
def here() -> Agents:
    return Agents()


@pytest.mark.parametrize("parts", [1, 7])
async def test_a_call_at_mcp(here: Agents, parts: int) -> None:
    await here.in_db(lambda: make.open_league("fall"))
    raw = json.dumps(wire.request("register_player", wire.player_request())).encode()
    answer = await send("POST", "/mcp", raw, parts=parts, content_type="application/json")
    reply = json.loads(answer.body)
    assert (answer.status, answer.all("content-type"), reply["result"]["player_id"]) == (
        200,
        ["application/json"],
        "P01",
    )


async def test_a_notification_has_no_body() -> None:
    answer = await send("POST", "/mcp", b'{"jsonrpc":"2.0","method":"ping"}', content_type="application/json")
    assert (answer.status, answer.body) == (204, b"")


@pytest.mark.parametrize("path", ["/leagues/fall/", "/admin/login/", "/api/leagues"])
async def test_no_page_waits_for_live_ones(monkeypatch: pytest.MonkeyPatch, here: Agents, path: str) -> None:
    rendering, go_on = threading.Event(), threading.Event()

    def slow(key: PageKey, language: str) -> None:
        rendering.set()
        go_on.wait(PATIENCE_S)

    monkeypatch.setattr(pages, "fragments", slow)
    monkeypatch.setattr(notify, "get_channel_layer", lambda: None)
    await here.in_db(make.playing)
    joining = asyncio.create_task(hub.join(PageKey("board", "fall"), "en"))
    try:
        await asyncio.to_thread(rendering.wait, PATIENCE_S)
        assert (await send("GET", path)).status in (200, 401)
    finally:
        go_on.set()
        await joining


@pytest.mark.parametrize("path", ["/mcp", "/leagues/fall/mcp"])
async def test_a_body_that_is_too_large_is_413_before_it_is_whole(path: str) -> None:
    talk = ApplicationCommunicator(application, scope("POST", path, {"content-type": "application/json"}))
    await talk.send_input({"type": "http.request", "body": b"x" * MAX_BODY_BYTES, "more_body": True})
    await talk.send_input({"type": "http.request", "body": b"x", "more_body": True})
    start = await talk.receive_output(PATIENCE_S)
    body = json.loads((await talk.receive_output(PATIENCE_S))["body"])
    await talk.wait(PATIENCE_S)
    assert (start["status"], dict(start["headers"])[b"connection"]) == (413, b"close")
    error, data = body["error"], body["error"]["data"]
    assert (body["id"], error["code"], error["message"]) == (None, -32600, "The body is too large.")
    assert (data["message_type"], data["error_code"]) == ("LEAGUE_ERROR", "E002")
    assert data["context"] == {
        "field": "body",
        "seen": '"more than 65537 bytes"',
        "expected": "at most 65536 bytes",
    }


@pytest.mark.parametrize(("path", "most"), [("/mcp", MAX_BODY_BYTES), ("/check", FORM_BYTES), ("/", FORM_BYTES)])
async def test_no_path_takes_an_endless_body(path: str, most: int) -> None:
    """Under a server that hands a body over in pieces, also where it is chunked and has no length."""
    talk = ApplicationCommunicator(application, scope("POST", path, {"content-type": "application/json"}))
    piece = b"x" * 65_536
    for _ in range(most // len(piece) + 1):
        await talk.send_input({"type": "http.request", "body": piece, "more_body": True})
    start = await talk.receive_output(PATIENCE_S)
    body = json.loads((await talk.receive_output(PATIENCE_S))["body"])
    await talk.wait(PATIENCE_S)
    assert (start["status"], body["error"]["code"]) == (413, -32600)
    assert body["error"]["data"]["context"]["expected"] == f"at most {most} bytes"


async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "BODY_LIMIT_S", 0.01)
    talk = ApplicationCommunicator(application, scope("POST", "/mcp", {"content-type": "application/json"}))
    await talk.send_input({"type": "http.request", "body": b"{", "more_body": True})
    start = await talk.receive_output(PATIENCE_S)
    body = json.loads((await talk.receive_output(PATIENCE_S))["body"])
    await talk.wait(PATIENCE_S)
    assert (start["status"], body["error"]["message"]) == (408, "The body took too long.")


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [("POST", "/mcp", "agents"), ("GET", "/", "pages"), ("POST", "/admin/login/", "logins")],
)
async def test_when_too_many_wait_for_a_thread_the_next_is_told_to_come_again(
    monkeypatch: pytest.MonkeyPatch, method: str, path: str, kind: str
) -> None:
    monkeypatch.setitem(threads.MOST_WAITING, kind, 0)
    answer = await send(method, path, b"{}")
    data = json.loads(answer.body)["error"]["data"]
    assert (answer.status, answer.all("retry-after"), data["error_code"], data["retryable"]) == (
        429,
        ["1"],
        "E009",
        True,
    )
    assert (await send("GET", "/health")).status == (429 if kind == "pages" else 200)


class Held:
    """A thread that stands still until it is told to go on, as one that is busy with others' passwords."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1)
        self._go = threading.Event()
        self._taken = threading.Event()
        self.pool.submit(self._stand)
        self._taken.wait(PATIENCE_S)
        self._count = 0

    def _stand(self) -> None:
        self._taken.set()
        self._go.wait(PATIENCE_S)

    async def wait_for(self, *logins: ApplicationCommunicator) -> list[ApplicationCommunicator]:
        """Until these stand in the line as well."""
        self._count += len(logins)
        while self.pool._work_queue.qsize() < self._count:  # noqa: ASYNC110 - a thread's line tells nobody
            await asyncio.sleep(0)
        return list(logins)

    def end(self) -> None:
        self._go.set()
        self.pool.shutdown()


async def log_in(name: str, address: str, *cookie: str) -> ApplicationCommunicator:
    """A login that is on its way."""
    sent = {"content-type": "application/x-www-form-urlencoded"} | ({"cookie": cookie[0]} if cookie else {})
    talk = ApplicationCommunicator(application, scope("POST", "/admin/login/", sent) | {"client": (address, 50000)})
    form = urlencode({"username": name, "password": "x"})
    await talk.send_input({"type": "http.request", "body": form.encode()})
    return talk


async def status(talk: ApplicationCommunicator) -> int:
    found = int((await talk.receive_output(PATIENCE_S))["status"])
    await talk.wait(PATIENCE_S)
    return found


async def test_names_that_nobody_has_keep_the_instructor_neither_out_nor_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is new, so none is refused as a guess, and each password is looked at."""
    guesser, own = "192.0.2.7", f"{devices.COOKIE}={devices.new_cookie('instructor')}"
    held = Held()
    monkeypatch.setitem(threads._THREADS, "logins", held.pool)
    try:
        waiting = await held.wait_for(*[await log_in(f"nobody {number}", guesser) for number in range(2)])
        # Of one address two wait; of its /64 in IPv6 as well.
        assert [await status(await log_in(f"noone {number}", guesser)) for number in range(3)] == [429] * 3
        waiting += await held.wait_for(*[await log_in("nobody", f"2001:db8::{number}") for number in (1, 2)])
        assert await status(await log_in("nobody", "2001:db8::3")) == 429
        # The instructor's own browser is let through at the guesser's address: 403 is Django's, for no CSRF token.
        assert await status(await log_in("instructor", guesser, own)) == 403
        # From many addresses the line is filled, and still it is.
        left = threads.MOST_WAITING["logins"] - len(waiting)
        waiting += await held.wait_for(*[await log_in("nobody", f"198.51.100.{number}") for number in range(left)])
        assert await status(await log_in("nobody", "203.0.113.1")) == 429
        assert await status(await log_in("instructor", guesser, own)) == 403
        # A cookie that we did not sign is none.
        assert await status(await log_in("instructor", guesser, own[:-1])) == 429
    finally:
        held.end()
    assert [await status(one) for one in waiting] == [403] * threads.MOST_WAITING["logins"]


async def test_there_is_room_again_when_they_have_been_answered() -> None:
    for _ in range(threads.MOST_LOGINS_OF_ONE + 1):
        assert await status(await log_in("nobody", "192.0.2.7")) == 403


async def test_a_known_browser_fills_no_line_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """An assistant's, too, may be left to somebody."""
    held = Held()
    monkeypatch.setitem(threads._THREADS, "known-logins", held.pool)
    first, second = (f"{devices.COOKIE}={devices.new_cookie('assistant')}" for _ in range(2))
    try:
        waiting = await held.wait_for(*[await log_in("x", "192.0.2.7", first) for _ in range(2)])
        assert await status(await log_in("x", "192.0.2.9", first)) == 429
        waiting += await held.wait_for(await log_in("x", "192.0.2.7", second))
    finally:
        held.end()
    assert [await status(one) for one in waiting] == [403] * 3


async def test_a_sender_that_goes_away_is_dropped() -> None:
    talk = ApplicationCommunicator(application, scope("POST", "/mcp", {}))
    await talk.send_input({"type": "http.request", "body": b"{", "more_body": True})
    await talk.send_input({"type": "http.disconnect"})
    await talk.wait(PATIENCE_S)
    assert talk.output_queue.empty()


async def test_every_request_has_its_cycle() -> None:
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


async def test_a_static_file() -> None:
    answer = await send("GET", "/static/css/site.css")
    assert (answer.status, answer.all("content-type")) == (200, ['text/css; charset="utf-8"'])
    assert answer.body == (BASE_DIR / "static/css/site.css").read_bytes()


async def test_logging_in_to_the_admin(here: Agents) -> None:
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


async def test_a_foreign_host_is_refused() -> None:
    assert (await send("GET", "/", host="evil.example")).status == 400


async def test_a_page_that_fails_is_a_500_of_ours(
    here: Agents, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("matches.audience.pages.context_of", lambda key: 1 / 0)
    await here.in_db(lambda: make.open_league("fall"))
    answer = await send("GET", "/leagues/fall/")
    heading = re.findall(r"<h1>(.*?)</h1>", answer.body.decode())
    assert (answer.status, heading) == (500, ["Something went wrong on our side"])
    assert [record.message for record in caplog.records] == ["Internal Server Error: /leagues/fall/"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/mcp", True),
        ("/leagues/fall/mcp", True),
        ("/leagues/fall/", False),
        ("/mcp/", True),
        ("/register", True),
        ("/leagues/fall/register/", True),
        ("/leagues/fall/check", False),
        ("/", False),
        ("/admin/leagues/mcp", False),
    ],
)
def test_paths_that_agents_call(path: str, expected: bool) -> None:
    assert is_agent_path(path) is expected
