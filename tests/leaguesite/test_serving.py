"""Django under ASGI as it is served here: whole requests on a thread, cookies, limits, static files."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth import get_user_model
from django.core import signals

from league_sdk.protocol.limits import MAX_BODY_BYTES
from leaguesite import serving
from leaguesite.asgi import application
from leaguesite.environment import BASE_DIR
from leaguesite.serving import FORM_BYTES, is_agent_path
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
    monkeypatch.setattr(serving, "BODY_LIMIT_S", 0.01)
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
    monkeypatch.setitem(serving.MOST_WAITING, kind, 0)
    answer = await send(method, path, b"{}")
    data = json.loads(answer.body)["error"]["data"]
    assert (answer.status, answer.all("retry-after"), data["error_code"], data["retryable"]) == (
        429,
        ["1"],
        "E009",
        True,
    )
    assert (await send("GET", "/health")).status == (429 if kind == "pages" else 200)


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
    monkeypatch.setattr("matches.pages.context_of", lambda key: 1 / 0)
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
