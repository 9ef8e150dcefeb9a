"""A player in one file, without dependencies. Change choose(), then: python3 player.py --name "My Agent"

It answers whatever the league asks (POST /mcp, JSON-RPC 2.0) and registers once it listens. If the league cannot call
it, it fetches the league's messages itself.
"""

import argparse
import hashlib
import http.client
import json
import random
import sys
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


def choose(options, message):
    """Pick one of options: "even" or "odd", or a legal move of another game. The message says against whom."""
    return random.choice(options)  # noqa: S311 - a game


ME = {"player_id": None, "auth_token": None, "league_token": None}
CALLED = threading.Event()  # set once the league has called us at our port
CHOICES = {}  # our last 32 choices of a parity: a call that is sent again gets the same
LOCK = threading.Lock()  # held while we register: a call that comes early waits for the reply
STARTED = time.monotonic()
MAX_BODY = 4_000_000
STOPS = {
    401: "The league does not know our auth_token any more: start again to register anew.",
    409: "Another program fetches this player's messages now, so this one stops: run only one of them.",
}


class Refused(Exception):
    """A request that cannot be answered: the code of JSON-RPC, and why."""


def answer(message):
    """Our answer to one message of the league; None if it needs none."""
    kind = message.get("message_type")
    asks = kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
    if asks and not isinstance(message.get("match_id"), str):
        raise Refused(-32602, "match_id is missing")
    if kind == "GAME_INVITATION":
        return {"message_type": "GAME_JOIN_ACK", "arrival_timestamp": now(), "accept": True}
    if kind == "CHOOSE_PARITY_CALL":
        asked = (str(message.get("auth_token")), str(message.get("conversation_id")))
        choice = CHOICES.get(asked) or CHOICES.setdefault(asked, choose(["even", "odd"], message))
        for oldest in list(CHOICES)[:-32]:
            CHOICES.pop(oldest, None)
        return {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": choice}
    if kind == "GAME_MOVE_CALL":
        move = {"move_type": message.get("move_type"), "choice": choose(message["valid_options"], message)}
        return {"message_type": "GAME_MOVE_RESPONSE", "game_type": message.get("game_type"), "move_data": move}
    return None


def respond(raw, called=None):
    """The JSON-RPC answer to a JSON-RPC request, None to a notification; sets called if the league asks."""
    with LOCK:
        me = dict(ME)
    rpc_id = None
    try:
        try:
            request = json.loads(raw)
        except (ValueError, RecursionError):
            raise Refused(-32700, "This is no JSON") from None
        if not isinstance(request, dict) or not isinstance(message := request.get("params") or {}, dict):
            raise Refused(-32600, "One request with params is expected")
        if isinstance(request.get("id"), (str, int)):
            rpc_id = request["id"]
        if request.get("method") != "ping" and not isinstance(message.get("message_type"), str):
            raise Refused(-32601, "There is no such method here")
        # Only the league knows this token. We tell ours to nobody else, and believe nobody else about a result.
        is_league = bool(me["league_token"]) and message.get("auth_token") == me["league_token"]
        if is_league and called:
            called.set()
        if is_league and message.get("message_type") == "GAME_OVER":
            result = message.get("game_result") or {}
            tell(message.get("match_id"), result.get("status"), "winner:", result.get("winner_player_id"))
        reply = answer(message)
        if "id" not in request:
            return None
        result = {"status": "ok"} if reply is None else {**envelope(message, me, is_league), **reply}
        json.dumps(result)  # fails here if what we repeat of a message is nested too deeply
        return {"jsonrpc": "2.0", "id": rpc_id, "result": result}
    except Refused as error:
        return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": error.args[0], "message": error.args[1]}}
    except Exception as error:
        error = {"code": -32603, "message": f"{type(error).__name__}: {error}"}
        return {"jsonrpc": "2.0", "id": rpc_id, "error": error}


def envelope(message, me, is_league):
    """The fields that every answer has."""
    return {
        "protocol": "league.v2",
        "sender": f"player:{me['player_id']}",
        "timestamp": now(),
        "conversation_id": message.get("conversation_id"),
        "match_id": message.get("match_id"),
        "player_id": me["player_id"],
        **({"auth_token": me["auth_token"]} if is_league else {}),
    }


def now():
    """The time as the protocol writes it: UTC."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: UP017 - runs on Python 3.9, too


def tell(*words):
    """Print a line."""
    print(*words, flush=True)  # noqa: T201


def stop(text, code):
    """End the program, saying why."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201
    raise SystemExit(code)


class Handler(BaseHTTPRequestHandler):
    """One request of the league."""

    protocol_version = "HTTP/1.1"
    # Head and body leave in one write and at once: in two, a kept connection waits 40 ms for each answer.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):
        """Whether we are up: /health."""
        asks_health = self.path == "/health"
        uptime = int(time.monotonic() - STARTED)
        health = {"status": "ok" if ME["player_id"] else "starting", "agent_id": ME["player_id"], "uptime": uptime}
        self.say(health if asks_health else {"error": "POST to /mcp"}, 200 if asks_health else 404)

    def do_POST(self):
        """Read JSON-RPC, answer JSON-RPC."""
        length = self.headers.get("Content-Length", "")
        if not (length.isdecimal() and len(length) < 9 and int(length) <= MAX_BODY):
            self.close_connection = True
            self.say({"error": f"Content-Length has to be a number up to {MAX_BODY}"}, 413)
            return
        reply = respond(self.rfile.read(int(length)), CALLED)
        self.say(reply, 200 if reply else 204)

    def say(self, reply, status=200):
        """Answer in JSON; with nothing if there is no reply."""
        content = json.dumps(reply).encode() if reply else b""
        self.send_response(status)
        if reply:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Log nothing."""


class Server(ThreadingHTTPServer):
    """Our port."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        """Print nothing when a caller hangs up."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Our token goes to the league only, not where it, or the login page of a Wi-Fi, redirects us."""

    def redirect_request(self, *args):
        """Follow no redirect."""


OPENER = urllib.request.build_opener(NoRedirects)


def call(address, body=None, token="", limit=40):
    """Send JSON to the league (a GET without a body) and return its answer, for which it has this many seconds."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    with OPENER.open(urllib.request.Request(address, data, headers), timeout=limit) as response:  # noqa: S310
        return json.load(response)


def register(league, name, meta, token):
    """Tell the league who we are and how it reaches us, as soon as it is up; its answer."""
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": f"player:{name}",
        "timestamp": now(),
        "conversation_id": "conv-registration",
        "player_meta": {"display_name": name, "version": "1.0.0", **meta},
        **({"auth_token": token} if token else {}),
    }
    waits = False
    while True:
        try:
            with LOCK:
                reply = call(league, {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1})
                result = reply.get("result") or {}
                if result.get("status") == "ACCEPTED":
                    ME.update({field: result.get(field) for field in ME})
                    return result
            stop(f"Not accepted: {result.get('reason') or (reply.get('error') or {}).get('message') or reply}", 3)
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code != 429:
                stop(f"Not accepted: {league} answers {error}", 3)
            if not waits:
                tell(f"The league at {league} does not answer yet, waiting for it: {error}")
            waits = True
        except (ValueError, AttributeError) as error:
            stop(f"Not accepted: {league} is not a league: {error}", 3)
        time.sleep(random.uniform(1, 3))  # noqa: S311 - not all of a class at once


def fetch(inbox):
    """Fetch messages from the league and bring the answers there, until another program does so for us."""
    after = ""
    while True:
        try:
            # Not for long: a laptop that slept or changed its network does not learn that the connection is dead.
            news = call(f"{inbox}?wait=6&after={after}", token=ME["auth_token"], limit=10)
            for message in news["messages"]:
                reply = respond(json.dumps(message["request"]))
                call(inbox, {"responses": [reply]}, token=ME["auth_token"], limit=10)
            after = news["next"]
            if not news["messages"]:
                time.sleep(0.1)  # a league that is about to stop does not wait before it answers
        except Exception as error:  # whatever a bad network brings
            if isinstance(error, urllib.error.HTTPError) and error.code in STOPS:
                raise SystemExit(STOPS[error.code]) from None
            tell("The league does not answer, trying again:", error)
            time.sleep(random.uniform(1, 3))  # noqa: S311 - not all of a class at once


def read_options(known):
    """The command line; known is what league.json says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--port", type=int, default=8101, help="0 is a free one")
    parser.add_argument("--league", default=known.get("league", "http://127.0.0.1:8000/mcp"))
    parser.add_argument("--code", default=known.get("registration_code", ""))
    parser.add_argument("--endpoint", help="our address, when the league cannot guess it")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--dial-out", action="store_true", help="open no port: only fetch messages from the league")
    ways.add_argument("--listen", action="store_true", help="never fetch messages, even if the league does not call")
    parser.add_argument("--call-wait", type=float, default=10, help="seconds to wait for its first call")
    options = parser.parse_args()
    if not options.league.startswith(("http://", "https://")):
        parser.error("the league is an address that begins with http:// or https://")
    return options


def main():
    """Listen, register, play until Ctrl-C."""
    file = Path(__file__).with_name("league.json")
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    options = read_options(known)
    meta = {"game_types": known.get("game_types", ["even_odd"]), "delivery": "poll"}
    if options.code:
        meta["registration_code"] = options.code
    if not options.dial_out:
        try:
            server = Server(("0.0.0.0", options.port), Handler)  # noqa: S104 - the league is elsewhere
        except (OSError, OverflowError) as error:
            stop(f"Port {options.port} cannot be opened, choose another with --port: {error}", 2)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = options.endpoint or f"http://localhost:{server.server_port}/mcp"
        # With "push" the league calls us at once, so that we know whether it can.
        meta.update(contact_endpoint=endpoint, delivery="push")
    # With the token of last time we are the same player again.
    digest = hashlib.sha256(f"{options.league} {options.name}".encode()).hexdigest()
    token_file = file.with_name(f"token-{digest[:16]}")
    token = token_file.read_text(encoding="utf-8").strip() if token_file.exists() else ""
    result = register(options.league, options.name, meta, token)
    token_file.touch(mode=0o600)
    token_file.write_text(ME["auth_token"], encoding="utf-8")
    poll_url = (result.get("inbox") or {}).get("poll_url")
    # The inbox is at the host where we registered: our token goes nowhere else.
    inbox = poll_url and "{0.scheme}://{0.netloc}".format(urlsplit(options.league)) + urlsplit(poll_url).path
    where = inbox if options.dial_out else endpoint
    tell("READY", where, ME["player_id"], "auth_token:", ME["auth_token"])
    if not options.dial_out:
        if options.listen or not inbox:
            threading.Event().wait()
        if CALLED.wait(options.call_wait):
            tell("The league calls", endpoint)
            threading.Event().wait()
        tell(f"The league has not called {endpoint} for {options.call_wait:g} s: its messages are fetched as well")
    fetch(inbox)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        tell("Stopped")
