"""The starter kits where something is wrong: no league yet, a refusal, a stranger's call, a thief of tokens."""

from __future__ import annotations

import json
import re
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.e2e import kits
from tests.e2e.kits import KitPlayer
from tests.e2e.ports import free_port
from tests.e2e.pretending import LEAGUE_TOKEN, TOKEN, Pretender, Reply, Request, accepted, pretender
from tests.e2e.site import wait_for

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.parametrize("language", kits.LANGUAGES),
]
INVITATION = {
    "message_type": "GAME_INVITATION",
    "match_id": "R1M1",
    "conversation_id": "c1",
    "auth_token": LEAGUE_TOKEN,
}
CHOICE = INVITATION | {"message_type": "CHOOSE_PARITY_CALL"}
OVER = INVITATION | {"message_type": "GAME_OVER", "game_result": {"status": "WIN", "winner_player_id": "P01"}}
DEEP = "[" * 20_000 + "]" * 20_000
UNREADABLE = (
    "",
    "{",
    '"',
    "\x00",
    "nul",
    '{"id": 1,}',
    "[1, 2",
    '{"a" 1}',
    '{"a": "\\u12"}',
    '{"a": "\\x"}',
    "\ufeff",
    "{" * 9,
)
NOT_REQUESTS = ("[]", "null", "1", '"text"', "true", '{"id": 1, "params": 7}', '{"id": 1, "params": "text"}', "[{}]")


@contextmanager
def playing(language: str, *options: str) -> Iterator[KitPlayer]:
    """A player as a process, registered or not."""
    folder, command = kits.built(language)
    player = KitPlayer(folder, *command, *options)
    try:
        yield player
    finally:
        player.close()


def welcome(league: Pretender, request: Request) -> Reply:
    """A league that accepts every player and sends no message."""
    if "/inbox" in request.path:
        return Reply(200, {"messages": [], "next": "c1"})
    return Reply(200, accepted(f"{league.url}/inbox"))


def assert_ended(player: KitPlayer, code: int, *texts: str) -> None:
    """Check that the player prints these texts and ends with an exit code."""
    assert player.process.wait(timeout=60) == code, player.printed()
    for text in texts:
        assert text in player.printed()


@contextmanager
def listening_player(language: str, name: str) -> Iterator[KitPlayer]:
    """A player that is registered at a league that accepts everybody, and listens."""
    with pretender(welcome) as league:
        options = ("--league", f"{league.url}/mcp", "--name", name, "--port", "0", "--listen")
        with playing(language, *options) as player:
            player.wait_for_line("READY")
            yield player


def ask(player: KitPlayer, message: dict[str, Any], **request: Any) -> dict[str, Any]:
    """Call a player at its port with a message; returns its answer."""
    body = {"jsonrpc": "2.0", "method": "x", "params": message, "id": 1} | request
    return dict(httpx.post(player.endpoint, json=body, timeout=30, trust_env=False).json())


def test_the_kit_waits_for_its_league_and_says_so_once(language: str) -> None:
    port, busy = free_port(), iter([Reply(503, "starting"), Reply(429, {"error": {"message": "too often"}})])
    options = ("--league", f"http://127.0.0.1:{port}/mcp", "--name", "Early", "--dial-out")
    with playing(language, *options) as player:
        player.wait_for_line(f"The league at http://127.0.0.1:{port}/mcp does not answer yet")
        with pretender(lambda league, request: next(busy, None) or welcome(league, request), port):
            ready = player.wait_for_line("READY")
        assert ready == f"READY http://127.0.0.1:{port}/inbox P01 auth_token: {TOKEN}"
        assert player.printed().count("does not answer yet") == 1


def test_the_kit_says_why_it_is_refused_and_ends(language: str) -> None:
    answers = {
        "/rejects": Reply(200, {"jsonrpc": "2.0", "id": 1, "result": {"status": "REJECTED", "reason": "It is full."}}),
        "/errs": Reply(200, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "No such league."}}),
        "/page": Reply(200, "<html>Log in to this Wi-Fi</html>"),
        "/list": Reply(200, [1]),
        "/absent": Reply(404, "<html>Nothing here</html>"),
    }
    expected_texts = {
        "/rejects": "Not accepted: It is full.",
        "/errs": "Not accepted: No such league.",
        "/absent": "404",
    }
    with pretender(lambda _league, request: answers[request.path]) as league:
        for path in answers:
            with playing(language, "--league", f"{league.url}{path}", "--name", "Unwanted", "--dial-out") as player:
                assert_ended(player, 3, "Not accepted: ", expected_texts.get(path, f"{league.url}{path}"))
        assert [json.loads(request.body)["params"]["player_meta"]["display_name"] for request in league.requests] == [
            "Unwanted"
        ] * 5


def test_the_kit_does_not_start_with_wrong_options(language: str) -> None:
    with socket.create_server(("0.0.0.0", 0)) as listener:
        port = str(listener.getsockname()[1])
        wrong = (
            ((), "name"),
            (("--name", "A", "--nope"), "nope"),
            (("--name", "A", "--listen", "--dial-out"), "--dial-out"),
            (("--name", "A", "--league", "nonsense"), "http://"),
            (("--name", "A", "--port", port), f"Port {port}"),
            (("--name", "A", "--port", "many"), "port"),
        )
        for options, text in wrong:
            with playing(language, *options) as player:
                assert_ended(player, 2, text)


def test_the_kit_answers_after_broken_bodies_and_connections(language: str) -> None:
    with listening_player(language, "Broken") as player:
        url, headers = player.endpoint, {"Content-Type": "application/json"}
        with httpx.Client(timeout=30, trust_env=False, headers=headers) as client:
            for bodies, code in ((UNREADABLE, -32700), (NOT_REQUESTS, -32600)):
                for body in bodies:
                    answer = client.post(url, content=body.encode()).json()
                    assert (body, answer["id"] in (None, 1), answer["error"]["code"]) == (body, True, code)
            assert client.post(url, content=b'{"id": 1, "params": "\xff\xfe"}').status_code < 500
            for body in (DEEP, '{"a":' * 20_000 + "1" + "}" * 20_000, f'{{"id": {DEEP}, "method": "ping"}}'):
                client.post(url, content=body.encode())
            deep = {"method": "x", "id": 1, "params": INVITATION | {"conversation_id": "DEEP"}}
            client.post(url, content=json.dumps(deep).replace('"DEEP"', DEEP).encode())
            assert client.post(url, json={"jsonrpc": "2.0", "method": "ping"}).status_code == 204
            assert client.get(url.replace("/mcp", "/health")).json()["agent_id"] == "P01"
            assert client.get(url).status_code == 404
        for message in ({}, {"match_id": 7}, {"valid_options": "x"}, {"valid_options": []}, {"valid_options": {}}):
            for kind in ("GAME_INVITATION", "GAME_MOVE_CALL", "CHOOSE_PARITY_CALL", "GAME_OVER"):
                ask(player, {"message_type": kind} | message)
        ask(player, OVER | {"game_result": "none"})
        port = int(url.rpartition(":")[2].partition("/")[0])
        for head in (b"Content-Length: -1", b"Content-Length: x", b"Content-Length: 99999999999999999999", b"X: y"):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n{}")
        with (
            socket.create_connection(("127.0.0.1", port)) as garbage,
            socket.create_connection(("127.0.0.1", port)) as short,
        ):
            short.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{")
            garbage.sendall(b"\x16\x03\x01garbage\r\n\r\n")
            # It answers other callers while two connections send no complete request.
            assert ask(player, INVITATION)["result"]["accept"] is True
        assert ask(player, CHOICE)["result"]["parity_choice"] in ("even", "odd")
        assert player.process.poll() is None


def test_the_kit_tells_its_token_to_its_league_only(language: str) -> None:
    with listening_player(language, "Quiet") as player:
        for message in (INVITATION, CHOICE):
            assert ask(player, message)["result"]["auth_token"] == TOKEN
            for token in (None, "", "tok_x", TOKEN, [LEAGUE_TOKEN], 0):
                assert TOKEN not in json.dumps(ask(player, message | {"auth_token": token}))
        league_choice = ask(player, CHOICE)["result"]["parity_choice"]
        assert [ask(player, CHOICE)["result"]["parity_choice"] for _ in range(20)] == [league_choice] * 20
        # A stranger does not read the choice that was made for the league: each gets one of its own.
        strangers = [CHOICE | {"auth_token": f"tok_{number}"} for number in range(20)]
        choices = [ask(player, call)["result"]["parity_choice"] for call in strangers]
        assert set(choices) == {"even", "odd"}
        # And changes none by calling in between.
        assert [ask(player, call)["result"]["parity_choice"] for call in strangers] == choices
        assert ask(player, CHOICE)["result"]["parity_choice"] == league_choice
        # The results that a stranger sends are not believed.
        ask(player, OVER | {"auth_token": "tok_x", "match_id": "\x1b[31mFAKE"})
        ask(player, OVER)
        player.wait_for_line("winner: P01")
        assert player.printed().count(TOKEN) == 1  # in READY
        assert (player.printed().count("winner:"), "FAKE" in player.printed()) == (1, False)


def test_the_kit_follows_no_redirect_and_no_inbox_away_from_its_league(language: str) -> None:
    with pretender(lambda *_: Reply(200, {"messages": [], "next": "t"})) as thief:
        moved = threading.Event()

        def leads_away(league: Pretender, request: Request) -> Reply:
            if moved.is_set():
                return Reply(307, location=f"{thief.url}/mcp")
            if "/inbox" in request.path:
                return Reply(307 if len(league.requests) % 2 else 302, location=f"{thief.url}/inbox")
            return Reply(200, accepted(f"{thief.url}//{thief.url.partition('//')[2]}/inbox"))

        with pretender(leads_away) as league:
            options = ("--league", f"{league.url}/mcp", "--name", "Followed", "--dial-out")
            with playing(language, *options) as player:
                player.wait_for_line("trying again")
                wait_for("the kit asks its league again", lambda: len(league.requests) > 3)
            moved.set()
            with playing(language, *options) as player:
                assert_ended(player, 3, "Not accepted: ", "307")
            # The kit had sent its stored token to the league; the redirect did not take it to the thief.
            assert TOKEN in league.requests[-1].body
        assert thief.requests == []


def test_the_kit_registers_as_the_join_page_says(language: str) -> None:
    meta = {"display_name": "Ada ö א", "version": "1.0.0", "game_types": ["connect_four"]}
    with pretender(welcome) as league:
        file = kits.write_league_json(language, f"{league.url}/mcp", "connect_four")
        try:
            listens = ("--port", "0", "--listen", "--code=sesame", "--endpoint", "http://192.0.2.1:8101/mcp")
            for options in (listens, ("--dial-out",)):
                with playing(language, "--name", "Ada ö א", *options) as player:
                    player.wait_for_line("READY")
        finally:
            file.unlink()
        first, second = (json.loads(request.body) for request in league.requests if request.path == "/mcp")
    for body in (first, second):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", body["params"].pop("timestamp"))
    envelope = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:Ada ö א",
        "conversation_id": "conv-registration",
    }
    way = {"contact_endpoint": "http://192.0.2.1:8101/mcp", "delivery": "push", "registration_code": "sesame"}
    assert first == {"jsonrpc": "2.0", "method": "register_player", "id": 1} | {
        "params": envelope | {"player_meta": meta | way}
    }
    # Started again it is the same player, by the token that nobody else can read.
    assert second["params"] == envelope | {"player_meta": meta | {"delivery": "poll"}, "auth_token": TOKEN}
    folder, _command = kits.built(language)
    token_files = [file for file in folder.glob("token-*") if file.read_text() == TOKEN]
    assert token_files and {stat.S_IMODE(file.stat().st_mode) for file in token_files} == {0o600}


@pytest.mark.parametrize("status", [401, 409])
def test_the_kit_ends_when_its_token_is_unknown_or_another_program_took_over(language: str, status: int) -> None:
    expected_texts = {401: "does not know our auth_token any more", 409: "run only one of them"}

    def dismisses(league: Pretender, request: Request) -> Reply:
        return Reply(status, "{}") if "/inbox" in request.path else welcome(league, request)

    with pretender(dismisses) as league:
        options = ("--league", f"{league.url}/mcp", "--name", "Dismissed", "--dial-out")
        with playing(language, *options) as player:
            assert_ended(player, 1, "READY", expected_texts[status])
