"""A player on http.server with keep-alive and one thread. Usage: single_thread.py LEAGUE NAME."""

import json
import random
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

league, name = sys.argv[1:]
me = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        params = body.get("params", {})
        base = {"match_id": params.get("match_id"), "player_id": me.get("player_id")}
        results = {
            "handle_game_invitation": {"message_type": "GAME_JOIN_ACK", **base, "accept": True},
            "choose_parity": {
                "message_type": "CHOOSE_PARITY_RESPONSE",
                **base,
                "parity_choice": random.choice(["even", "odd"]),
            },
        }
        result = results.get(body["method"], {"status": "ok"})
        reply = json.dumps({"jsonrpc": "2.0", "result": result, "id": body.get("id")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
meta = {"display_name": name, "contact_endpoint": f"http://localhost:{server.server_port}/mcp"}
call = {"jsonrpc": "2.0", "method": "register_player", "params": {"player_meta": meta}, "id": 1}
request = urllib.request.Request(league, json.dumps(call).encode(), {"Content-Type": "application/json"})  # noqa: S310 - the URL comes from a test
with urllib.request.urlopen(request) as answer:  # noqa: S310 - the same
    me.update(json.load(answer)["result"])
print("READY", me["player_id"], flush=True)
threading.Event().wait()
