"""Test agents with unusual HTTP and the standard messages of 004 chapter 8."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

from tests.bots.base import Call, Talk
from tests.bots.foreign_agents.base import ForeignAgent, Reply, error, result
from tests.bots.words import INVITE, rpc


class Http10(ForeignAgent):
    """HTTP/1.0 as http.server sends it: no Content-Length, the body ends with the connection."""

    hangs_up = True

    def wire(self, reply: Reply) -> bytes:
        return self.head(reply, {"Content-type": "application/json"}, "HTTP/1.0") + reply.payload()


class ConnectionClose(ForeignAgent):
    """Closes the connection after each answer, with ``Connection: close``."""

    hangs_up = True

    def wire(self, reply: Reply) -> bytes:
        reply.headers["Connection"] = "close"
        return super().wire(reply)


class RudeClose(ForeignAgent):
    """Closes the connection after each answer without ``Connection: close``."""

    hangs_up = True


class Chunked(ForeignAgent):
    """Answers in chunks of seven bytes, with trailing white space and an extra newline."""

    def wire(self, reply: Reply) -> bytes:
        raw = reply.payload() + b"  \r\n\n"
        pieces = [raw[at : at + 7] for at in range(0, len(raw), 7)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        return self.head(reply, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}) + body


class Gzipped(ForeignAgent):
    """Compresses its answers whether the caller accepts that or not."""

    def wire(self, reply: Reply) -> bytes:
        squeezed = Reply(gzip.compress(reply.payload()), reply.status, {"Content-Encoding": "gzip"})
        return super().wire(squeezed)


class ByteOrderMark(ForeignAgent):
    """Answers in UTF-8 with a byte order mark."""

    def wire(self, reply: Reply) -> bytes:
        return super().wire(Reply(b"\xef\xbb\xbf" + reply.payload(), reply.status, reply.headers))


class SaysHtml(ForeignAgent):
    """Answers JSON as text/html, as Flask's ``return json.dumps(...)`` does."""

    def wire(self, reply: Reply) -> bytes:
        reply.headers["Content-Type"] = "text/html; charset=utf-8"
        return super().wire(reply)


class NoContentType(ForeignAgent):
    """Answers and registers without a content type, as ``requests.post(url, data=json.dumps(...))`` does."""

    def wire(self, reply: Reply) -> bytes:
        body = reply.payload()
        return self.head(reply, {"Content-Length": str(len(body))}) + body

    async def enter(self) -> None:
        body = rpc("register_player", self.request())
        options: dict[str, Any] = {"data": json.dumps(body).encode(), "skip_auto_headers": ["Content-Type"]}
        self.read(await self.post(self.league, body, **options))


class Created(ForeignAgent):
    """Answers with HTTP status 201 instead of 200."""

    def wire(self, reply: Reply) -> bytes:
        return super().wire(Reply(reply.body, 201 if reply.status == 200 else reply.status, reply.headers))


class Latin1(ForeignAgent):
    """Answers in Latin-1, with a name beyond ASCII, and names the charset in the content type."""

    def wire(self, reply: Reply) -> bytes:
        body = reply.body
        if isinstance(body, dict) and isinstance(body.get("result"), dict):
            body = body | {"result": body["result"] | {"display_name": "Jürgen"}}
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode("latin-1")
        return super().wire(Reply(raw, reply.status, {"Content-Type": "application/json; charset=iso-8859-1"}))


class OneAtATime(ForeignAgent):
    """A single-threaded server with keep-alive: serves one connection at a time."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.turn = asyncio.Lock()

    async def converse(self, talk: Talk) -> None:
        async with self.turn:
            await super().converse(talk)


class Ipv6(ForeignAgent):
    """Listens at ::1 and registers with that address."""

    host = "::1"
    registered_url = "http://[::1]:{port}/mcp"


class Capitals(ForeignAgent):
    """Registers with scheme and host in capitals."""

    registered_url = "HTTP://LOCALHOST:{port}/mcp"


class AnyAddress(ForeignAgent):
    """Registers with the address that a server binds, 0.0.0.0."""

    registered_url = "http://0.0.0.0:{port}/mcp"


class NoScheme(ForeignAgent):
    """Registers with a URL that has no scheme and no path."""

    registered_url = "localhost:{port}"


class AtTheRoot(ForeignAgent):
    """Serves POST / and no other path."""

    registered_url = "http://localhost:{port}/"

    async def answer_request(self, call: Call) -> Reply:
        if call.path != "/" or call.verb != "POST":
            return Reply(b"Cannot POST " + call.path.encode(), 404, {"Content-Type": "text/html"})
        return await self.answer_call(call)


class SlowJoin(ForeignAgent):
    """Needs four of the five seconds that it has to join."""

    async def answer_message(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        if kind == INVITE:
            await asyncio.sleep(4)
        return await super().answer_message(kind, fields, call)


class Slashed(ForeignAgent):
    """Redirects /mcp to /mcp/ by a 307, as a mounted FastAPI application does."""

    async def answer_request(self, call: Call) -> Reply:
        if call.path == "/mcp":
            return Reply(b"", 307, {"Location": f"http://localhost:{self.port}/mcp/"})
        return await self.answer_call(call) if call.path == "/mcp/" else Reply({"detail": "Not Found"}, 404)


class HealthFirst(ForeignAgent):
    """Refuses every call until somebody has called its /health."""

    seen = False

    async def answer_request(self, call: Call) -> Reply:
        if call.path == "/health":
            self.seen = True
            return Reply({"status": "healthy"})
        if not self.seen:
            return Reply({"error": "agent not ready: health check pending"}, 503)
        return await super().answer_request(call)


class PingFirst(ForeignAgent):
    """Refuses every call until it has been pinged."""

    seen = False

    async def answer_call(self, call: Call) -> Reply:
        if call.method == "ping":
            self.seen = True
            return result({"status": "pong"}, call)
        if not self.seen:
            return error(-32000, "Handshake not completed, send ping first", call)
        return await super().answer_call(call)
