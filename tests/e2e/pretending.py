"""A fake league: it answers as a test wants, and records what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "tok_" + "a" * 32
LEAGUE_TOKEN = "tok_" + "b" * 32


@dataclass
class Request:
    """A request: its method, path, headers and body."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str


@dataclass
class Reply:
    """An answer: its HTTP status, its body (JSON, or text as it is), and where a redirect leads to."""

    status: int
    body: Any = ""
    location: str = ""


@dataclass
class Pretender:
    """The address of a fake league, and the messages that it was sent, in order."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)


def accepted(poll_url: str) -> dict[str, Any]:
    """The answer to a registration."""
    result = {"status": "ACCEPTED", "player_id": "P01", "auth_token": TOKEN, "league_token": LEAGUE_TOKEN}
    return {"jsonrpc": "2.0", "id": 1, "result": result | {"inbox": {"poll_url": poll_url}}}


@contextmanager
def pretender(answer: Callable[[Pretender, Request], Reply], port: int = 0) -> Iterator[Pretender]:
    """A server on 127.0.0.1 that answers every request by a function."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            request = Request(self.command, self.path, dict(self.headers), body)
            pretended.requests.append(request)
            reply = answer(pretended, request)
            content = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
            self.send_response(reply.status)
            if reply.location:
                self.send_header("Location", reply.location)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *args: Any) -> None:
            """Quiet."""

    pretended = Pretender()
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        server.daemon_threads = True
        pretended.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield pretended
        finally:
            server.shutdown()
