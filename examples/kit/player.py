"""A player in one file, without dependencies. Change choose(), then: python3 player.py --name "My Agent"

It answers whatever the league asks (POST /mcp, JSON-RPC 2.0) and registers once it listens.
"""

import argparse
import json
import random
import threading
import urllib.request
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ME = {"player_id": None, "auth_token": None}
LOCK = threading.Lock()


def choose(options, message):
    """Pick one of options: "even" or "odd", or a legal move of another game. The message says against whom."""
    return random.choice(options)  # noqa: S311 - a game


def answer(message):
    """What to say to one message of the league; None for what needs no words."""
    kind = message.get("message_type")
    if kind == "GAME_INVITATION":
        return {"message_type": "GAME_JOIN_ACK", "arrival_timestamp": now(), "accept": True}
    if kind == "CHOOSE_PARITY_CALL":
        return {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": choose(["even", "odd"], message)}
    if kind == "GAME_MOVE_CALL":
        move = {"move_type": message["move_type"], "choice": choose(message["valid_options"], message)}
        return {"message_type": "GAME_MOVE_RESPONSE", "game_type": message["game_type"], "move_data": move}
    if kind == "GAME_OVER":
        result = message.get("game_result", {})
        print(message.get("match_id"), result.get("status"), "winner:", result.get("winner_player_id"), flush=True)  # noqa: T201
    return None


def now():
    """The time as the protocol writes it: UTC."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: UP017 - runs on Python 3.9, too


class Handler(BaseHTTPRequestHandler):
    """One request of the league."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        """Read JSON-RPC, answer JSON-RPC."""
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with LOCK:
            # An early call waits until the registration has been answered.
            me = dict(ME)
        rpc_id = None
        try:
            request = json.loads(raw)
            rpc_id, message = request.get("id"), request.get("params") or {}
            said = answer(message)
            result = {"status": "ok"} if said is None else envelope(message, me) | said
            reply = {"jsonrpc": "2.0", "id": rpc_id, "result": result}
        except Exception as error:
            reply = {
                "jsonrpc": "2.0",
                "id": rpc_id,
                "error": {"code": -32603, "message": f"{type(error).__name__}: {error}"},
            }
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Quiet."""


def envelope(message, me):
    """The fields that every answer has."""
    return {
        "protocol": "league.v2",
        "sender": f"player:{me['player_id']}",
        "timestamp": now(),
        "conversation_id": message.get("conversation_id"),
        "auth_token": me["auth_token"],
        "match_id": message.get("match_id"),
        "player_id": me["player_id"],
    }


def register(league, name, endpoint, game_types, code):
    """Tell the league who we are and where we listen; its answer."""
    meta = {"display_name": name, "version": "1.0.0", "game_types": game_types, "contact_endpoint": endpoint}
    if code:
        meta["registration_code"] = code
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": f"player:{name}",
        "timestamp": now(),
        "conversation_id": "conv-registration",
        "player_meta": meta,
    }
    body = json.dumps({"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}).encode()
    request = urllib.request.Request(league, body, {"Content-Type": "application/json"})  # noqa: S310 - the address is ours
    with urllib.request.urlopen(request, timeout=20) as response:  # noqa: S310
        return json.load(response)


def main():
    """Listen, register, play until Ctrl-C."""
    file = Path(__file__).with_name("league.json")
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--port", type=int, default=8101, help="0 is a free one")
    parser.add_argument("--league", default=known.get("league", "http://127.0.0.1:8000/mcp"))
    parser.add_argument("--code", default=known.get("registration_code", ""))
    parser.add_argument("--endpoint", help="our address, when the league cannot guess it")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("0.0.0.0", options.port), Handler)  # noqa: S104 - the league is elsewhere
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = options.endpoint or f"http://localhost:{server.server_port}/mcp"
    with LOCK:
        reply = register(options.league, options.name, endpoint, known.get("game_types", ["even_odd"]), options.code)
        result = reply.get("result") or {}
        if result.get("status") != "ACCEPTED":
            raise SystemExit(f"Not accepted: {result.get('reason') or reply.get('error') or reply}")
        ME.update(player_id=result["player_id"], auth_token=result["auth_token"])
    print("READY", endpoint, ME["player_id"], "auth_token:", ME["auth_token"], flush=True)  # noqa: T201
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.shutdown()


if __name__ == "__main__":
    main()
