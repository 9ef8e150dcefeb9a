"""``league watch``: what is shown of a league, and what is said when there is none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from league_sdk.cli import main
from tests.bots.base import listening

ROW = {"tied_rank": 1, "player_id": "P01", "display_name": "Ada [bold]\x1b[2J", "points": 3, "played": 1, "wins": 1}
EVENT = {"seq": 1, "at": "2026-11-26T10:00:00Z", "kind": "match_finished", "text": "P01 has won R1M1", "data": {}}


def site(status: str = "COMPLETED", **changed: Any) -> dict[str, Callable[[web.Request], Any]]:
    """A site that lists two leagues, and shows ``autumn``."""
    answers: dict[str, Any] = {
        "/api/leagues": [{"league_id": "old", "status": "COMPLETED"}, {"league_id": "autumn", "status": status}],
        "/api/leagues/autumn": {
            "league_id": "autumn",
            "display_name": "Autumn",
            "status": status,
            "round": 2,
            "rounds": 3,
        },
        "/api/leagues/autumn/standings": [ROW | {"draws": 0, "losses": 0}],
        "/api/leagues/autumn/events": {"events": [EVENT], "next": "t", "more": False, "reset": False},
    } | changed

    async def answer(request: web.Request) -> web.Response:
        if request.path not in answers:
            return web.Response(status=404)
        body = answers[request.path]
        return web.Response(text=body if isinstance(body, str) else json.dumps(body), content_type="application/json")

    return {"/{path:.*}": answer}


async def test_a_league_that_is_running_is_shown_rather_than_a_newer_one_that_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    leagues: list[dict[str, Any]] = [
        {"league_id": "demo", "status": "RUNNING", "demo": True},
        {"league_id": "new", "status": "REGISTRATION"},
        {"league_id": "autumn", "status": "RUNNING"},
    ]
    async with listening(site("RUNNING", **{"/api/leagues": leagues})) as url:
        assert await asyncio.to_thread(main, ["watch", url, "--once"]) == 0
    assert "Autumn" in capsys.readouterr().out


async def test_the_league_that_is_played_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    async with listening(site("RUNNING")) as url:
        assert await asyncio.to_thread(main, ["watch", url, "--once"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Autumn: RUNNING, round 2 of 3")
    assert "Ada [bold]\ufffd[2J" in out
    assert "10:00:00 P01 has won R1M1" in out
    assert "\x1b" not in out


async def test_a_league_that_has_ended_is_shown_once_and_the_command_ends(capsys: pytest.CaptureFixture[str]) -> None:
    async with listening(site()) as url:
        assert await asyncio.to_thread(main, ["watch", f"{url}/leagues/autumn/", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["league"]["status"], found["table"][0]["points"]) == ("COMPLETED", 3)


async def test_the_last_result_is_in_the_table_of_a_league_that_ends_while_it_is_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The league is running at the first request of the command, and has ended from the second on."""
    paths = list[str]()

    async def answer(request: web.Request) -> web.StreamResponse:
        paths.append(request.path)
        ended = len(paths) > 1
        served: web.Response = await site("COMPLETED" if ended else "RUNNING")["/{path:.*}"](request)
        if request.path.endswith("/standings"):
            return web.json_response([ROW | {"draws": 0, "losses": 0, "points": 3 if ended else 0}])
        return served

    async with listening({"/{path:.*}": answer}) as url:
        assert await asyncio.to_thread(main, ["watch", url, "--league-id", "autumn", "--json"]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["league"]["status"], last["table"][0]["points"]) == ("COMPLETED", 3)
    of_league = [path for path in paths if path.startswith("/api/leagues/autumn")]
    status_reads = [index for index, path in enumerate(of_league) if path == "/api/leagues/autumn"]
    assert "/api/leagues/autumn/events" in of_league[status_reads[-1] :]


@pytest.mark.parametrize(
    ("changed", "arguments", "sentence"),
    [
        ({"/api/leagues": []}, [], "There is no league at http://"),
        ({}, ["--league-id", "winter"], "/api/leagues/winter: no such league, or not the site of a league."),
        ({"/api/leagues": "<html>"}, [], "is not the site of a league: its answer is not JSON."),
        ({"/api/leagues": "[" + " " * 9_000_000 + "]"}, [], "answered with more than 8388608 bytes"),
    ],
)
async def test_the_command_says_why_it_cannot_watch(
    changed: dict[str, Any], arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with listening(site(**changed)) as url:
        assert await asyncio.to_thread(main, ["watch", url, *arguments]) == 1
    assert sentence in capsys.readouterr().err


async def test_a_site_that_does_not_answer_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    async with listening(site()) as url:
        pass
    assert await asyncio.to_thread(main, ["watch", url]) == 1
    assert f"No league answers at {url}" in capsys.readouterr().err
    assert main(["watch", "ftp://x"]) == 2
