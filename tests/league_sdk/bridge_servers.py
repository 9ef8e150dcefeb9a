"""A simulated league and a simulated agent, for the tests of the bridge."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from league_sdk.bridge import Relay, Reply, Server
from tests.bots.base import RESET

TOKEN = "tok_" + "0" * 32
PATIENCE_S = 20.0
CUT = -1
"""In place of a status: reset the connection within the body."""
Answer = tuple[int, bytes] | None
"""Status and body; None closes the connection without a word."""
Behaviour = Callable[["Call"], Answer]
Calls = Callable[..., Reply]
"""A function that calls a listening program with a body, a path and headers."""


class Call:
    """One call that a server received: verb, target, headers and body."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.verb, self.target, self.headers = handler.command, handler.path, handler.headers
        self.body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class FakeServer:
    """A server that answers as a test says.

    Args:
        says: the answer to a call.
        port: where it listens; any by default.
        one_by_one: whether it finishes one connection before it takes the next.
    """

    def __init__(self, says: Behaviour, port: int = 0, *, one_by_one: bool = False) -> None:
        self.calls: list[Call] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                call = Call(self)
                server.calls.append(call)
                reply = says(call)
                if reply is None:
                    return
                self.send_response(200 if reply[0] == CUT else reply[0])
                self.send_header("Content-Type", "application/json")
                if reply[0] == CUT:
                    self.send_header("Content-Length", str(len(reply[1]) + 100))
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                self.end_headers()
                self.wfile.write(reply[1])

            do_GET = do_POST  # noqa: N815

            def log_message(self, *args: Any) -> None: ...

        class Server(HTTPServer if one_by_one else ThreadingHTTPServer):  # type: ignore[misc]
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None: ...  # The caller hung up.

        self._server = Server(("127.0.0.1", port), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


def message(number: int = 7, seconds_left: float = 10.0, **http: Any) -> dict[str, Any]:
    """One message of an inbox, as a poll of the league returns it."""
    request = {"jsonrpc": "2.0", "method": "choose_parity", "params": {"match_id": "R1M1"}, "id": number}
    return {"cursor": "7", "seconds_left": seconds_left, "request": request, "http": {"id": 1001, **http}}


def ok(body: Any) -> tuple[int, bytes]:
    """A good answer with this body."""
    return 200, json.dumps(body).encode()


class League:
    """A league's inbox: answers polls one after the other, and at last says that another program took over (409).

    Args:
        polls: the answer to each poll: a list of messages, or any other answer.
        wants: how many messages must be answered before the 409.

    Attributes:
        delivered: the responses that the bridge delivered.
        all_here: set when ``wants`` messages were answered.
        refusals: what is answered to the first responses in place of taking them.
    """

    def __init__(self, *polls: Answer | list[dict[str, Any]], wants: int = 1) -> None:
        self._polls, self._wants = list(polls), wants
        self.delivered: list[dict[str, Any]] = []
        self.all_here = threading.Event()
        self.refusals: list[Answer] = []

    def __call__(self, call: Call) -> Answer:
        """Answer a poll, or take what is delivered."""
        if call.verb == "POST":
            if self.refusals:
                return self.refusals.pop(0)
            self.delivered += call.json["responses"]
            if len({one["id"] for one in self.delivered}) >= self._wants:
                self.all_here.set()
            return ok({"accepted": 1, "not_awaited": []})
        assert call.headers["Authorization"] == f"Bearer {TOKEN}"
        if self._polls:
            poll = self._polls.pop(0)
            return ok({"messages": poll, "next": "7"}) if isinstance(poll, list) else poll
        assert self.all_here.wait(PATIENCE_S), "the answers did not come"
        return 409, b"{}"


def run_relay(league: FakeServer, agent: str) -> str:
    """Run a relay to its end; returns why it ended."""
    return Relay("Ada", urlsplit(league.url), "/inbox", TOKEN, Server(agent)).run()


def accepted(call: Call) -> Answer:
    """A league that accepts every registration, and answers each poll with 409, which ends the relay."""
    if call.verb == "GET":
        return 409, b"{}"
    result = {"status": "ACCEPTED", "player_id": "P01", "auth_token": TOKEN, "inbox": {"poll_url": "http://x/inbox"}}
    return ok({"jsonrpc": "2.0", "id": 1, "result": result})


def entering(name: str, agent: FakeServer) -> dict[str, Any]:
    """The request by which an agent registers."""
    meta = {"display_name": name, "contact_endpoint": agent.url}
    return {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": {"player_meta": meta}}
