"""An HTTP server that acts as an agent; a test decides on its answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.bots.words import answer, rpc_result

Result = dict[str, Any]
Answer = Callable[[Any], Result]
"""Takes the body of a call (None: not JSON), returns its ``result``. Called by several threads at once."""


class Server(ThreadingHTTPServer):
    """Answers every POST with a JSON-RPC result; see :data:`Answer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    @property
    def endpoint(self) -> str:
        """The URL at which it is called."""
        return f"http://127.0.0.1:{self.port}/mcp"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        rpc_id = body.get("id") if isinstance(body, dict) else None
        content = json.dumps(rpc_result(self.server.answer(body), rpc_id)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Write no access log."""


@contextmanager
def listening(answer: Answer) -> Iterator[Server]:
    """A server that listens until the block ends; every call must have been answered by then."""
    server = Server(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def params_of(body: Any) -> dict[str, Any]:
    """The ``params`` of a call; empty when it has none."""
    params = body.get("params") if isinstance(body, dict) else None
    return params if isinstance(params, dict) else {}


def reply_to(params: dict[str, Any], message_type: str, **fields: Any) -> Result:
    """A player's complete answer to a message about its match."""
    return answer(message_type, params, params.get("player_id"), **fields)
