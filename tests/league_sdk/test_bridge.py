"""The bridge between a simulated league and a simulated agent: what it relays and prints."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import socket
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from league_sdk import bridge
from league_sdk.bridge import TAKEN_OVER, Outbox
from tests.league_sdk.bridge_servers import PATIENCE_S, TOKEN, Answer, Call, FakeServer, League, message, ok, run_relay


def test_a_message_goes_to_the_agent_as_it_was_sent_and_its_reply_comes_back(serve: Any) -> None:
    agent = serve(lambda call: ok({"jsonrpc": "2.0", "id": 1001, "result": {"parity_choice": "even"}}))
    league = League([message()])
    assert run_relay(serve(league), agent.url) == TAKEN_OVER
    [call] = agent.calls
    assert (call.target, call.json) == ("/mcp", message()["request"] | {"id": 1001})
    [delivered] = league.delivered
    assert (delivered["id"], delivered["http"]["status"]) == (7, 200)
    assert json.loads(delivered["http"]["body"])["result"] == {"parity_choice": "even"}


def test_another_path_and_a_session_go_to_the_agents_own_host(serve: Any) -> None:
    agent = serve(lambda call: (404, b"Not Found"))
    headers = {"mcp-session-id": "s1", "mcp-method": "tools/call", "authorization": "no", "host": "elsewhere"}
    league = League([message(path="/mcp/", headers=headers)])
    run_relay(serve(league), agent.url)
    [call] = agent.calls
    assert (call.target, call.headers["mcp-session-id"], call.headers["authorization"]) == ("/mcp/", "s1", None)
    assert (call.headers["mcp-method"], call.headers["host"]) == ("tools/call", f"127.0.0.1:{agent.port}")
    assert (league.delivered[0]["http"]["status"], league.delivered[0]["http"]["body"]) == (404, "Not Found")


def test_a_request_without_an_id_reaches_the_agent_without_one(serve: Any) -> None:
    agent = serve(lambda call: ok({}))
    bare = message()
    del bare["http"]["id"]
    run_relay(serve(League([bare])), agent.url)
    assert "id" not in agent.calls[0].json


@pytest.mark.parametrize("body", [b"\xff\xfe", b"<html>", b"", b'{"open', b"[" * 9000])
def test_a_body_that_is_not_json_is_passed_on_unchanged(serve: Any, body: bytes) -> None:
    agent, league = serve(lambda call: (500, body)), League([message()])
    run_relay(serve(league), agent.url)
    http = league.delivered[0]["http"]
    assert http["status"] == 500
    assert http.get("base64") == "//4=" if body == b"\xff\xfe" else http["body"] == body.decode()


def test_a_body_that_is_too_large_is_reported_and_not_sent(serve: Any) -> None:
    agent, league = serve(lambda call: (200, b"x" * 100_000)), League([message()])
    run_relay(serve(league), agent.url)
    assert "larger than" in league.delivered[0]["http"]["problem"]


def test_a_body_that_grows_by_being_quoted_is_reported_as_too_large(serve: Any) -> None:
    agent, league = serve(lambda call: (200, b"\x01" * 50_000)), League([message()])
    run_relay(serve(league), agent.url)
    assert "larger than" in league.delivered[0]["http"]["problem"]


def test_an_agent_that_is_absent_is_reported(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    absent = FakeServer(lambda call: None)
    absent.close()
    league = League([message()])
    run_relay(serve(league), absent.url)
    assert league.delivered[0]["http"] == {"problem": f"{absent.url}: nobody listens there", "sent": False}
    assert "did not answer: http" in capsys.readouterr().out


def test_an_agent_that_hangs_up_is_reported(serve: Any) -> None:
    league = League([message()])
    run_relay(serve(league), serve(lambda call: None).url)
    assert league.delivered[0]["http"]["sent"] is True


def test_an_agent_that_is_slow_is_given_up_and_others_are_answered(serve: Any) -> None:
    never = threading.Event()

    def agent(call: Call) -> tuple[int, bytes]:
        if call.json["id"] == 1:
            never.wait(PATIENCE_S)
        return ok({})

    league = League([message(7, 0.3, id=1), message(8)])
    run_relay(serve(league), serve(agent).url)
    never.set()
    assert [one["id"] for one in league.delivered] == [8]


@pytest.mark.parametrize("news", [[5], [{"request": []}], [{"request": {"id": "7"}}]])
def test_a_bridge_ignores_what_is_not_a_message(serve: Any, news: list[Any]) -> None:
    agent = serve(lambda call: ok({}))
    league = League([*news, message()])
    assert run_relay(serve(league), agent.url) == TAKEN_OVER
    assert len(agent.calls) == 1


@pytest.mark.parametrize(
    "secret",
    [
        TOKEN,
        "Bearer my-own-secret",
        "{'auth_token': 'my-own-secret'}",
        '{"text": "{\\"auth_token\\": \\"my-own-secret\\"}"}',
        '"leagueToken":"my-own-secret"',
        "registration_code=my-own-secret&x=1",
        "password: my-own-secret",
    ],
)
def test_a_bridge_prints_no_secret(capsys: pytest.CaptureFixture[str], secret: str) -> None:
    bridge.say(f"a {secret} b\x1b[2Jc\nd")
    printed = capsys.readouterr().out
    assert not any(one in printed for one in ("my-own-secret", "0000", "\x1b"))
    assert printed[9:].startswith("a ")
    assert printed.endswith(" b [2Jc d\n")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_a_line_that_a_terminal_cannot_show_does_not_end_the_bridge(encoding: str) -> None:
    out = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(out, encoding=encoding)):
        bridge.say("שלום… a")
        assert out.getvalue().endswith(b" a\n")
        out.close()
        bridge.say("nobody reads this")


def test_what_an_agent_says_of_its_token_is_not_printed(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    inner = {"accept": True, "auth_token": "my-own-secret"}
    agent = serve(lambda call: ok({"result": {"content": [{"type": "text", "text": json.dumps(inner)}], "m": inner}}))
    league = League([message()])
    run_relay(serve(league), agent.url)
    assert "accept" in (printed := capsys.readouterr().out)
    assert "my-own-secret" not in printed
    assert "my-own-secret" in league.delivered[0]["http"]["body"]


def test_messages_reach_the_agent_in_their_order(serve: Any) -> None:
    agent = serve(lambda call: ok({}), one_by_one=True)
    league = League([message(number, id=number) for number in range(1, 31)], wants=30)
    run_relay(serve(league), agent.url)
    assert [call.json["id"] for call in agent.calls] == list(range(1, 31))


def test_a_league_cannot_make_a_bridge_exceed_its_limit_of_calls_at_once(serve: Any) -> None:
    all_calls, release, calls_now, max_calls = threading.Event(), threading.Event(), 0, 0
    counting = threading.Lock()
    messages = 3 * bridge.MAX_AT_ONCE

    def agent(call: Call) -> Answer:
        nonlocal calls_now, max_calls
        with counting:
            calls_now += 1
        max_calls = max(max_calls, calls_now)
        if calls_now == bridge.MAX_AT_ONCE:
            all_calls.set()
        release.wait(PATIENCE_S)
        with counting:
            calls_now -= 1
        return ok({})

    league, listening = League([message(number) for number in range(1, messages + 1)], wants=messages), serve(agent)
    running = threading.Thread(target=run_relay, args=(serve(league), listening.url), daemon=True)
    running.start()
    assert all_calls.wait(PATIENCE_S)
    assert len(listening.calls) == bridge.MAX_AT_ONCE
    release.set()
    running.join(PATIENCE_S)
    assert max_calls <= bridge.MAX_AT_ONCE
    assert {one["id"] for one in league.delivered} == set(range(1, messages + 1))


def test_a_poll_that_is_too_large_is_not_read(serve: Any) -> None:
    agent, league = serve(lambda call: ok({})), League((200, b" " * (bridge.MAX_NEWS_BYTES + 1)), [message()])
    assert run_relay(serve(league), agent.url) == TAKEN_OVER
    assert len(league.delivered) == 1


@pytest.mark.parametrize("path", ["http://192.0.2.1:22/", "//192.0.2.1/", "@192.0.2.1/", "/a\r\nX: y", "", "/\u05d0"])
def test_a_league_cannot_make_a_bridge_call_anybody_but_the_agent(
    serve: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, called, connect = serve(lambda call: ok({})), set[Any](), socket.create_connection

    def noting(address: Any, *arguments: Any, **options: Any) -> socket.socket:
        called.add(address)
        return connect(address, *arguments, **options)

    monkeypatch.setattr(socket, "create_connection", noting)
    league = League([message(path=path), message(8)], wants=2)
    inbox = serve(league)
    assert run_relay(inbox, agent.url) == TAKEN_OVER
    assert called == {("127.0.0.1", inbox.port), ("127.0.0.1", agent.port)}
    assert {one["id"] for one in league.delivered} == {7, 8}
    assert all(call.headers["X"] is None for call in agent.calls)


def test_an_answer_does_not_wait_behind_a_slow_one(serve: Any) -> None:
    """On a bad network a request may take seconds: the next answer goes by another connection, with the first."""
    stuck, delivered, first_arrived = threading.Event(), list[list[int]](), threading.Event()

    def league(call: Call) -> tuple[int, bytes]:
        delivered.append([one["id"] for one in call.json["responses"]])
        first_arrived.set()
        if len(delivered) == 1:
            stuck.wait(PATIENCE_S)
        return ok({"accepted": 1, "not_awaited": []})

    out = Outbox("Ada", urlsplit(serve(league).url), "/inbox", {}, threading.Event())
    slow = threading.Thread(target=out.deliver, args=({"id": 7}, PATIENCE_S), daemon=True)
    slow.start()
    assert first_arrived.wait(PATIENCE_S)
    out.deliver({"id": 8}, PATIENCE_S)
    assert delivered == [[7], [8, 7]]
    stuck.set()
    slow.join(PATIENCE_S)
    assert not slow.is_alive()


def test_a_single_slow_answer_is_sent_once_more(serve: Any) -> None:
    sent_again, delivered = threading.Event(), list[int]()

    def league(call: Call) -> tuple[int, bytes]:
        delivered.append(call.json["responses"][0]["id"])
        if len(delivered) == 1:
            assert sent_again.wait(PATIENCE_S), "it was not sent again"
        sent_again.set()
        return ok({"accepted": 1, "not_awaited": []})

    Outbox("Ada", urlsplit(serve(league).url), "/inbox", {}, threading.Event()).deliver({"id": 7}, PATIENCE_S)
    assert delivered == [7, 7]


def test_an_answer_whose_time_is_over_is_not_sent(serve: Any) -> None:
    delivered = list[Any]()
    out = Outbox("Ada", urlsplit(serve(delivered.append).url), "/inbox", {}, threading.Event())
    out.deliver({"id": 7}, 0.0)
    assert delivered == []


def test_the_bridge_has_only_syntax_of_python_3_9() -> None:
    ast.parse(Path(bridge.__file__).read_text(encoding="utf-8"), feature_version=(3, 9))


def test_the_waits_grow_to_a_limit_and_differ() -> None:
    waited: list[float] = []

    class Wake(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            waited.append(timeout)
            return False

    for failures in range(1, 12):
        bridge.pause(failures, Wake())
    for failures, seconds in enumerate(waited, 1):
        whole = min(bridge.MAX_BACKOFF_S, bridge.BACKOFF_S * 2**failures)
        assert whole / 2 <= seconds <= whole
    assert len(set(waited)) == len(waited)
