"""Shared by the players in Python: they record the calls that they get, and register once their server listens."""

import json
import os
import socket
import threading
import time
import urllib.request
from pathlib import Path

PORT = int(os.environ["PORT"])


def record_call(tool, **arguments):
    """Write one call of a tool as a line of the file that the test reads."""
    with Path(os.environ["CALLS_FILE"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"tool": tool, "arguments": arguments}, default=str) + "\n")


def join_the_league(name):
    """Register in the background, as soon as the server listens."""
    threading.Thread(target=_join, args=[name], daemon=True).start()


def _join(name):
    while True:
        try:
            socket.create_connection(("127.0.0.1", PORT)).close()
            break
        except OSError:
            time.sleep(0.1)
    meta = {
        "display_name": name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": os.environ["ENDPOINT"],
    }
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "league_id": os.environ["LEAGUE_ID"],
        "player_meta": meta,
    }
    body = {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}
    kind = {"Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["LEAGUE"], json.dumps(body).encode(), kind)  # noqa: S310 - the test chose this URL
    with urllib.request.urlopen(request) as reply:  # noqa: S310 - the test chose this URL
        print("JOINED", json.load(reply)["result"]["player_id"], flush=True)
