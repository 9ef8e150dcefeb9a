"""The starter kit in Python: how it answers calls and /health, and fetches its messages."""

from __future__ import annotations

import importlib.util
import io
import json
import socket
from email.message import Message
from types import ModuleType
from typing import Any
from urllib.error import HTTPError

import pytest

from tests.paths import ROOT


def kit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kit_player", ROOT / "examples" / "kit" / "python" / "player.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Writes(io.RawIOBase):
    """A raw stream that keeps the chunks of its writes apart."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.chunks.append(bytes(data))
        return len(data)


class Connection:
    """Stands in for a socket on which one request comes in."""

    def __init__(self, request: bytes) -> None:
        self.request, self.writes = request, Writes()
        self.options: list[tuple[int, int, int]] = []

    def makefile(self, mode: str, size: int = -1) -> Any:
        if "r" in mode:
            return io.BytesIO(self.request)
        return io.BufferedWriter(self.writes) if size else self.writes

    def setsockopt(self, *option: int) -> None:
        self.options.append(option)  # type: ignore[arg-type]

    def sendall(self, data: bytes) -> None:
        self.writes.write(data)


def ask(verb: str, path: str, body: bytes = b"") -> tuple[Connection, dict[str, Any]]:
    """Send one request to the kit; returns its connection, and the answer's JSON."""
    head = f"{verb} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    connection = Connection(head.encode() + body)
    kit().Handler(connection, ("127.0.0.1", 1), None)
    return connection, json.loads(b"".join(connection.writes.chunks).partition(b"\r\n\r\n")[2])


def test_the_kit_answers_in_one_write_without_delay() -> None:
    message = {"message_type": "CHOOSE_PARITY_CALL", "match_id": "R1M1"}
    body = json.dumps({"jsonrpc": "2.0", "method": "choose_parity", "params": message, "id": 7}).encode()
    connection, answer = ask("POST", "/mcp", body)
    assert answer["result"]["parity_choice"] in ("even", "odd")
    assert len(connection.writes.chunks) == 1
    assert connection.options == [(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)]


def test_the_kit_answers_health_and_refuses_other_paths() -> None:
    _, health = ask("GET", "/health")
    assert (health["status"], health["agent_id"], health["uptime"] >= 0) == ("starting", None, True)
    assert ask("GET", "/other")[1] == {"error": "POST to /mcp"}


def test_the_kit_recognises_a_call_of_the_league_by_its_token() -> None:
    player = kit()
    player.ME.update(player_id="P01", auth_token="tok_a", league_token="tok_l")
    for token, called in (("tok_other", False), ("tok_l", True)):
        message = {"message_type": "PING", "auth_token": token}
        raw = json.dumps({"jsonrpc": "2.0", "method": "ping", "params": message, "id": 1}).encode()
        assert player.respond(raw, player.CALLED)["result"] == {"status": "ok"}
        assert player.CALLED.is_set() is called


def test_a_call_that_is_sent_again_gets_the_same_choice_whoever_called_in_between() -> None:
    player, callers = kit(), [f"tok_{number}" for number in range(32)]

    def choices() -> list[str]:
        calls = [{"message_type": "CHOOSE_PARITY_CALL", "match_id": "R1M1", "auth_token": token} for token in callers]
        return [player.answer(call)["parity_choice"] for call in calls]

    assert choices() == choices()
    for number in range(1000):
        player.answer({"message_type": "CHOOSE_PARITY_CALL", "match_id": "R1M1", "conversation_id": f"c{number}"})
    assert len(player.CHOICES) == 32


def calling(monkeypatch: pytest.MonkeyPatch, player: Any, call: Any, waited: list[float]) -> None:
    """The league is called by ``call``, and instead of waiting the seconds are noted."""
    monkeypatch.setattr(player, "call", call)
    monkeypatch.setattr(player.time, "sleep", waited.append)


@pytest.mark.parametrize(("status", "says"), [(401, "does not know our auth_token"), (409, "Another program")])
def test_the_kit_stops_when_its_token_is_refused_or_another_program_has_its_place(
    monkeypatch: pytest.MonkeyPatch, status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    player, waited = kit(), []
    replies = [OSError("away"), HTTPError("http://league/inbox", 503, "busy", Message(), None)]
    replies.append(HTTPError("http://league/inbox", status, "no", Message(), None))

    def call(*_: Any, **__: Any) -> None:
        raise replies.pop(0)

    calling(monkeypatch, player, call, waited)
    with pytest.raises(SystemExit, match=says):
        player.fetch("http://league/inbox")
    # A league that cannot be reached is asked again, each time after a pause.
    assert [1 <= seconds <= 3 for seconds in waited] == [True, True]
    assert capsys.readouterr().out.count("trying again") == 2


def test_an_answer_that_could_not_be_delivered_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    player, cursors, answer_ids = kit(), [], []
    request = {"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"message_type": "PING"}}

    def call(address: str, body: Any = None, **_: Any) -> Any:
        if body is not None:
            answer_ids.append(body["responses"][0]["id"])
            if len(answer_ids) == 1:
                raise TimeoutError
            return {"accepted": 1}
        cursors.append(address.partition("after=")[2])
        if len(cursors) == 3:
            raise HTTPError(address, 409, "taken over", Message(), None)
        return {"messages": [{"request": request}], "next": "c1"}

    calling(monkeypatch, player, call, [])
    with pytest.raises(SystemExit):
        player.fetch("http://league/inbox")
    # The cursor tells the league what was answered, so it stays the same until the answer has been delivered.
    assert (cursors, answer_ids) == (["", "", "c1"], [5, 5])
