"""A process of players that try to undo their losses (tests/bots/hostile/losers.py), and what these recorded."""

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
OUTCOME_FIELDS = ("status", "winner_player_id", "drawn_number", "choices")
"""The fields that must be the same in all GAME_OVER messages of a match."""


class Losers:
    """Players in one process.

    Args:
        site: where they register; None for players that have registered already (``--known``).
        league_id: for which league; its matches are in the records.
        folder: the folder of their log.
        cast: ``NAME:TRICK`` of each player; a player without a trick is ``NAME:``.
        options: further options of the program.
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
        """The players' records of one kind, in order."""
        # The last line may be incomplete, as the process is still writing.
        raw = self._log.read_text(encoding="utf-8").rpartition("\n")[0]
        return [line for line in map(json.loads, raw.splitlines()) if kind in line]

    def wait_for_trick(self) -> dict[str, Any]:
        """Wait until a player has begun its trick; returns the record that says so."""
        return wait_for("a trick", lambda: self.lines("trick"))[0]

    def release_answers(self) -> None:
        """Let the players send the answers that they hold back."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def told_outcomes(self) -> dict[str, list[tuple[Any, ...]]]:
        """For each match, the different outcomes in its GAME_OVERs, without those with CANCELLED."""
        outcomes: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for line in self.lines("game_over"):
            result = line["game_over"]["game_result"]
            outcome = tuple(json.dumps(result.get(name), sort_keys=True) for name in OUTCOME_FIELDS)
            if result["status"] != CANCELLED and outcome not in outcomes[line["game_over"]["match_id"]]:
                outcomes[line["game_over"]["match_id"]].append(outcome)
        return dict(outcomes)

    def close(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def losers(
    site: Instructor | None, league_id: str, folder: Path, *cast: str, options: tuple[str, ...] = ()
) -> Iterator[Losers]:
    """Registered players, whose process ends with the block."""
    made = Losers(site, league_id, folder, *cast, options=options)
    try:
        yield made
    finally:
        made.close()


def counted_outcomes(site: Instructor, league_id: str) -> dict[str, tuple[Any, ...]]:
    """For each match, the outcome that counts at the site, in the form of :meth:`Losers.told_outcomes`."""
    outcomes = {}
    for line in site.get(f"/leagues/{league_id}/matches"):
        match = site.get(f"/leagues/{league_id}/matches/{line['match_id']}")
        fields = {"status": match["status"], "winner_player_id": match["winner"], **match["result"]}
        outcomes[match["match_id"]] = tuple(json.dumps(fields.get(name), sort_keys=True) for name in OUTCOME_FIELDS)
    return outcomes
