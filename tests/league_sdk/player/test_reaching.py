"""How the league reaches a player, and the auth_token that a player keeps."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from league_sdk.dialling import Ended, Inbox, NotAllowed
from league_sdk.player import Player
from league_sdk.player.reaching import KeptTokens, keep_reachable
from league_sdk.player.registration import request_for
from tests.bots.base import listening

LEAGUE = "http://127.0.0.1:8000/mcp"
ENDPOINT = "http://127.0.0.1:8101/mcp"


async def test_a_player_that_the_league_has_called_fetches_nothing() -> None:
    player, lines = Player("Alpha"), list[str]()
    player.called.set()
    await keep_reachable(player, ENDPOINT, say=lines.append, call_wait_s=60)
    assert lines == []


async def test_a_player_that_nobody_calls_says_so_and_dials_out() -> None:
    async def refuse(request: web.BaseRequest) -> web.Response:
        return web.Response(status=401)

    async with listening(refuse) as url:
        inbox = Inbox(url, url.replace("http", "ws", 1), "tok_1")
        player, lines = Player("Alpha", inbox=inbox), list[str]()
        with pytest.raises(NotAllowed):
            await keep_reachable(player, ENDPOINT, say=lines.append, call_wait_s=0)
    assert lines == [f"Alpha: the league did not call {ENDPOINT} within 0 s, so messages are fetched, too"]


async def test_without_inboxes_at_the_league_a_player_that_listens_goes_on_and_one_that_does_not_ends() -> None:
    lines: list[str] = []
    await keep_reachable(Player("Alpha"), ENDPOINT, say=lines.append, call_wait_s=0)
    with pytest.raises(Ended, match="no inboxes"):
        await keep_reachable(Player("Alpha"), "", say=lines.append)
    assert lines == []


async def test_a_player_that_is_called_while_it_waits_does_not_dial_out() -> None:
    player, lines = Player("Alpha"), list[str]()
    waiting = asyncio.create_task(keep_reachable(player, ENDPOINT, say=lines.append, call_wait_s=60))
    await asyncio.sleep(0)
    player.called.set()
    await waiting
    assert lines == []


def test_a_kept_token_is_recalled_for_its_player_and_league_only(tmp_path: Path) -> None:
    player = Player("Alpha", auth_token="tok_1")
    KeptTokens(tmp_path / "data", LEAGUE).keep(player)
    (file,) = (tmp_path / "data").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    for name, league, token in [("Alpha", LEAGUE, "tok_1"), ("Beta", LEAGUE, ""), ("Alpha", "http://other/mcp", "")]:
        again = Player(name)
        KeptTokens(tmp_path / "data", league).recall(again)
        assert again.auth_token == token


def test_without_a_data_folder_nothing_is_kept() -> None:
    player = Player("Alpha", auth_token="tok_1")
    KeptTokens(None, LEAGUE).keep(player)
    KeptTokens(None, LEAGUE).recall(again := Player("Alpha"))
    assert again.auth_token == ""


def test_a_token_file_that_cannot_be_used_is_refused_with_a_sentence(tmp_path: Path) -> None:
    tokens = KeptTokens(tmp_path, LEAGUE)
    tokens.keep(Player("Alpha", auth_token="tok_1"))
    (file,) = tmp_path.iterdir()
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(ValueError, match="auth_token is missing"):
        tokens.recall(Player("Alpha"))


def test_a_registration_without_address_names_the_delivery_and_has_the_token() -> None:
    request = request_for(Player("Alpha", auth_token="tok_1"), "", None)
    assert request["auth_token"] == "tok_1"
    assert request["player_meta"]["delivery"] == "websocket"
    assert "contact_endpoint" not in request["player_meta"]


async def test_only_a_message_with_the_league_token_shows_that_the_league_can_call() -> None:
    registering = Player("Alpha", registering=True)
    early = asyncio.create_task(registering.note_call({"auth_token": "tok_league"}))
    await asyncio.sleep(0)
    for message in (
        {},
        {"auth_token": ""},
        {"auth_token": 5},
        {"auth_token": "tok_neighbour"},
        {"auth_token": "tok_own"},
    ):
        registered = Player("Beta", auth_token="tok_own", league_token="tok_league")
        await registered.note_call(message)
        assert not registered.called.is_set()
    # A call that comes before the answer to the registration counts, too, once the league token is known.
    assert not registering.called.is_set()
    registering.accept({"player_id": "P01", "auth_token": "tok_own", "league_token": "tok_league"})
    await early
    assert registering.called.is_set()
