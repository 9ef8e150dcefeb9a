"""A bridge goes on after sleep, another network, and whatever happens to the league: no answer is lost."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from league_sdk import bridge
from league_sdk.bridge import (
    NOT_VALID,
    TAKEN_OVER,
    Bridge,
    Connection,
    Limits,
    NoReply,
    Relay,
    Server,
    Tokens,
    moved,
)
from tests.e2e.ports import free_port
from tests.league_sdk.bridge_servers import (
    CUT,
    PATIENCE_S,
    TOKEN,
    Answer,
    Call,
    League,
    accepted,
    message,
    ok,
    run_relay,
)

pytestmark = pytest.mark.usefixtures("hasty")


def test_sleep_and_another_network_are_noticed() -> None:
    sights = iter([(0.0, "10.0.0.1"), (1.0, "10.0.0.1"), (61.0, "10.0.0.1"), (62.0, ""), (63.0, "10.0.0.9")])
    assert list(moved(sights)) == [False, True, True, True]


@pytest.mark.timeout(60)
def test_a_connection_that_never_opens_is_given_up_soon() -> None:
    """The network changed at its beginning: the other end answers to an address that this machine no longer has."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # Nobody accepts, and the kernel takes no more than these.
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        connection = Connection(urlsplit(f"http://127.0.0.1:{full.getsockname()[1]}"), connect_s=0.05)
        with pytest.raises(NoReply) as given_up:
            connection.call("GET", "/", None, {}, Limits(3600.0, 1000))
    assert (given_up.value.sent, given_up.value.late) == (False, True)


@pytest.mark.parametrize("after", [(100.0, "10.0.0.1"), (1.0, "192.168.1.7"), (1.0, "")])
def test_a_waiting_poll_is_started_again_after_sleep_or_in_another_network(
    serve: Any, tmp_path: Path, after: tuple[float, str]
) -> None:
    agent, inbox = serve(lambda call: ok({})), League([message()])
    begun, never = threading.Event(), threading.Event()

    def league(call: Call) -> Answer:
        if begun.is_set():
            return inbox(call)
        begun.set()
        never.wait(PATIENCE_S)
        return None

    one = Bridge(serve(league).url, Tokens(tmp_path / "kept.json"))
    relay, ended = one.relay("Ada", "/inbox", TOKEN, Server(agent.url)), list[str]()
    running = threading.Thread(target=lambda: ended.append(relay.run()), daemon=True)
    running.start()
    assert begun.wait(PATIENCE_S)
    bridge.watch(one, iter([(0.0, "10.0.0.1"), (0.5, "10.0.0.1"), after]))
    running.join(PATIENCE_S)
    never.set()
    assert (ended, len(agent.calls), {one["id"] for one in inbox.delivered}) == ([TAKEN_OVER], 1, {7})


def test_a_league_that_is_away_for_a_moment_is_polled_again(serve: Any) -> None:
    agent = serve(lambda call: ok({}))
    away: list[Answer] = [
        (502, b"<html>"),
        None,
        (503, b"no"),
        (200, b"no json"),
        (200, b"[]"),
        (429, b"{}"),
        (404, b""),
    ]
    league = League(*away, [message()])
    assert run_relay(serve(league), agent.url) == TAKEN_OVER
    assert (len(agent.calls), {one["id"] for one in league.delivered}) == (1, {7})


def test_a_poll_that_breaks_off_is_polled_again(serve: Any) -> None:
    agent = serve(lambda call: ok({}))
    league = League((CUT, b'{"messages": [{"cursor": "7", "req'), (CUT, b""), [message()])
    assert run_relay(serve(league), agent.url) == TAKEN_OVER
    assert (len(agent.calls), {one["id"] for one in league.delivered}) == (1, {7})


@pytest.mark.parametrize("refused", [None, (CUT, b"{"), (503, b"no"), (502, b""), (429, b"{}")])
def test_an_answer_that_was_lost_is_delivered_again_without_asking_the_agent_again(serve: Any, refused: Answer) -> None:
    agent = serve(lambda call: ok({}))
    league = League([message()])
    league.refusals = [refused] * 3
    run_relay(serve(league), agent.url)
    assert (len(agent.calls), {one["id"] for one in league.delivered}) == (1, {7})


def test_a_message_that_comes_twice_is_answered_once_by_the_agent(serve: Any) -> None:
    agent = serve(lambda call: ok({"n": call.json["id"]}))
    league = League([message(), message(8)], [message(), message(8)], wants=2)
    run_relay(serve(league), agent.url)
    assert [call.json["id"] for call in agent.calls] == [1001, 1001]
    assert {one["id"] for one in league.delivered} == {7, 8}


def test_a_site_that_is_started_again_gets_every_answer_and_each_question_is_asked_once(serve: Any) -> None:
    agent, asked_for_more, never = serve(lambda call: ok({})), threading.Event(), threading.Event()
    polls = [ok({"messages": [message()], "next": "old"})]

    def stopping(call: Call) -> Answer:
        if call.verb == "POST":
            return 503, b"stopping"
        if not polls:
            asked_for_more.set()
            never.wait(PATIENCE_S)
            return None
        return polls.pop()

    # Not a port that the system gives to clients: a client that calls such a port when it is closed may reach itself.
    site = serve(stopping, free_port())
    ended: list[str] = []
    running = threading.Thread(target=lambda: ended.append(run_relay(site, agent.url)), daemon=True)
    running.start()
    assert asked_for_more.wait(PATIENCE_S)
    site.close()
    # The new site knows no cursor and offers the messages that are not answered yet again.
    league = League([message(), message(8)], wants=2)
    again = serve(league, site.port)
    never.set()
    running.join(PATIENCE_S)
    assert ended == [TAKEN_OVER]
    assert "after=old" in again.calls[0].target or again.calls[0].verb == "POST"
    assert len(agent.calls) == 2
    assert {one["id"] for one in league.delivered} == {7, 8}


def test_a_name_that_is_not_found_for_a_while_is_looked_up_again(
    serve: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    agent, inbox, real = serve(lambda call: ok({})), League([message()]), socket.getaddrinfo
    failures = 4

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal failures
        if host != "league.test":
            return real(host, *arguments, **options)
        if failures:
            failures -= 1
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return real("127.0.0.1", *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    league = urlsplit(f"http://league.test:{serve(inbox).port}/mcp")
    assert Relay("Ada", league, "/inbox", TOKEN, Server(agent.url)).run() == TAKEN_OVER
    assert (len(agent.calls), {one["id"] for one in inbox.delivered}) == (1, {7})
    printed = capsys.readouterr().out
    assert "the league cannot be reached (its name is not found); trying again until it can." in printed
    assert "the league is there again" in printed
    assert printed.count("cannot be reached") == 1


def test_a_registration_waits_for_a_league_that_is_not_up_yet(serve: Any, tmp_path: Path) -> None:
    answers: list[Answer] = [(503, b"no"), None, (502, b"")]
    league = serve(lambda call: answers.pop(0) if answers else accepted(call))
    one = Bridge(league.url, Tokens(tmp_path / "kept.json"))
    one.server = Server("http://127.0.0.1:9/mcp")
    assert one.register("Ada", ["even_odd"], "") is not None
    assert len(league.calls) == 4


def test_a_relay_that_is_replaced_says_nothing(serve: Any) -> None:
    def league(call: Call) -> Answer:
        relay.stop()
        return 409, b"{}"

    relay = Relay("Ada", urlsplit(serve(league).url), "/inbox", TOKEN, Server("http://127.0.0.1:9/mcp"))
    assert relay.run() == ""


def test_a_token_that_is_not_valid_any_more_ends_the_relay(serve: Any) -> None:
    assert run_relay(serve(lambda call: (401, b"{}")), "http://127.0.0.1:9/mcp") == NOT_VALID
