"""A student's referee that is nothing but a client of MCP towards the league manager, and has no port.

It registers, fetches messages, answers and reports by tools; it calls its players as any referee does.

    python -m tests.bots.mcp_referee --league http://127.0.0.1:8000/mcp --log referee.jsonl

Prints ``READY - <referee_id>`` once registered. Exit code 3: the registration was not accepted.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientTimeout

from tests.bots.base import ending, options
from tests.bots.student_referee import NOT_ACCEPTED, STARTS, Referee

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
LIMIT_S = 40.0
"""The timeout of a call: more than the 25 seconds that a call of next_message waits."""


class McpReferee(Referee):
    """The referee; how it plays a match is inherited from the one with a port."""

    async def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool of the league manager; returns its structured content.

        Raises:
            RuntimeError: the call was refused.
        """
        self.ids += 1
        meta = {"protocolVersion": VERSION, "clientInfo": {"name": self.options.name}, "clientCapabilities": {}}
        body = {
            "jsonrpc": "2.0",
            "id": self.ids,
            "method": "tools/call",
            "params": {
                "name": name,
                "arguments": arguments,
                "_meta": {META + key: value for key, value in meta.items()},
            },
        }
        head = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
        }
        if self.auth_token:
            head["Authorization"] = f"Bearer {self.auth_token}"
        async with self.session.post(
            self.options.league, json=body, headers=head, timeout=ClientTimeout(total=LIMIT_S)
        ) as reply:
            result = (await reply.json())["result"]
        if result["isError"]:
            raise RuntimeError(f"{name} was refused: {result}")
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    async def register(self) -> bool:
        about = {"game_types": ["even_odd"], "max_concurrent_matches": self.options.room}
        entry = await self.tool("register_referee", display_name=self.options.name, delivery="poll", **about)
        self.log.write(registered=entry)
        self.referee_id, self.auth_token = entry.get("referee_id", ""), entry.get("auth_token", "")
        return entry["status"] == "ACCEPTED"

    async def work(self) -> None:
        """Fetch and answer until cancelled."""
        after, answers = "", list[dict[str, Any]]()
        while True:
            found = await self.tool("next_message", after=after, responses=answers)
            after, answers = found["next"], []
            for message in found["messages"]:
                request = message["request"]
                self.log.write(method=request["method"], params=request["params"])
                if request["method"] == self.options.start:
                    # The match is played in the background: the answer has to be sent within the timeout of a reply.
                    self.spawn(self.play(request["params"]))
                answers.append({"jsonrpc": "2.0", "id": request["id"], "result": {"status": "ok", "accepted": True}})

    async def post(self, url: str, method: str, params: dict[str, Any], limit_s: float) -> Any:
        """Call a player over HTTP; a report to the league manager is a call of a tool."""
        if url != self.options.league:
            return await super().post(url, method, params, limit_s)
        return await self.tool(method, match_id=params["match_id"], result=params["result"])


async def main(args: argparse.Namespace) -> int:
    """Register and judge until told to stop; returns the exit code."""
    stop, referee = ending(with_parent=args.exit_with_parent), McpReferee(args)
    async with ClientSession() as referee.session:
        if not await referee.register():
            return NOT_ACCEPTED
        print(f"READY - {referee.referee_id}", flush=True)
        working, stopped = asyncio.create_task(referee.work()), asyncio.create_task(stop.wait())
        await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        working.cancel()
    return 0


if __name__ == "__main__":
    parser = options("A referee that is a client of MCP and nothing else.")
    parser.add_argument("--name", default="Client Referee")
    parser.add_argument("--log", type=Path, required=True, help="the JSON lines file, overwritten")
    parser.add_argument("--start", choices=STARTS, default=STARTS[0])
    parser.add_argument("--room", type=int, default=4, help="matches at once")
    sys.exit(asyncio.run(main(parser.parse_args())))
