"""Players that cannot lose (tests/bots/hostile/losers.py) as a process, and what their records say in the end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.site import ROOT, Instructor, wait_for

CANCELLED = "CANCELLED"
TOLD = ("status", "winner_player_id", "drawn_number", "choices")
"""What of a GAME_OVER must never be said in two ways."""


class Losers:
    """A cast of players in one process.

    Args:
        site: where they register; None for players that have registered already (``--known``).
        league_id: for which league; its matches are in the records.
        folder: where the log goes.
        cast: NAME:TRICK of each.
        options: further ones of the program.
    """

    def __init__(
        self, site: Instructor | None, league_id: str, folder: Path, *cast: str, options: tuple[str, ...] = ()
    ) -> None:
        self._log = folder / f"{league_id}.jsonl"
        command = [sys.executable, "-m", "tests.bots.hostile.losers", "--league", f"{site.url}/mcp" if site else ""]
        command += ["--league-id", league_id, "--log", str(self._log), *options, *cast]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the players did not register"
        self.ids: dict[str, str] = {name: who for name, (who, _) in json.loads(line).items()}

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """Of their records those of one kind, in order."""
        # The last one may not be whole yet.
        raw = self._log.read_text(encoding="utf-8").rpartition("\n")[0]
        return [line for line in map(json.loads, raw.splitlines()) if kind in line]

    def wait_for_trick(self) -> dict[str, Any]:
        """Wait until somebody has begun with its trick; the line that says so."""
        return wait_for("a trick", lambda: self.lines("trick"))[0]

    def go(self) -> None:
        """Release the answers that are held back."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def ends(self) -> dict[str, list[tuple[Any, ...]]]:
        """By match what its GAME_OVERs said, each once; those that said CANCELLED are left out."""
        found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for line in self.lines("game_over"):
            said = line["game_over"]["game_result"]
            told = tuple(json.dumps(said.get(name), sort_keys=True) for name in TOLD)
            if said["status"] != CANCELLED and told not in found[line["game_over"]["match_id"]]:
                found[line["game_over"]["match_id"]].append(told)
        return dict(found)

    def close(self) -> None:
        """End them."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def losers(
    site: Instructor | None, league_id: str, folder: Path, *cast: str, options: tuple[str, ...] = ()
) -> Iterator[Losers]:
    """A cast that is registered, for as long as the block lasts."""
    made = Losers(site, league_id, folder, *cast, options=options)
    try:
        yield made
    finally:
        made.close()


def as_counted(site: Instructor, league_id: str) -> dict[str, tuple[Any, ...]]:
    """By match how it counts, in the words of :meth:`Losers.ends`."""
    found = {}
    for line in site.get(f"/leagues/{league_id}/matches"):
        match = site.get(f"/leagues/{league_id}/matches/{line['match_id']}")
        said = {"status": match["status"], "winner_player_id": match["winner"], **match["result"]}
        found[match["match_id"]] = tuple(json.dumps(said.get(name), sort_keys=True) for name in TOLD)
    return found
