"""A stranger: an agent that writes its own HTTP, so that what it does on the wire is its own affair."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from aiohttp import ClientError, ClientSession, ClientTimeout

INVITE, CHOOSE, OVER = "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"
ANSWERS = {INVITE: "GAME_JOIN_ACK", CHOOSE: "CHOOSE_PARITY_RESPONSE"}
METHODS = {
    "handle_game_invitation": INVITE,
    "choose_parity": CHOOSE,
    "notify_match_result": OVER,
}
REASONS = {200: "OK", 201: "Created", 202: "Accepted", 204: "No Content"}


@dataclass(frozen=True)
class Asked:
    """One HTTP request that came in."""

    verb: str
    path: str
    headers: Mapping[str, str]
    """names in lower case"""
    raw: bytes

    def json(self) -> dict[str, Any]:
        """The body, or an empty object when it is no JSON object."""
        try:
            body = json.loads(self.raw)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}


@dataclass
class Reply:
    """One HTTP response; ``body`` is sent as JSON unless it is bytes already."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    def payload(self) -> bytes:
        """The body's bytes."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def result(body: Any, asked: Asked) -> Reply:
    """A JSON-RPC result to this request."""
    return Reply({"jsonrpc": "2.0", "result": body, "id": asked.json().get("id")})


def error(code: int, why: str, asked: Asked, status: int = 200) -> Reply:
    """A JSON-RPC error to this request."""
    return Reply({"jsonrpc": "2.0", "error": {"code": code, "message": why}, "id": asked.json().get("id")}, status)


class Stranger:
    """The agent of chapter 8; subclasses differ in one thing each.

    Args:
        league: the league manager's ``/mcp`` address.
        log: a JSON lines file, written anew: ``in`` and ``reply`` of each call, ``out`` of what was sent.
    """

    host = "127.0.0.1"
    claims = "http://localhost:{port}/mcp"

    def __init__(self, league: str, log: Path) -> None:
        self.league, self.site = league, league.removesuffix("/mcp")
        self.name = type(self).__name__
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.bind((self.host, 0))
        self.port = self.socket.getsockname()[1]
        self.address = self.claims.format(port=self.port)
        self.player_id = self.token = ""
        self.rng = random.Random(self.name)
        self.chosen: dict[str, str] = {}
        self.invitations: dict[str, dict[str, Any]] = {}
        self.session: ClientSession | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self._log = log.open("w", encoding="utf-8", buffering=1)

    # -- its life -----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen, then register."""
        self.session = ClientSession(timeout=ClientTimeout(total=20))
        self.server = await asyncio.start_server(self._connection, sock=self.socket)
        await self.enter()

    async def stop(self) -> None:
        """Close everything."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.server.close()
        if self.session is not None:
            await self.session.close()
        self._log.close()

    def write(self, **line: Any) -> None:
        """One line of the log."""
        self._log.write(json.dumps(line, default=repr) + "\n")

    # -- registration -------------------------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:
        """What it says of itself."""
        return {
            "display_name": self.name,
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": self.address,
        }

    def request(self) -> dict[str, Any]:
        """LEAGUE_REGISTER_REQUEST of chapter 8."""
        return {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{self.name}",
            "timestamp": "2025-01-15T10:00:00Z",
            "conversation_id": f"conv-{self.name}",
            "player_meta": self.meta(),
        }

    async def enter(self) -> None:
        """Register and read the answer."""
        self.read(await self.rpc(self.league, "register_player", self.request()))

    def read(self, answer: Any) -> None:
        """Take ``result`` of the answer to a registration."""
        taken = answer["result"]
        assert taken["status"] == "ACCEPTED", taken
        self.player_id, self.token = taken["player_id"], taken["auth_token"]

    # -- outwards -----------------------------------------------------------------------------------------

    async def rpc(self, url: str, method: str, params: Any) -> Any:
        """One JSON-RPC call; the decoded answer."""
        return await self.post(url, {"jsonrpc": "2.0", "method": method, "params": params, "id": 1})

    async def post(self, url: str, body: Any, **options: Any) -> Any:
        """One POST; the decoded answer, None when it is no JSON."""
        assert self.session is not None
        options = options or {"json": body}
        answer, status = None, 0
        try:
            async with self.session.post(url, **options) as response:
                status, text = response.status, await response.text()
            answer = json.loads(text)
        except (ClientError, TimeoutError, ValueError) as failure:
            answer = None
            self.write(failed=repr(failure))
        self.write(out=body, to=url, status=status, reply=answer)
        return answer

    def later(self, url: str, body: Any, **options: Any) -> None:
        """One POST of its own, after the reply."""

        async def send() -> None:
            await self.post(url, body, **options)

        task = asyncio.create_task(send())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    # -- inwards ------------------------------------------------------------------------------------------

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                verb, path, _ = head[0].split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                asked = Asked(verb, path, headers, raw)
                reply = await self.take(asked)
                self.write(**{"in": asked.json() or raw}, verb=verb, path=path, status=reply.status, reply=reply.body)
                writer.write(self.wire(reply))
                await writer.drain()
                if self.hangs_up:
                    break
        writer.close()

    hangs_up = False

    def wire(self, reply: Reply) -> bytes:
        """A response as it goes over the wire."""
        body = reply.payload()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))} | reply.headers
        return self.head(reply, headers) + body

    @staticmethod
    def head(reply: Reply, headers: Mapping[str, str], version: str = "HTTP/1.1") -> bytes:
        """Status line and headers."""
        lines = [f"{version} {reply.status} {REASONS.get(reply.status, 'Other')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def take(self, asked: Asked) -> Reply:
        """Answer one request."""
        if asked.verb != "POST" or asked.path != "/mcp":
            return Reply({"detail": "Not Found"}, 404)
        return await self.hear(asked)

    async def hear(self, asked: Asked) -> Reply:
        """Answer one POST to /mcp."""
        body = asked.json()
        kind = METHODS.get(body.get("method", ""))
        if kind is None:
            return error(-32601, "Method not found", asked)
        return await self.act(kind, body.get("params", {}), asked)

    async def act(self, kind: str, fields: dict[str, Any], asked: Asked) -> Reply:
        """Answer one message that it understands."""
        if kind == INVITE:
            self.invitations[fields["match_id"]] = fields
        return self.answer(kind, fields, asked)

    def answer(self, kind: str, fields: dict[str, Any], asked: Asked) -> Reply:
        """The reply to a message it understands."""
        return result(self.message(kind, fields), asked)

    def message(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """What it says to a message."""
        if kind == OVER:
            return {"status": "ok"}
        match = fields["match_id"]
        said = {
            "protocol": "league.v2",
            "message_type": ANSWERS[kind],
            "sender": f"player:{self.player_id}",
            "timestamp": "2025-01-15T10:30:00Z",
            "conversation_id": fields.get("conversation_id") or str(uuid4()),
            "auth_token": self.token,
            "match_id": match,
            "player_id": self.player_id,
        }
        if kind == INVITE:
            return said | {"arrival_timestamp": "2025-01-15T10:30:00Z", "accept": True}
        return said | {"parity_choice": self.choose(match)}

    def choose(self, match: str) -> str:
        """Its choice in a match, the same whenever it is asked."""
        return self.chosen.setdefault(match, self.rng.choice(("even", "odd")))
