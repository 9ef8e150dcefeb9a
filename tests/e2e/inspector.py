"""The command line of the official Inspector of MCP: each call is a process, and a connection, of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.bots.words import ANSWERS, CHOOSE, INVITE, LEAGUE_END, answer, rpc_result
from tests.e2e.site import PATIENCE_S
from tests.mcp_suite.tools import node


class Inspector:
    """A user of the MCP inspector's command line.

    Args:
        modules: the folder ``node_modules`` with the Inspector.
        address: the address of the server.
        era: ``legacy`` or ``modern``, as the Inspector calls them.
        folder: the home folder of the Inspector.
    """

    def __init__(self, modules: Path, address: str, era: str, folder: Path) -> None:
        program = modules / ".bin" / "mcp-inspector"
        self._command = [node(modules), str(program), "--cli", address, "--transport", "http"]
        self._command += ["--protocol-era", era, "--format", "json", "--quiet", "--method"]
        self._environment = os.environ | {"HOME": str(folder)}
        self._era = era
        self._entry: dict[str, Any] = {}

    def ask(self, method: str, *options: str) -> dict[str, Any]:
        """The result of one request."""
        command = [*self._command, method, *options]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; returns its answer."""
        result = self.ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        assert not result.get("isError"), result
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def register(self, league: str) -> None:
        """Register a player that fetches its messages."""
        self._entry = self.call("register_player", display_name=self._era, league_id=league, delivery="poll")

    def play(self) -> list[str]:
        """Fetch messages and answer them until the league is over; returns the types of the messages."""
        kinds, after, responses = list[str](), "", list[dict[str, Any]]()
        while LEAGUE_END not in kinds:
            token = self._entry["auth_token"]
            found = self.call("next_message", auth_token=token, after=after, responses=responses)
            after, requests = found["next"], [message["request"] for message in found["messages"]]
            kinds += [request["params"]["message_type"] for request in requests]
            responses = [rpc_result(self._result(request["params"]), request["id"]) for request in requests]
        return kinds

    def _result(self, params: dict[str, Any]) -> dict[str, Any]:
        own = {INVITE: {"accept": True}, CHOOSE: {"parity_choice": "odd"}}
        kind, mine = params["message_type"], self._entry
        if kind not in own:
            return {"status": "ok"}
        return answer(ANSWERS[kind], params, mine["player_id"], auth_token=mine["auth_token"], **own[kind])
