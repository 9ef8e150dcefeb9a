"""``league play``, run as a process, with a simulated league that only answers registrations."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web

from tests.bots.base import bound, listening
from tests.league_sdk.player.samples import CHOICE, OVER
from tests.paths import ROOT
from tests.sizes import sampled

TOKEN, LEAGUE_TOKEN = "tok_" + "a" * 32, "tok_" + "b" * 32
MINE = "class Mine:\n    def choose(self, options, context):\n        return context['deadlin']\n"


class League:
    """A league that accepts everybody, or nobody."""

    def __init__(self, status: str = "ACCEPTED") -> None:
        self.status = status
        self.requests: list[dict[str, Any]] = []

    async def serve(self, request: web.BaseRequest) -> web.Response:
        body = await request.json()
        self.requests.append(body["params"])
        identity = {"player_id": "P01", "auth_token": TOKEN, "league_token": LEAGUE_TOKEN, "league_id": "fall"}
        result = {"message_type": "LEAGUE_REGISTER_RESPONSE", "status": self.status, "reason": "the class is full"}
        return web.json_response({"jsonrpc": "2.0", "id": body["id"], "result": result | identity})


class Playing:
    """A process that plays."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdout is not None
        self._lines = process.stdout

    async def until(self, text: str) -> str:
        """Read lines until one has this text; returns that line."""
        async with asyncio.timeout(60):
            async for line in self._lines:
                if text in line.decode():
                    return line.decode().strip()
        raise AssertionError(f"never said {text!r}")

    async def end(self, *, terminate: bool = True) -> int:
        """End the program; returns its exit code."""
        if terminate:
            self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), 60)


@asynccontextmanager
async def playing(folder: Path, *arguments: str) -> AsyncIterator[Playing]:
    """``league play mine.py`` with these options in a folder."""
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "league_sdk", "play", "mine.py", "--name", "Ada", *arguments),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Playing(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ask(endpoint: str, method: str, params: dict[str, Any]) -> Any:
    """Call the player as the league does."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with ClientSession() as session, session.post(endpoint, json=body) as reply:
        return await reply.json()


async def test_results_and_mistakes_are_printed_and_the_token_is_kept(tmp_path: Path) -> None:
    league = League()
    async with listening(league.serve) as url, playing(tmp_path, "--league", url, "--port", "0", "--listen") as player:
        endpoint = (await player.until("Ada is P01 of fall at ")).rpartition(" ")[2]
        answer = await ask(endpoint, "choose_parity", dict(CHOICE))
        assert answer["result"]["parity_choice"] in ("even", "odd")
        mistake = await player.until("choose()")
        assert mistake == "choose(): KeyError: 'deadlin' (mine.py, line 3); a random move was played instead"
        await ask(endpoint, "notify_match_result", dict(OVER))
        assert (await player.until(" against P02: ")).startswith("R1M1 against P02: ")
        assert await player.end() == 0
    assert league.requests[0]["player_meta"]["display_name"] == "Ada"
    async with listening(league.serve) as url, playing(tmp_path, "--league", url, "--port", "0", "--json") as player:
        event = json.loads(await player.until("Ada is P01"))
        assert event["event"] == "said"
        assert await player.end() == 0
    token_files = list((tmp_path / "league_data").rglob("token-*"))
    assert len(token_files) == 2
    assert all(path.stat().st_mode & 0o077 == 0 for path in token_files)


def configured(folder: Path, league: str) -> Path:
    """The course's configuration with the address of a league."""
    config = Path(shutil.copytree(ROOT / "examples" / "config", folder / "config"))
    agents = config / "agents" / "agents_config.json"
    content = json.loads(agents.read_text())
    content["league_manager"]["endpoint"] = league
    content["players"][1]["default_endpoint"] = "http://127.0.0.1:9/mcp"
    agents.write_text(json.dumps(content))
    return config


async def test_a_player_of_the_configuration_registers_and_command_line_options_go_before_it(tmp_path: Path) -> None:
    league = League()
    async with listening(league.serve) as url:
        config = str(configured(tmp_path, url))
        options = ("--config", config, "--player", "P02", "--port", "0", "--listen")
        async with playing(tmp_path, *options) as player:
            await player.until("Ada is P01 of fall at http://127.0.0.1:")
            assert await player.end() == 0
    [request] = league.requests
    assert (request["player_meta"]["display_name"], request["player_meta"]["game_types"]) == ("Ada", ["even_odd"])
    assert request["league_id"] == "league_2025_even_odd"
    assert not request["player_meta"]["contact_endpoint"].endswith(":9/mcp")


async def test_the_reason_of_a_league_that_rejects_the_player_is_printed(tmp_path: Path) -> None:
    async with (
        listening(League("REJECTED").serve) as url,
        playing(tmp_path, "--league", url, "--port", "0") as player,
    ):
        assert "the class is full" in await player.until("REJECTED")
        assert await player.end(terminate=False) == 3


async def test_a_league_that_is_not_up_yet_is_waited_for(tmp_path: Path) -> None:
    sock = bound()
    url = f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
    async with playing(tmp_path, "--league", url, "--port", "0", "--listen") as player:
        assert "trying again" in await player.until(f"the league at {url} does not answer")
        async with listening(League().serve, sock=sock):
            await player.until("Ada is P01 of fall")
            assert await player.end() == 0


async def test_a_port_that_is_taken_is_reported_with_what_to_do(tmp_path: Path) -> None:
    sock = bound()
    sock.listen()
    port = str(sock.getsockname()[1])
    with sock:
        async with playing(tmp_path, "--league", "http://127.0.0.1:9/mcp", "--port", port) as player:
            await player.until(f"cannot listen on 127.0.0.1:{port}")
            await player.until("Another program listens there: give another --port, or --port 0 for a free one.")
            assert await player.end(terminate=False) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    sampled(
        [
            (["--league", "nowhere"], "--league: 'nowhere' is not an address"),
            (["--game", "chess"], "There is no game 'chess' here"),
            (["--dial-out", "--listen"], "--dial-out and --listen exclude each other."),
            (
                ["--player", "P02"],
                "--player names a player of agents/agents_config.json: say",
            ),
            (["--config", "none"], "cannot be read: No such file"),
            (
                ["--config", str(ROOT / "examples" / "config"), "--player", "P09"],
                "field players has no 'P09', only: P01",
            ),
            (["--name", "x" * 5000], "--name has 1 to "),
        ]
    ),
)
async def test_a_wrong_command_line_is_refused(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    async with playing(tmp_path, *arguments) as player:
        await player.until(sentence)
        assert await player.end(terminate=False) == 2
