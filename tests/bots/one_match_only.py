"""A player that can play one match at a time and refuses every other as busy, on whatever path it is called.

An honest agent of a common kind: it keeps one match in one variable. It registers nowhere; the test does that.

    python tests/bots/one_match_only.py --log refused.txt

Prints ``READY <port>``. Each invitation that came while another match was open is one line of the log.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

THINKS_S = 0.3
"""Long enough that several matches of one round would overlap."""


class Game:
    """The one match it can play."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._open: object = None

    def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """What it says to a message."""
        kind, match = params.get("message_type"), (params.get("league_id"), params.get("match_id"))
        reply = {
            "protocol": "league.v2",
            "sender": f"player:{params.get('player_id')}",
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "conversation_id": params.get("conversation_id"),
            "match_id": params.get("match_id"),
            "player_id": params.get("player_id"),
        }
        if kind == "GAME_INVITATION":
            with self._lock:
                free = self._open in (None, match)
                if free:
                    self._open = match
                else:
                    with self._log.open("a", encoding="utf-8") as log:
                        log.write(f"{match} while {self._open}\n")
            return reply | {
                "message_type": "GAME_JOIN_ACK",
                "arrival_timestamp": reply["timestamp"],
                "accept": free,
            }
        if kind == "CHOOSE_PARITY_CALL":
            time.sleep(THINKS_S)
            return reply | {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"}
        if kind == "GAME_OVER":
            with self._lock:
                if self._open == match:
                    self._open = None
        return {"status": "ok"}


def main() -> None:
    """Listen until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    game = Game(parser.parse_args().log)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = {"jsonrpc": "2.0", "id": body.get("id"), "result": game.answer(body.get("params", {}))}
            raw = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"READY {server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
