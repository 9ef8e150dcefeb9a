"""The players of the starter kit: called at their port, or fetching their messages when nobody can call them there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.e2e.site import Site, wait_for
from tests.places import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
KITS = {"Python": (sys.executable, "player.py"), "JavaScript": ("node", "player.mjs")}
UNREACHABLE = ("--port", "0", "--endpoint", "http://192.0.2.1:8101/mcp", "--call-wait", "0.1")

REACHED_BY = {"DialsOut": "poll", "Uncallable": "poll", "Called": "address"}
"""How the site reaches each player, by the player's name."""


def reached_by(site: Site, league: str) -> dict[str, str]:
    """How each player is reached, as the API says."""
    agents = site.get(f"/leagues/{league}/agents")
    return {one["display_name"]: one["reached_by"] for one in agents if one["kind"] == "player"}


class KitPlayer:
    """A player of the kit as a process; the constructor waits until it is registered.

    Attributes:
        player_id: the id that it was given.
    """

    def __init__(self, folder: Path, *command: str) -> None:
        self._printed = folder / f"printed-{len(list(folder.iterdir()))}"
        with self._printed.open("w") as out:
            self.process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)
        self.player_id = self.wait_for_line("READY").split()[2]

    def printed(self) -> str:
        """What the player has printed so far."""
        return self._printed.read_text()

    def wait_for_line(self, text: str) -> str:
        """Wait until the player has printed a line that contains a text; the line."""

        def matching_line() -> str:
            return next((line for line in self.printed().splitlines() if text in line), "")

        return wait_for(f"{text!r} of a kit", matching_line)

    def close(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()


@contextmanager
def kit_players(site: Site, league: str, folder: Path, command: tuple[str, str]) -> Iterator[dict[str, KitPlayer]]:
    """Three players: one that opens no port, one that its league cannot call, and one that is called."""
    options = {"DialsOut": ("--dial-out",), "Uncallable": UNREACHABLE, "Called": ("--port", "0")}
    address = f"{site.url}/leagues/{league}/mcp"
    shutil.copytree(ROOT / "examples" / "kit", folder)
    with ExitStack() as stack:

        def start(name: str) -> KitPlayer:
            player = KitPlayer(folder, *command, "--league", address, "--name", name, *options[name])
            stack.callback(player.close)
            return player

        players = {name: start(name) for name in options}
        # Started again, it has kept its token and is the same player; the first program says so and ends.
        again, before = start("DialsOut"), players["DialsOut"]
        assert again.player_id == before.player_id
        assert "run only one" in before.wait_for_line("Another program")
        assert before.process.wait(timeout=20) == 1
        yield players | {"DialsOut": again}
        assert again.process.poll() is None


@pytest.mark.parametrize("language", KITS)
def test_the_kit_plays_whether_it_can_be_called_or_not(site: Site, tmp_path: Path, language: str) -> None:
    if shutil.which(KITS[language][0]) is None:
        pytest.skip(f"{KITS[language][0]} is not installed on this machine")
    league = f"kits_{language.lower()}"
    site.create(league)
    with kit_players(site, league, tmp_path / "kit", KITS[language]) as players:
        said = players["Uncallable"].wait_for_line("The league has not called")
        assert said.startswith("The league has not called http://192.0.2.1:8101/mcp for 0.1 s")
        players["Called"].wait_for_line("The league calls http://localhost:")
        wait_for("the site reaches each player as expected", lambda: reached_by(site, league) == REACHED_BY)
        site.play_to_the_end(league)
        matches = [
            site.get(f"/leagues/{league}/matches/{m['match_id']}") for m in site.get(f"/leagues/{league}/matches")
        ]
        assert [(match["status"] in ("WIN", "DRAW"), match["result"]["faults"]) for match in matches] == [
            (True, [])
        ] * 3
        for player in players.values():
            assert player.printed().count("winner:") == 2
        assert "not called" not in players["DialsOut"].printed() + players["Called"].printed()
        assert "trying again" not in "".join(player.printed() for player in players.values())
