"""Every game but even_odd, played by real processes from registration to the end of the league."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.site import ROOT, Site, wait_for

pytestmark = pytest.mark.e2e

BOARD_SIZES = {"tic_tac_toe": (3, 3), "connect_four": (6, 7)}
MOVE_TYPES = {"tic_tac_toe": "place_mark", "connect_four": "drop_disc", "even_odd_numbers": "choose_number"}


@contextmanager
def sdk_players(site: Site, league: str, game_type: str, *options: str) -> Iterator[Sequence[subprocess.Popen[str]]]:
    """Two processes of SDK players, which end with the block: two careful ones and three that play at random.

    For Connect Four the careful ones are ``examples/connect_four_player.py``.
    """
    started: list[subprocess.Popen[str]] = []
    try:
        careful, at_random = (["-m", "league_sdk.player", "--strategy", name] for name in ("careful", "random"))
        if game_type == "connect_four":
            careful = ["examples/connect_four_player.py"]
        for name, count, program in (("Careful", 2, careful), ("Random", 3, at_random)):
            command = [sys.executable, *program, "--league", f"{site.url}/mcp", "--name", name]
            command += ["--count", str(count), "--port", "0", "--league-id", league]
            process = subprocess.Popen(
                [*command, "--game", game_type, *options],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                text=True,
            )
            started.append(process)
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith(f"{count} players are P0"), line
        yield started
        site.end(league)
    finally:
        for process in started:
            process.terminate()
            process.wait(timeout=20)
            if process.stdout is not None:
                process.stdout.close()


def finished_matches(site: Site, league: str) -> list[dict[str, Any]]:
    """Every match of a finished league, with all its details."""
    lines = site.get(f"/leagues/{league}/matches")
    return [site.get(f"/leagues/{league}/matches/{line['match_id']}") for line in lines]


@pytest.mark.parametrize(
    "game_type",
    ["tic_tac_toe", *(pytest.param(game, marks=pytest.mark.long) for game in ("connect_four", "even_odd_numbers"))],
)
def test_a_league_of_sdk_players_from_registration_to_the_end(site: Site, game_type: str) -> None:
    league_id = f"games-{game_type}"
    site.create(league_id, game_type)
    with sdk_players(site, league_id, game_type):
        league = site.play_to_the_end(league_id)
        assert (league["players"], league["rounds"], league["matches"], league["matches_done"]) == (5, 5, 10, 10)

        standings = site.get(f"/leagues/{league_id}/standings")
        matches = finished_matches(site, league_id)
        check_the_points(standings, matches)
        for match in matches:
            assert (match["status"] in ("WIN", "DRAW"), match["attempt"]) == (True, 1)
            check_the_moves(match, game_type)
        firsts = [match["player_A_id"] for match in matches]
        assert {firsts.count(player) for player in firsts} == {2}

        for match in matches:
            page = site.http.get(f"/leagues/{league_id}/matches/{match['match_id']}/").text
            assert ('class="grid"' in page) == (game_type in BOARD_SIZES)
        board = site.http.get(f"/leagues/{league_id}/").text
        assert board.count('id="result-R') == 10
        assert site.get("/games")["game_registry"][game_type]["rules_module"] == f"league_sdk.rules.{game_type}"


def message_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The message in an entry of a transcript, without the JSON-RPC around it if there is any."""
    body = entry["body"]
    message = body.get("result") or body.get("params") or body
    assert isinstance(message, dict)
    return message


def check_the_points(standings: list[dict[str, Any]], matches: list[dict[str, Any]]) -> None:
    """Check that every match gave three points to one player, or one point to each."""
    wins = [match["winner"] for match in matches if match["status"] == "WIN"]
    draws = len(matches) - len(wins)
    assert sum(row["played"] for row in standings) == 2 * len(matches)
    assert sum(row["points"] for row in standings) == 3 * len(wins) + 2 * draws
    for row in standings:
        assert (row["played"], row["wins"], row["technical_losses"]) == (4, wins.count(row["player_id"]), 0)
        assert row["points"] == 3 * row["wins"] + row["draws"]


def check_the_moves(match: dict[str, Any], game_type: str) -> None:
    """Check that the transcript has each move of the player whose turn it was, and that the board has as many marks."""
    entries = sorted(match["transcript"], key=lambda entry: entry["n"])
    calls = [entry for entry in entries if entry["message_type"] == "GAME_MOVE_CALL"]
    made = [entry for entry in entries if entry["message_type"] == "GAME_MOVE_RESPONSE"]
    moves_made = [(one["player_id"], one["move_data"]["choice"]) for one in map(message_of, made)]
    assert {message_of(entry)["move_request"]["move_type"] for entry in calls} == {MOVE_TYPES[game_type]}
    assert len(calls) == len(made)
    states = [step["state"] for step in match["lifecycle"]]
    if game_type not in BOARD_SIZES:
        assert sorted(moves_made) == sorted(match["result"]["choices"].items())
        assert "DRAWING_NUMBER" in states
        return
    assert "DRAWING_NUMBER" not in states
    assert [move for _, move in moves_made] == match["result"]["moves"]
    players = [match["player_A_id"], match["player_B_id"]]
    assert [player for player, _ in moves_made] == [players[turn % 2] for turn in range(len(moves_made))]
    board = match["result"]["board"]
    assert (len(board), len(board[0])) == BOARD_SIZES[game_type]
    marks = [mark for row in board for mark in row if mark]
    assert (marks.count("X"), marks.count("O")) == ((len(moves_made) + 1) // 2, len(moves_made) // 2)
    if match["status"] == "WIN":
        assert match["winner"] == moves_made[-1][0]


@pytest.mark.long
def test_the_page_shows_the_board_and_the_api_the_moves_while_a_match_is_played(site: Site) -> None:
    """The players think for long, so that the test sees a match that is not over."""
    site.create("slow", "connect_four")
    with sdk_players(site, "slow", "connect_four", "--think", "0.5"):
        site.post("/leagues/slow/start")

        def in_play() -> tuple[int, str] | None:
            match = site.get("/leagues/slow/matches/R1M1")
            page = site.http.get("/leagues/slow/matches/R1M1/").text
            moves = len(match["view"].get("moves", []))
            return (moves, page) if match["state"] == "COLLECTING_CHOICES" and moves else None

        first, page = wait_for("a board in play", in_play)
        assert 'class="grid"' in page

        def more_moves() -> int | None:
            seen = in_play()
            return seen[0] if seen is not None and seen[0] > first else None

        assert wait_for("the next moves", more_moves) > first
