"""An agent that joins every match and then says "maybe", until it is mended."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Undecided(ThreadingHTTPServer):
    """Its server.

    Attributes:
        choice: what it answers when it is asked to choose.
        seen: the bodies of all calls, in order; None for one that is not JSON.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.choice = "maybe"
        self.seen: list[Any] = []

    @property
    def address(self) -> str:
        """Host and port, as students give them."""
        return f"localhost:{self.server_address[1]}"

    @property
    def endpoint(self) -> str:
        """The whole address."""
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"


class _Handler(BaseHTTPRequestHandler):
    server: Undecided

    def do_POST(self) -> None:
        """Answer one call."""
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        self.server.seen.append(body)
        call = body if isinstance(body, dict) else {}
        result: dict[str, Any] = {"status": "ok"}
        if call.get("method") == "handle_game_invitation":
            result = {"message_type": "GAME_JOIN_ACK", "accept": True}
        elif call.get("method") == "choose_parity":
            result = {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": self.server.choice}
        content = json.dumps({"jsonrpc": "2.0", "id": call.get("id"), "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Keep quiet."""


@contextmanager
def undecided() -> Iterator[Undecided]:
    """One that listens."""
    server = Undecided()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
