"""How a message went out, on the transcript: path, clothes and status of every request, the body where it differs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from league_sdk.judging.referee import Referee
from league_sdk.protocol.transcript import MAX_WIRE_TEXT_CHARS, Wire, entry
from league_sdk.transport.client import Broken, NotReached, Reply
from tests.league_sdk.judging.staged import Stage
from tests.league_sdk.judging.test_player_line import INVITATION, seat
from tests.league_sdk.judging.test_player_line import ask as asking

SECRET = "tok_" + "a" * 32


class Server:
    """Instead of the HTTP client: answers in turn."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.bodies: list[Any] = []

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        self.bodies.append(message)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        assert isinstance(reply, Reply)
        return reply

    async def aclose(self) -> None:
        self.replies.clear()


YES = Reply(200, {"jsonrpc": "2.0", "id": 1, "result": {"accept": True}}, "", 0, {"content-type": "application/json"})
UNKNOWN = Reply(200, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}, "", 0)


async def heard(referee: Referee, stage: Stage, monkeypatch: pytest.MonkeyPatch, server: Server) -> Any:
    ask = await asking(referee, stage, monkeypatch, server)
    return await ask(seat("P01", "PLAYER_A"), INVITATION, limit_s=5)


async def test_the_plain_way_needs_no_second_copy_of_the_body(
    referee: Referee, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    [one] = (await heard(referee, stage, monkeypatch, Server(YES))).wire
    assert "request" not in one
    known = {name: one[name] for name in ("path", "shape", "method", "session", "status", "content_type")}
    assert known == {
        "path": "/mcp",
        "shape": "canonical",
        "method": "handle_game_invitation",
        "session": False,
        "status": 200,
        "content_type": "application/json",
    }


async def test_other_ways_are_on_it_with_what_went_before(
    referee: Referee, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(UNKNOWN, Broken("broke off", connected=True), YES)
    wire = (await heard(referee, stage, monkeypatch, server)).wire
    assert [one["status"] for one in wire] == [200, None, 200]
    assert wire[0]["shape"] == "canonical" and wire[-1]["shape"] != "canonical"
    assert wire[-1]["request"] == server.bodies[-1]
    assert [one["id"] for one in wire] == [body["id"] for body in server.bodies]


async def test_a_request_that_nobody_took_is_on_it(
    referee: Referee, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await heard(referee, stage, monkeypatch, Server(NotReached("nobody", connected=False)))
    assert [(one["path"], one["status"]) for one in found.wire] == [("/mcp", None)]


def made(*wire: Wire) -> Any:
    return entry(n=1, at=datetime(2025, 1, 15, tzinfo=UTC), sender="a", recipient="b", message_type="X", wire=wire)


def one(**changes: Any) -> Wire:
    found: Wire = {
        "path": "/mcp",
        "shape": "flat",
        "method": "",
        "id": 1,
        "session": False,
        "status": 200,
        "content_type": "",
        "text": "no " + SECRET,
        "request": {"auth_token": SECRET, "note": SECRET},
    }
    found.update(changes)  # type: ignore[typeddict-item]
    return found


def test_an_entry_without_it_has_no_such_field() -> None:
    assert "wire" not in made()


def test_it_is_small_and_has_no_token() -> None:
    first, last = made(one(), one(path="/" + SECRET, content_type=SECRET, text=SECRET + "x" * 9000))["wire"]
    assert "request" not in first and "text" not in first
    assert last["path"] == "/tok_…" and last["content_type"] == "tok_…"
    assert len(last["text"]) == MAX_WIRE_TEXT_CHARS and last["request"] == {"auth_token": "tok_…", "note": "tok_…"}
    assert made(one(request={"x": "y" * 9000}))["wire"][0]["request"]["cut"] is True
