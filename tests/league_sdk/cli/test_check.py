"""``league check``: what is printed, and the exit codes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from league_sdk.cli import main
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import Agent

COMMANDS = ("new", "local", "check", "spar", "play", "watch", "bridge", "verify")


async def test_the_check_of_a_correct_player_prints_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    async with listening(Agent().serve) as url:
        code = await asyncio.to_thread(main, ["check", url])
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0] == f"{url}, checked as a player"
    assert lines[3] == "This agent can play here, and all that was asked of it is as the documents have it."
    assert lines[4] == "Way of speaking: canonical"
    assert lines[-1] == "44 conform, 0 tolerated, 0 fail, 2 skipped."
    assert "\x1b" not in out


async def test_the_check_prints_its_report_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    agent = Agent()
    async with listening(agent.serve) as url:
        code = await asyncio.to_thread(main, ["check", url, "--json", "--player-id", "P01", "--no-farewell"])
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert (code, err, report["endpoint"], report["can_play"]) == (0, "", url, True)
    assert "notify_league_completed" not in agent.methods


async def test_an_address_without_an_agent_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    async with listening(Agent().serve) as url:
        pass
    assert await asyncio.to_thread(main, ["check", url]) == 1
    assert "This agent cannot play here as it is: No connection: Connection refused." in capsys.readouterr().out


async def test_the_check_of_a_manager_or_referee_that_is_not_running_fails(capsys: pytest.CaptureFixture[str]) -> None:
    async with listening(Agent().serve) as url:
        pass
    assert await asyncio.to_thread(main, ["check", url, "--as", "manager"]) == 1
    assert await asyncio.to_thread(main, ["check", url, "--as", "referee", "--wait", "0"]) == 1
    out, err = capsys.readouterr()
    assert "Agents cannot use this league manager as it is: " in out
    assert "A league cannot have this referee judge as it is: " in out
    assert err.startswith("Standing in for the league manager at http://127.0.0.1:")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["check"], "Missing argument 'URL_OR_FILE'"),
        (["check", "127.0.0.1:8101"], "'127.0.0.1:8101' is not an address such as http://127.0.0.1:8101/mcp"),
        (["check", "http://x/", "--as", "judge"], "'judge' is not one of 'player', 'referee', 'manager'"),
        (["check", "mine.py", "--as", "referee"], "A file is checked as a player"),
        (["check", "nothing.py"], "There is no file nothing.py in "),
        (["check", "http://x/", "--game", "chess"], "There is no game 'chess' here"),
        (["check", "http://127.0.0.1:1/mcp", "--listen", "192.0.2.1"], "name an address of this machine with --listen"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_reason(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert sentence in " ".join(capsys.readouterr().err.replace("│", " ").split())


@pytest.mark.parametrize("arguments", [[], ["--help"], *([one, "--help"] for one in COMMANDS)])
def test_help_describes_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == (0 if arguments else 2)
    assert "sage: league " in capsys.readouterr().out


def test_a_file_is_started_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text("class Mine:\n    def choose(self, options, context):\n        return 'odd'\n", encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "46 conform, 0 tolerated, 0 fail, 0 skipped."
