"""The base class of foreign agents: it writes its own HTTP, so that a subclass can change every byte of it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.bots import words
from tests.bots.base import Call, Caller, Listener, Log, Talk
from tests.bots.words import ANSWERS, CHOOSE, INVITE, OVER, REQUIRED_TOOLS, rpc, rpc_error, rpc_result

REASONS = {200: "OK", 201: "Created", 202: "Accepted", 204: "No Content"}
NOW = "2025-01-15T10:30:00Z"


@dataclass
class Reply:
    """One HTTP response; ``body`` is sent as JSON unless it is bytes already."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    def payload(self) -> bytes:
        """The body's bytes."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def result(body: Any, call: Call) -> Reply:
    """A JSON-RPC result in reply to a request."""
    return Reply(rpc_result(body, call.id))


def error(code: int, why: str, call: Call, status: int = 200) -> Reply:
    """A JSON-RPC error in reply to a request."""
    return Reply(rpc_error(code, why, call.id), status)


class ForeignAgent:
    """An agent as in 004 chapter 8; each subclass differs from that in a way of its own.

    Args:
        league: the league manager's ``/mcp`` address.
        log: a JSON lines file, overwritten: ``in`` and ``reply`` of each call received, ``out`` of each call made.

    Attributes:
        host: the address it listens on.
        registered_url: the URL that it registers with.
        hangs_up: whether it closes the connection after each answer.
    """

    host = "127.0.0.1"
    registered_url = "http://localhost:{port}/mcp"
    hangs_up = False

    def __init__(self, league: str, log: Path) -> None:
        self.league, self.site = league, league.removesuffix("/mcp")
        self.name = type(self).__name__
        self.listener = Listener(self, self.host)
        self.port = self.listener.port
        self.address = self.registered_url.format(port=self.port)
        self.player_id = self.token = ""
        self.rng = random.Random(self.name)
        self.chosen: dict[str, str] = {}
        self.invitations: dict[str, dict[str, Any]] = {}
        self.log = Log(log)
        self.caller = Caller(self.log, limit_s=20)

    # -- start and stop ------------------------------------------------------------------------------------

    async def start(self) -> str:
        """Listen, then register; returns the line to print."""
        await self.listener.open()
        try:
            await self.enter()
        except (AssertionError, KeyError, TypeError) as failure:
            return f"UNREGISTERED {self.name} {failure!r}"
        return f"READY {self.name} {self.player_id}"

    async def stop(self) -> None:
        """Close everything."""
        await self.caller.close()
        await self.listener.close()
        self.log.close()

    # -- registration -------------------------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:
        """The ``player_meta`` of its registration."""
        return words.meta(self.name, self.address)

    def request(self) -> dict[str, Any]:
        """The bot's LEAGUE_REGISTER_REQUEST, as in chapter 8."""
        at = "2025-01-15T10:00:00Z"
        return words.registration("player", self.name, f"conv-{self.name}", self.meta(), at=at)

    async def enter(self) -> None:
        """Register and read the answer."""
        self.read(await self.rpc(self.league, "register_player", self.request()))

    def read(self, answer: Any) -> None:
        """Take id and token from ``result`` of the answer to a registration."""
        response = answer["result"]
        assert response["status"] == "ACCEPTED", response
        self.player_id, self.token = response["player_id"], response["auth_token"]

    # -- calls that it makes ------------------------------------------------------------------------------------

    async def rpc(self, url: str, method: str, params: Any) -> Any:
        """Make a JSON-RPC call; returns the decoded answer."""
        return await self.post(url, rpc(method, params))

    async def post(self, url: str, body: Any, **options: Any) -> Any:
        """Make a POST; returns the decoded answer."""
        return (await self.caller.post(url, body, **options))[1]

    def later(self, url: str, body: Any, **options: Any) -> None:
        """Start a POST in the background, such as a callback after the reply."""
        self.caller.later(url, body, **options)

    # -- calls that it answers ------------------------------------------------------------------------------------

    async def converse(self, talk: Talk) -> None:
        """Answer the requests of one connection."""
        while True:
            call = await talk.read()
            reply = await self.answer_request(call)
            received = {"in": call.body or call.raw, "verb": call.verb, "path": call.path}
            self.log.write(**received, status=reply.status, reply=reply.body)
            await talk.send(self.wire(reply))
            if self.hangs_up:
                break

    def wire(self, reply: Reply) -> bytes:
        """The bytes of a response."""
        body = reply.payload()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))} | reply.headers
        return self.head(reply, headers) + body

    @staticmethod
    def head(reply: Reply, headers: Mapping[str, str], version: str = "HTTP/1.1") -> bytes:
        """Status line and headers."""
        lines = [f"{version} {reply.status} {REASONS.get(reply.status, 'Other')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def answer_request(self, call: Call) -> Reply:
        """Answer one request."""
        if call.verb != "POST" or call.path != "/mcp":
            return Reply({"detail": "Not Found"}, 404)
        return await self.answer_call(call)

    async def answer_call(self, call: Call) -> Reply:
        """Answer one POST to /mcp."""
        kind = REQUIRED_TOOLS.get(call.method)
        if kind is None:
            return error(-32601, "Method not found", call)
        return await self.answer_message(kind, call.body.get("params", {}), call)

    async def answer_message(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        """Answer one message that it understands."""
        if kind == INVITE:
            self.invitations[fields["match_id"]] = fields
        return self.answer(kind, fields, call)

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        """The reply to a message it understands."""
        return result(self.message(kind, fields), call)

    def message(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of its answer to a message."""
        if kind == OVER:
            return {"status": "ok"}
        about = {"match_id": fields["match_id"], "conversation_id": fields.get("conversation_id") or str(uuid4())}
        answer = {"parity_choice": self.choose(about["match_id"])} if kind == CHOOSE else {"accept": True}
        return words.answer(ANSWERS[kind], about, self.player_id, at=NOW, auth_token=self.token, **answer)

    def choose(self, match: str) -> str:
        """The bot's choice in a match: the same each time it is asked."""
        return self.chosen.setdefault(match, self.rng.choice(("even", "odd")))
