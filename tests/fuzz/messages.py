"""Strategies for requests to /mcp and the like: valid messages with errors put in, and other bodies."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

from tests import wire
from tests.fuzz.site import Header, Request
from tests.fuzz.world import LEAGUES, World
from tests.paths import SAMPLES

METHODS = [
    *("register_player", "register_referee", "report_match_result", "report_progress", "league_query", "mcp_message"),
    *("get_standings", "get_schedule", "get_next_match", "get_player_stats", "GET_GAMES", "ping", "list_tools"),
    *("create_schedule", "initialize", "notifications/initialized", "tools/list", "tools/call", "start_match"),
    *("choose_parity", "handle_game_invitation", "LEAGUE_QUERY", "MATCH_RESULT", "PLAYER_REGISTER_REQUEST", ""),
]
PATHS = [
    *(["/mcp"] * 6),
    *("/mcp/", "/", "/register", "/register/", "/api/register", "/register_player", "/leagues/winter/mcp"),
    *("/leagues/winter/register", "/leagues/spring/mcp?code=letmein", "/leagues/nowhere/mcp", "/leagues/%00/mcp"),
    *("/leagues/%ff%fe/mcp/", f"/leagues/{'x' * 300}/mcp", "/leagues/א/register", "/leagues/fall/mcp?code=%00&code="),
    *("/mcp?" + "&" * 1200, "/?code=x"),
]
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.0, -0.5, 1e308, 5e-324),
    *("", " ", "0", "1", "null", "draw", "DRAW", "\x00", "a\x00b", "\ud800", "x\udfff", "\u202e", "\ufeff", "\uffff"),
    *("é" * 70, "🎲", "\U0010ffff", "x" * 65, "x" * 300, "x" * 9000, "%00", "../..", "<b>", "'; --", "{{7*7}}", "P01"),
    *("http://127.0.0.1:8101/mcp", "http://[::1", "http://x:99999", "http://169.254.169.254/", "javascript:1"),
    *(
        "2025-01-15T10:05:00Z",
        "2025-13-45T99:99:99Z",
        "0001-01-01T00:00:00+14:00",
        "tok_" + "0" * 32,
        "tok_",
        "league.v9",
    ),
    *([], {}, [[]], [{}], {"": None}, {"a": {"b": {"c": []}}}, [0] * 200, ["P01", "P01"], {"P01": 10**30}),
]
CONTENT_TYPES = [
    *([b"application/json"] * 8),
    *(
        b"",
        b"text/plain",
        b"application/json; charset=utf-16",
        b"application/json;charset=\xff",
        b"multipart/form-data",
    ),
    *(b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x", b"APPLICATION/JSON ; a=b", b"\x00"),
]


def bases(world: World) -> list[dict[str, Any]]:
    """Valid requests that the site carries out, and the samples of every kind of message."""
    player, referee = world.player, world.referee
    match = world.winter.match("R1M1")
    envelope = {
        "protocol": "league.v2",
        "timestamp": wire.STAMP,
        "conversation_id": "conv-1",
        "league_id": "winter",
    }
    of_player = envelope | {"sender": "player:P01", "auth_token": player.token}
    of_referee = envelope | {"sender": f"referee:{referee.agent.code}", "auth_token": referee.token}
    progress = {
        "league_id": "winter",
        "match_id": "R1M1",
        "attempt": match.attempt,
        "state": "COLLECTING_CHOICES",
        "joined": ["P01"],
        "locked_in": [],
        "view": {"board": [1]},
        "transcript": [],
    }
    requests = [
        wire.request("register_player", wire.player_request("Zed", port=8190)),
        wire.request("register_player", wire.player_request("Zed", port=8190, league_id="spring", code="letmein")),
        wire.request("register_player", wire.player_request("Player 1", port=8101, auth_token=player.token)),
        wire.request("register_referee", wire.referee_request("Zoe", port=8090, progress=True)),
        wire.request("get_standings", {"league_id": "winter"}),
        wire.request("get_player_stats", of_player | {"player_id": "P02"}),
        wire.request("report_progress", of_referee | {"message_type": "REPORT_PROGRESS", "matches": [progress]}),
        wire.request("tools/call", {"name": "get_schedule", "arguments": {"league_id": "fall"}}),
        wire.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}}),
        {"type": "LEAGUE_QUERY", "message_id": "m1", "payload": of_player | {"query_type": "GET_STANDINGS"}},
        {"name": "Flat", "endpoint": "http://127.0.0.1:8191/mcp", "games": ["even_odd"], "request_id": 4},
    ]
    for name, params in SAMPLES.items():
        who = of_referee if name.startswith(("MATCH", "REFEREE", "GAME_INV", "GAME_OVER")) else of_player
        own = params | {field: who[field] for field in ("sender", "auth_token", "league_id") if field in params}
        requests += [wire.request(name, own), own]
    return requests


def paths_in(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all values inside a value."""
    paths = [at] if at else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        paths += paths_in(inner, (*at, key))
    return paths


@st.composite
def damaged(draw: st.DrawFn, world: World, known: list[dict[str, Any]], odd: st.SearchStrategy[Any]) -> Any:
    """A valid message with up to four errors put in."""
    body: Any = copy.deepcopy(draw(st.sampled_from(known)))
    # A value is nested by 500 levels at most once, because json.dumps cannot write a multiple of that.
    levels = [1, 3, 20, 40, 500]
    for _ in range(draw(st.integers(0, 4))):
        what = draw(st.sampled_from(["change", "change", "drop", "add", "token", "method", "id", "deep", "batch"]))
        if not isinstance(body, dict):
            break
        if what in ("change", "drop", "deep"):
            where = paths_in(body)
            if not where:
                break
            *path, last = draw(st.sampled_from(where))
            holder = body
            for key in path:
                holder = holder[key]
            if what == "drop":
                del holder[last]
            elif what == "deep":
                holder[last] = nested(holder[last], draw(st.sampled_from(levels)))
                levels = levels[:4]
            else:
                holder[last] = copy.deepcopy(draw(odd))
        elif what == "add":
            other = draw(st.sampled_from(known))
            inner = other.get("params", other)
            target = body["params"] if isinstance(body.get("params"), dict) else body
            target |= {
                key: copy.deepcopy(inner[key]) for key in draw(st.sets(st.sampled_from(sorted(inner)), max_size=4))
            }
        elif what == "token":
            target = body["params"] if isinstance(body.get("params"), dict) else body
            target["auth_token"] = draw(st.sampled_from([*world.tokens, None, "", "tok_" + "0" * 32]))
            target["league_id"] = draw(st.sampled_from(LEAGUES))
        elif what == "batch":
            body = [body] * draw(st.integers(1, 3))
        else:
            body[what] = copy.deepcopy(draw(st.sampled_from(METHODS) if what == "method" else odd))
    return body


def nested(value: Any, depth: int) -> Any:
    """A value inside ``depth`` levels of lists and objects."""
    for level in range(depth):
        value = [value] if level % 2 else {"message": value}
    return value


def values() -> st.SearchStrategy[Any]:
    """Any JSON value, mostly one of ``ODD``."""
    plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    rich = st.recursive(plain, lambda one: st.lists(one) | st.dictionaries(st.text(), one), max_leaves=8)
    return st.sampled_from(ODD) | st.sampled_from(ODD) | rich


@st.composite
def encoded(draw: st.DrawFn, value: Any) -> bytes:
    """A value as JSON bytes: mostly correct, else in another encoding, with a key twice, cut off or corrupted."""
    how = draw(
        st.sampled_from(["plain"] * 8 + ["ascii", "bom", "utf-16", "twice", "cut", "corrupt", "big", "nan", "space"])
    )
    text = json.dumps(value, ensure_ascii=how == "ascii")
    if how == "twice":
        text = text.replace("{", '{"id": 7, "method": "ping", "auth_token": null, ', 1)
    elif how == "big":
        text += " " * draw(st.sampled_from([60_000, 65_536, 70_000, 300_000]))
    elif how == "nan":
        text = text.replace("1", draw(st.sampled_from(["NaN", "-Infinity", "1e999", "01", "0x1", "1" * 5000])), 1)
    elif how == "space":
        text = draw(st.sampled_from(["\x0b", "\u2028", "//", "\x00", ")]}'"])) + text
    raw = text.encode("utf-16" if how == "utf-16" else "utf-8", "surrogatepass")
    if how == "bom":
        raw = b"\xef\xbb\xbf" + raw
    elif how in ("cut", "corrupt"):
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + (b"" if how == "cut" else draw(st.binary(max_size=4)) + raw[at + 1 :])
    return raw


def headers(world: World) -> st.SearchStrategy[tuple[Header, ...]]:
    """Headers of requests: those that agents send, and malformed ones."""
    bearer = st.sampled_from([b"Bearer " + one.encode() for one in world.tokens] + [b"Bearer", b"Bearer \xff", b"\x00"])
    extra = st.sampled_from(
        [
            *([()] * 6),
            ((b"host", b"evil.example"),),
            ((b"host", b"testserver:99999999"),),
            ((b"host", b"\xff[::"),),
            ((b"x-forwarded-for", b"1.2.3.4, \xff"), (b"x-forwarded-host", b"evil.example")),
            ((b"accept-language", b"he,;q=\xff" + b"x" * 5000),),
            ((b"cookie", b'sessionid="\xff; csrftoken=; =; django_language=xx"'),),
            ((b"content-length", b"-1"),),
            ((b"content-length", b"99999999999999999999"),),
            ((b"content-encoding", b"gzip"), (b"transfer-encoding", b"chunked, identity")),
            ((b"expect", b"100-continue"), (b"range", b"bytes=0-1,-5"), (b"if-modified-since", b"never")),
        ]
    )
    kind = st.sampled_from(CONTENT_TYPES).map(lambda one: ((b"content-type", one),))
    return st.builds(
        lambda *found: tuple(one for part in found for one in part),
        kind,
        extra,
        st.sampled_from([()] * 4) | bearer.map(lambda one: ((b"authorization", one),)),
    )


def requests(world: World) -> st.SearchStrategy[Request]:
    """Requests at ``PATHS``."""
    known, odd = bases(world), values()
    message = damaged(world, known, odd)
    bodies = st.one_of(
        *[message.flatmap(encoded)] * 5,
        odd.flatmap(encoded),
        st.binary(max_size=200),
        st.text(alphabet='{}[]":,0123456789eE+-.\\unulltrefas \n', max_size=60).map(str.encode),
    )
    methods = st.sampled_from(
        ["POST"] * 20 + ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "FROB", "post"]
    )
    return st.builds(Request, methods, st.sampled_from(PATHS), headers(world), bodies, st.sampled_from([1, 1, 1, 2, 9]))
