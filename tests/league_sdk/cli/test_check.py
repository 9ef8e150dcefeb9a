"""``league check``: what is printed, and the exit codes."""

from __future__ import annotations

import asyncio
import json

import pytest

from league_sdk.cli import main
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import Agent


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
        ([], "the following arguments are required: COMMAND"),
        (["check"], "the following arguments are required: URL"),
        (["check", "127.0.0.1:8101"], "'127.0.0.1:8101' is no address: http://127.0.0.1:8101/mcp is one"),
        (["check", "http://x/", "--as", "judge"], "invalid choice: 'judge'"),
        (["check", "http://127.0.0.1:1/mcp", "--listen", "192.0.2.1"], "name an address of ours with --listen"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_reason(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"]])
def test_help_describes_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("usage: league ")
