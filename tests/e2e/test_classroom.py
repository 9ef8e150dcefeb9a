"""The classroom: agents that nobody can call, on a slow network that loses packets (ruling, section 13)."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.bridges import PYTHON, bridged_manager
from tests.e2e.classroom import NUMBERS_PER_WORKER, Classroom, classroom, number_of
from tests.e2e.kits import KitPlayer, built
from tests.e2e.ports import MAX_PORT, MIN_PORT, PORT_SHARES, free_port
from tests.e2e.site import Instructor, Site, bots
from tests.e2e.test_dial_out_sdk import sdk_players

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(400)]
LEAGUE = "league_2025_even_odd"
DIALECTS = ("OtherWords", "SmallBody")
"""Agents of the zoo (``tests/bots/zoo``): the league finds by trying how to speak to the first; the second answers by
calls of its own to the referee."""
KITS = {"python": sys.executable, "javascript": "node"}
"""The programs that run the kits; kits in other languages behave the same (tests/e2e/test_kits.py)."""
ASLEEP = (2, 3)
"""The rounds that the laptop of the player "Sleeper" sleeps through."""


@pytest.fixture
def room() -> Any:
    with classroom() as opened:
        yield opened


def open_site(room: Classroom, folder: Path) -> Site:
    """A site that the agents of the classroom reach."""
    port = free_port()
    return Site(
        folder / "data", "--no-demo", "--host", "0.0.0.0", "--public-url", f"http://{room.site}:{port}", port=port
    )


def start_kits(room: Classroom, site: Instructor, stack: ExitStack) -> Iterator[KitPlayer]:
    """The players of the starter kit, in each language that this machine can run.

    They listen at a port. The league cannot call it, so they fetch their messages instead."""
    for language, program in KITS.items():
        if shutil.which(program):
            folder, command = built(language)
            options = ("--league", f"{site.url}/mcp", "--name", f"Kit in {language}", "--port", "0", "--call-wait", "1")
            kit = KitPlayer.ready(folder, *room.command(*command), *options)
            stack.callback(kit.close)
            yield kit


def technical_losses_of(site: Site) -> list[tuple[int, str]]:
    """The technical losses of the league: for each the round and the name of the player that lost."""
    names = {row["player_id"]: row["display_name"] for row in site.get(f"/leagues/{LEAGUE}/standings")}
    technical_losses = []
    for match in site.get(f"/leagues/{LEAGUE}/matches"):
        if match["status"] not in ("WIN", "DRAW"):
            lost = {match["player_A_id"], match["player_B_id"]} - {match["winner"]}
            technical_losses += [(match["round_id"], names[player]) for player in sorted(lost)]
    return technical_losses


def test_only_a_player_whose_laptop_slept_has_technical_losses(
    room: Classroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        site = open_site(room, tmp_path)
        stack.callback(site.close)
        site_from_room = Instructor(f"http://{room.site}:{site.port}")
        stack.callback(site_from_room.http.close)
        with room.inside(monkeypatch, tmp_path):
            program = room.command(*PYTHON, "-m", "league_sdk", "bridge")
            through_bridge, log = stack.enter_context(bridged_manager(site_from_room, tmp_path, program=program))
            options = ("--log-folder", str(tmp_path), "--bots", ",".join(DIALECTS))
            lines = stack.enter_context(bots(through_bridge, "zoo", *options))
            assert [line for line in lines if not line.startswith("READY ")] == []
            ways = {"Listener": ("--port", "0", "--call-wait", "1"), "Sleeper": ("--dial-out",)}
            players = stack.enter_context(sdk_players(site_from_room, **ways))
        kits = list(start_kits(room, site_from_room, stack))
        players["Listener"].read_until("the league did not call http://127.0.0.1:")
        for player in players.values():
            player.read_until("messages are fetched from the league now")
        for kit in kits:
            kit.wait_for_line("its messages are fetched as well")

        room.set_network(delay_s=0.3, loss=0.2)
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        site.wait_for_round(LEAGUE, ASLEEP[0] - 1)
        players["Sleeper"].process.send_signal(signal.SIGSTOP)
        # Two matches of the sleeping player, each with all tries over a bad network, can take a minute.
        site.wait_for_round(LEAGUE, ASLEEP[-1], patience_s=200)
        players["Sleeper"].process.send_signal(signal.SIGCONT)
        room.change_addresses()
        site.wait_until(LEAGUE, "COMPLETED", patience_s=200)
        lost = technical_losses_of(site)
        assert {round_id for round_id, _name in lost} <= set(ASLEEP), log.read_text()
        assert {name for _round_id, name in lost} == {"Sleeper"}, log.read_text()
        assert site.stop() == 0


def test_the_classrooms_of_different_workers_have_different_numbers() -> None:
    share = (MAX_PORT - MIN_PORT) // PORT_SHARES
    numbers = [{number_of(MIN_PORT + worker * share + port) for port in range(share)} for worker in range(PORT_SHARES)]
    assert [len(own) for own in numbers] == [NUMBERS_PER_WORKER] * PORT_SHARES
    every = set().union(*numbers)
    assert (len(every), min(every), max(every)) == (NUMBERS_PER_WORKER * PORT_SHARES, 1, 248)
