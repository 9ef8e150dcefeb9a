"""Strangers whose HTTP is odd, and whose messages are those of chapter 8."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

from tests.bots.base import Asked, Talk
from tests.bots.strangers.base import Reply, Stranger, error, result
from tests.bots.words import INVITE, rpc


class Http10(Stranger):
    """http.server as it comes: HTTP/1.0, no Content-Length, the end of the body is the end of the connection."""

    hangs_up = True

    def wire(self, reply: Reply) -> bytes:
        return self.head(reply, {"Content-type": "application/json"}, "HTTP/1.0") + reply.payload()


class ConnectionClose(Stranger):
    """Closes after each answer, and says so."""

    hangs_up = True

    def wire(self, reply: Reply) -> bytes:
        reply.headers["Connection"] = "close"
        return super().wire(reply)


class RudeClose(Stranger):
    """Closes after each answer and does not say so, as a server with an idle limit of nothing."""

    hangs_up = True


class Chunked(Stranger):
    """Chunks of seven bytes, trailing white space and an extra newline."""

    def wire(self, reply: Reply) -> bytes:
        raw = reply.payload() + b"  \r\n\n"
        pieces = [raw[at : at + 7] for at in range(0, len(raw), 7)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        return self.head(reply, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}) + body


class Gzipped(Stranger):
    """A compression middleware that asks nobody."""

    def wire(self, reply: Reply) -> bytes:
        squeezed = Reply(gzip.compress(reply.payload()), reply.status, {"Content-Encoding": "gzip"})
        return super().wire(squeezed)


class ByteOrderMark(Stranger):
    """Writes UTF-8 with a byte order mark."""

    def wire(self, reply: Reply) -> bytes:
        return super().wire(Reply(b"\xef\xbb\xbf" + reply.payload(), reply.status, reply.headers))


class SaysHtml(Stranger):
    """Flask's ``return json.dumps(...)``: the content type is text/html."""

    def wire(self, reply: Reply) -> bytes:
        reply.headers["Content-Type"] = "text/html; charset=utf-8"
        return super().wire(reply)


class SaysPlain(Stranger):
    """No content type at all, and its registration is ``requests.post(url, data=json.dumps(...))``."""

    def wire(self, reply: Reply) -> bytes:
        body = reply.payload()
        return self.head(reply, {"Content-Length": str(len(body))}) + body

    async def enter(self) -> None:
        body = rpc("register_player", self.request())
        options: dict[str, Any] = {"data": json.dumps(body).encode(), "skip_auto_headers": ["Content-Type"]}
        self.read(await self.post(self.league, body, **options))


class Created(Stranger):
    """Every answer is a 201."""

    def wire(self, reply: Reply) -> bytes:
        return super().wire(Reply(reply.body, 201 if reply.status == 200 else reply.status, reply.headers))


class Latin1(Stranger):
    """Answers in Latin-1 with a name that needs it, and says so in the content type."""

    def wire(self, reply: Reply) -> bytes:
        body = reply.body
        if isinstance(body, dict) and isinstance(body.get("result"), dict):
            body = body | {"result": body["result"] | {"display_name": "Jürgen"}}
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode("latin-1")
        return super().wire(Reply(raw, reply.status, {"Content-Type": "application/json; charset=iso-8859-1"}))


class OneAtATime(Stranger):
    """A single-threaded server with keep-alive: while a connection is open, nobody else is served."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.turn = asyncio.Lock()

    async def converse(self, talk: Talk) -> None:
        async with self.turn:
            await super().converse(talk)


class Ipv6(Stranger):
    """Listens at ::1 and says so."""

    host = "::1"
    claims = "http://[::1]:{port}/mcp"


class Capitals(Stranger):
    """The host in capitals, the scheme too."""

    claims = "HTTP://LOCALHOST:{port}/mcp"


class AnyAddress(Stranger):
    """Gives the address that it binds."""

    claims = "http://0.0.0.0:{port}/mcp"


class NoScheme(Stranger):
    """Leaves the scheme out, and the path."""

    claims = "localhost:{port}"


class AtTheRoot(Stranger):
    """Serves POST / and knows no other path."""

    claims = "http://localhost:{port}/"

    async def take(self, asked: Asked) -> Reply:
        if asked.path != "/" or asked.verb != "POST":
            return Reply(b"Cannot POST " + asked.path.encode(), 404, {"Content-Type": "text/html"})
        return await self.hear(asked)


class SlowJoin(Stranger):
    """Wakes a model up before it says yes: four seconds of the five."""

    async def act(self, kind: str, fields: dict[str, Any], asked: Asked) -> Reply:
        if kind == INVITE:
            await asyncio.sleep(4)
        return await super().act(kind, fields, asked)


class Slashed(Stranger):
    """FastAPI's mount: /mcp answers 307 to /mcp/."""

    async def take(self, asked: Asked) -> Reply:
        if asked.path == "/mcp":
            return Reply(b"", 307, {"Location": f"http://localhost:{self.port}/mcp/"})
        return await self.hear(asked) if asked.path == "/mcp/" else Reply({"detail": "Not Found"}, 404)


class HealthFirst(Stranger):
    """Not ready before somebody has looked at its /health."""

    seen = False

    async def take(self, asked: Asked) -> Reply:
        if asked.path == "/health":
            self.seen = True
            return Reply({"status": "healthy"})
        if not self.seen:
            return Reply({"error": "agent not ready: health check pending"}, 503)
        return await super().take(asked)


class PingFirst(Stranger):
    """Not ready before it got a ping."""

    seen = False

    async def hear(self, asked: Asked) -> Reply:
        if asked.method == "ping":
            self.seen = True
            return result({"status": "pong"}, asked)
        if not self.seen:
            return error(-32000, "Handshake not completed, send ping first", asked)
        return await super().hear(asked)
