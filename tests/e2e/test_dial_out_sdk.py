"""Agents of the SDK that nobody can call notice it, and fetch their messages (ruling, section 13)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from league_sdk.player.app import EXIT_ENDED
from tests.e2e.site import Instructor, Site, site_with_players
from tests.paths import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "league_2025_even_odd"


class SdkPlayer:
    """A player of the SDK as a process.

    Attributes:
        lines: what it has printed so far, by line.
    """

    def __init__(self, site: Instructor, name: str, *options: str) -> None:
        self.lines: list[str] = []
        command = [sys.executable, "-m", "league_sdk.player", "--league", site.url, "--name", name, *options]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def read_until(self, text: str) -> str:
        """Read lines until one contains a text; returns that line."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if text in line:
                return line.strip()
        raise AssertionError(f"never said {text!r}: {self.lines}")

    def close(self, *, ends_itself: bool = False) -> int:
        """Stop the player, or with ``ends_itself`` wait until it ends by itself; returns its exit code."""
        if not ends_itself:
            self.process.terminate()
        code = self.process.wait(timeout=20)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


@contextmanager
def sdk_players(site: Instructor, **options: tuple[str, ...]) -> Iterator[dict[str, SdkPlayer]]:
    """Players of the SDK by name, each with its options."""
    players = {name: SdkPlayer(site, name, *its) for name, its in options.items()}
    try:
        yield players
    finally:
        for player in players.values():
            player.close()


def test_players_of_the_sdk_dial_out_by_option_or_when_the_league_cannot_call_them(tmp_path: Path) -> None:
    options = ("--dial-out", "--data", str(tmp_path / "dialling"))
    site = Site(tmp_path / "data", "--no-demo")
    try:
        with sdk_players(site, Dialling=options) as players:
            first = players["Dialling"].read_until(" is P0")
            assert first.endswith("and fetches its messages")
            assert players["Dialling"].close() == 0
        # After a restart it is the same agent, because it has kept its token.
        with sdk_players(site, Dialling=options, NotCalled=("--port", "0", "--call-wait", "0")) as players:
            assert players["Dialling"].read_until(" is P0") == first
            players["NotCalled"].read_until("the league did not call http://127.0.0.1:")
            for player in players.values():
                player.read_until("messages are fetched from the league now (by websocket)")
            site.play_to_the_end(LEAGUE)
            (match,) = site.get(f"/leagues/{LEAGUE}/matches")
            assert (match["attempt"], match["state"]) == (1, "FINISHED")
            assert [player.close() for player in players.values()] == [0, 0]
    finally:
        site.close()


def test_a_second_program_takes_over_and_the_first_says_so_and_ends(tmp_path: Path) -> None:
    options = ("--dial-out", "--data", str(tmp_path / "dialling"))
    site = Site(tmp_path / "data", "--no-demo")
    try:
        with sdk_players(site, Dialling=options) as first:
            first["Dialling"].read_until("messages are fetched from the league now")
            with sdk_players(site, Dialling=options) as second:
                first["Dialling"].read_until("ENDED: another program")
                assert first["Dialling"].close(ends_itself=True) == EXIT_ENDED
                assert second["Dialling"].process.poll() is None
    finally:
        site.close()


@pytest.mark.parametrize("way", [(), ("--dial", "poll")], ids=["called", "poll"])
def test_a_referee_that_dials_out_judges_a_league(tmp_path: Path, way: tuple[str, ...]) -> None:
    options, player_options = ("--no-demo", "--referees", "1"), ("--choice", "alternate", *way)
    with site_with_players(tmp_path, 4, options=options, player_options=player_options) as (site, players):
        command = [sys.executable, "-m", "league_sdk.judging", "--league", f"{site.url}/mcp", "--dial-out"]
        environment = {name: value for name, value in os.environ.items() if name != "LEAGUE_REFEREE_KEY"}
        referee = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert referee.stdout is not None
            assert referee.stdout.readline().strip().endswith(" is REF02")
            site.post("/referees/REF02/trust")
            site.post("/referees/REF01/trust", {"trusted": False})
            site.play_to_the_end(LEAGUE)
            for player in players:
                player.wait_for_last_message()
            matches = site.get(f"/leagues/{LEAGUE}/matches")
            assert {(match["attempt"], match["referee_id"]) for match in matches} == {(1, "REF02")}
            assert [player.deviations() for player in players] == [[], [], [], []]
            endpoints = {message.get("referee_endpoint") for player in players for message in player.messages()}
            assert endpoints - {None} == {f"{site.url}/mcp"}
            referee.terminate()
            assert referee.wait(timeout=20) == 0
        finally:
            referee.kill()
            referee.wait()
            if referee.stdout is not None:
                referee.stdout.close()
