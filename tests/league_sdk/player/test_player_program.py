"""The registration of players, and the command line of a player (004 8.4, 5.12)."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from aiohttp import ClientSession, web

from league_sdk.player import AlwaysOdd, Player
from league_sdk.player.registration import (
    RegistrationRefused,
    Unusable,
    ask,
    league_address,
    make_client,
    read_response,
    register,
    register_all,
)
from league_sdk.protocol import SDK_VERSION
from league_sdk.protocol.envelope import parse_stamp
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from tests.bots.base import listening
from tests.league_sdk.player.samples import ACCEPTED, CHOICE, LEAGUE_TOKEN, TOKEN


@pytest_asyncio.fixture
async def league() -> AsyncIterator[tuple[str, list[Any], list[web.Response]]]:
    """A league with prepared answers, which records its requests."""
    requests: list[Any] = []
    answers: list[web.Response] = []

    async def mcp(request: web.BaseRequest) -> web.Response:
        requests.append(await request.json())
        return answers.pop(0)

    async with listening(mcp) as url:
        yield url, requests, answers


def accepted(**fields: Any) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", "result": ACCEPTED | fields, "id": 1})


async def test_registration_asks_as_chapter_8_shows_until_it_is_answered(
    league: tuple[str, list[Any], list[web.Response]],
) -> None:
    url, requests, answers = league
    answers += [web.Response(status=503), web.Response(text="not json"), accepted()]
    player = Player("Alpha", AlwaysOdd(), league_id="L7", game_types=("even_odd",))
    own = "http://127.0.0.1:8101/mcp"
    async with make_client() as http:
        await register(player, league=url, endpoint=own, http=http, code="abc", first_backoff_s=0.0)
    assert (player.player_id, player.auth_token, player.league_token) == ("P01", TOKEN, LEAGUE_TOKEN)
    assert (player.league_id, player.registered.is_set(), len(requests)) == ("league_2025_even_odd", True, 3)
    assert (requests[2]["method"], requests[2]["id"], requests[2]["jsonrpc"]) == ("register_player", 1, "2.0")
    params = requests[2]["params"]
    parse_stamp(params.pop("timestamp"))
    assert params == {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:Alpha",
        "conversation_id": "conv-player-alpha-reg-001",
        "league_id": "L7",
        "player_meta": {
            "display_name": "Alpha",
            "version": "1.0.0",
            "protocol_version": "2.1.0",
            "game_types": ["even_odd"],
            "contact_endpoint": "http://127.0.0.1:8101/mcp",
            "delivery": "push",
            "league_id": "L7",
            "registration_code": "abc",
        },
    }


async def test_a_rejection_names_the_player_and_the_reason(
    league: tuple[str, list[Any], list[web.Response]],
) -> None:
    url, _, answers = league
    answers.append(accepted(status="REJECTED", reason="The league is full."))
    with pytest.raises(RegistrationRefused, match=r"^Alpha was rejected: The league is full\.$"):
        await register_all([("http://127.0.0.1:1/mcp", Player("Alpha", AlwaysOdd()))], league=url)


def test_a_registration_is_retried_only_after_a_temporary_error() -> None:
    assert read_response([]) is None
    assert read_response({"error": {"code": -32603, "message": "busy"}}) is None
    assert read_response({"error": {"code": -32000, "data": {"retryable": True}}}) is None
    with pytest.raises(RegistrationRefused, match="no such league"):
        read_response({"error": {"code": -32000, "message": "no such league"}})


def test_the_path_of_the_league_address_may_be_left_out() -> None:
    for address in ("http://127.0.0.1:8000", "http://127.0.0.1:8000/", "http://127.0.0.1:8000/mcp"):
        assert league_address(address) == "http://127.0.0.1:8000/mcp"
    unreadable = ("http://x:99999", "http://[::1", "http://a\tb")
    for wrong in ("127.0.0.1:8000", "ftp://x/mcp", "http://", "localhost", *unreadable):
        with pytest.raises(ValueError, match="is not an address"):
            league_address(wrong)


async def test_a_request_names_its_sender_and_uses_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    headers: list[Mapping[str, str]] = []

    async def mcp(request: web.BaseRequest) -> web.Response:
        headers.append(dict(request.headers))
        return accepted()

    (tmp_path / "netrc").write_text("default login me password secret", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with listening(mcp) as url, make_client() as http:
        assert await ask(http, url, b"{}") == ACCEPTED
    assert headers[0]["User-Agent"] == f"player/{SDK_VERSION}"
    assert [headers[0][name] for name in ("Content-Type", "Accept-Encoding")] == ["application/json", "identity"]
    assert "Authorization" not in headers[0]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda: web.Response(status=429), "HTTP 429"),
        (
            lambda: web.Response(status=308, headers={"Location": "https://moved/mcp"}),
            "it has moved to https://moved/mcp",
        ),
        (lambda: web.Response(body=b" " * (MAX_ANSWER_BYTES + 1)), "larger than 65536 bytes"),
    ],
)
async def test_the_error_for_an_unusable_answer_says_why(
    league: tuple[str, list[Any], list[web.Response]], answer: Callable[[], web.Response], why: str
) -> None:
    url, requests, answers = league
    answers.append(answer())
    async with make_client() as http:
        with pytest.raises(Unusable, match=why):
            await ask(http, url, b"{}")
    assert len(requests) == 1


@pytest.mark.parametrize(("part", "limit_s", "error"), [(b" " * 9999, 60.0, Unusable), (b" ", 0.1, TimeoutError)])
async def test_an_answer_without_an_end_is_cut_off(part: bytes, limit_s: float, error: type[Exception]) -> None:
    async def mcp(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(part)
                await asyncio.sleep(0.01)
        return response

    async with listening(mcp) as url, make_client() as http:
        with pytest.raises(error):
            await ask(http, url, b"{}", limit_s=limit_s)


async def start(url: str, *options: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "league_sdk.player", "--league", url, "--name", "Alpha", "--port", "0",
        *options,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def next_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode()


@pytest.mark.parametrize("end", ["SIGTERM", pytest.param("stdin", marks=pytest.mark.exhaustive)])
async def test_a_process_registers_several_players_at_their_own_ports(
    league: tuple[str, list[Any], list[web.Response]], end: str
) -> None:
    url, requests, answers = league
    answers += [accepted(player_id=code) for code in ("P09", "P10", "P02")]
    games = ("--game", "connect_four", "--game", "even_odd")
    process = await start(url, "--count", "3", "--exit-with-parent", "--strategy", "even", *games)
    line = await next_line(process)
    metas = sorted((request["params"]["player_meta"] for request in requests), key=lambda meta: meta["display_name"])
    assert [meta["display_name"] for meta in metas] == ["Alpha 1", "Alpha 2", "Alpha 3"]
    endpoints = [meta["contact_endpoint"] for meta in metas]
    # One program is never in two matches at once, and what tells programs apart is their port.
    assert len({urlsplit(endpoint).port for endpoint in endpoints}) == 3
    ids = "3 players are P02 to P10 of league_2025_even_odd, in any order"
    assert line == f"{ids}, at {endpoints[0]} to {endpoints[2]}\n"
    assert [meta["game_types"] for meta in metas] == [["connect_four", "even_odd"]] * 3
    async with ClientSession() as http:
        body = {"jsonrpc": "2.0", "method": "choose_parity", "params": CHOICE, "id": 1}
        async with http.post(endpoints[1], json=body) as reply:
            result = (await reply.json())["result"]
    # They register at the same time, and the ids are given in the order in which they come.
    names = [request["params"]["player_meta"]["display_name"] for request in requests]
    assert result["player_id"] == ("P09", "P10", "P02")[names.index("Alpha 2")]
    assert result["parity_choice"] == "even"
    if end == "SIGTERM":
        process.send_signal(signal.SIGTERM)
    else:
        assert process.stdin is not None
        process.stdin.close()
    assert await process.wait() == 0


async def test_a_rejected_program_says_why_and_exits_with_3(
    league: tuple[str, list[Any], list[web.Response]],
) -> None:
    url, _, answers = league
    answers.append(accepted(status="REJECTED", reason="The league is full."))
    process = await start(url)
    assert await next_line(process) == "REJECTED: Alpha was rejected: The league is full.\n"
    assert process.stderr is not None
    # httpx would log a line for every request.
    assert await process.stderr.read() == b""
    assert await process.wait() == 3


async def test_a_program_that_waits_for_its_league_ends_when_its_parent_does() -> None:
    process = await start("http://127.0.0.1:9", "--exit-with-parent")
    assert process.stdin is not None
    process.stdin.close()
    assert await process.wait() == 0
