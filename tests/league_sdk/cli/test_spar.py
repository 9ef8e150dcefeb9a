"""``league spar``: what is printed, and the exit codes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from league_sdk.cli import main
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import Agent

MINE = "class Mine:\n    def choose(self, options, context):\n        return 'odd'\n"


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """A student's file."""
    path = tmp_path / "mine.py"
    path.write_text(MINE, encoding="utf-8")
    return str(path)


def test_a_file_plays_and_everything_said_is_shown(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spar", mine, "--game", "tic_tac_toe", "--against", "hard", "--second"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("-> ROUND_ANNOUNCEMENT (")
    assert lines[4].startswith("   the house agent plays ")
    assert lines[-1].split(":")[0] in ("LOSS", "DRAW")
    assert "\x1b" not in "".join(lines)


async def test_an_agent_of_any_language_is_called_at_its_address(capsys: pytest.CaptureFixture[str]) -> None:
    async with listening(Agent().serve) as url:
        assert await asyncio.to_thread(main, ["spar", url, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["endpoint"], found["opponent"], found["game_type"]) == (url, "medium", "even_odd")
    assert found["status"] in ("WIN", "DRAW", "LOSS")


async def test_an_agent_that_does_not_answer_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    async with listening(Agent().serve) as url:
        pass
    assert await asyncio.to_thread(main, ["spar", url]) == 1
    assert "NOT_PLAYED: the address cannot be reached." in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["127.0.0.1:8101"], ["nothing.py"], ["http://x/", "--game", "chess"]])
def test_what_cannot_be_played_is_refused(arguments: list[str]) -> None:
    assert main(["spar", *arguments]) == 2
