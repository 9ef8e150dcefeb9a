"""Which line a request waits in for its thread, in whose name, and how many may wait there.

Callers take turns in front of a thread (:mod:`leaguesite.serving.turns`), and nobody fills a line alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from asgiref.typing import HTTPScope
from django.http import parse_cookie

from agents_registry.attempts import network_of
from agents_registry.models import Kind
from leaguesite.serving import devices, paths
from leaguesite.serving.callers import caller_of
from leaguesite.serving.threads import AGENTS, DESK, KNOWN_LOGINS, LOGINS, PAGES, PAPERS, REFEREES
from leaguesite.serving.turns import known_tokens

MOST_WAITING = {
    AGENTS: 2000,
    REFEREES: 2000,
    PAGES: 1000,
    DESK: 500,
    PAPERS: 20,
    LOGINS: 20,
    KNOWN_LOGINS: 20,
}
"""Requests that have come in whole and wait for their thread; more are told to come again."""
MOST_OF_A_PLAYER, MOST_OF_A_REFEREE = 16, 300
"""Of the agents' line: calls of one agent that has shown its token. A referee may report all its matches at once."""
MOST_OF_AN_ADDRESS = {AGENTS: 500, PAGES: 500, DESK: 200}
"""Requests of one address without a token that is known: a whole class may be behind it."""
MOST_UNKNOWN = {AGENTS: 1500, DESK: 400}
"""Of a line, all requests without a token or a browser that is known: these have room beside any crowd."""
MOST_OF_A_BROWSER = 50
"""Of the desk's line, requests of one browser in which somebody has logged in."""
MOST_LOGINS_OF_ONE = 2
"""Of these, logins of one address, or of one browser that is known: nobody fills the line alone."""

_TOKEN = re.compile(rb'"auth_token"\s*:\s*"([!-~]{1,200}?)"')


@dataclass(frozen=True, slots=True)
class Line:
    """Where a request waits.

    Attributes:
        kind: for which thread.
        who: whose turn it uses.
        counts: what it is counted under while it waits and runs, and the most of each.
    """

    kind: str
    who: str
    counts: dict[str, int]


def line_of(scope: HTTPScope, body: Any) -> Line:
    """Where a request waits.

    Args:
        scope: its head.
        body: a file with its whole body, at the start, where it is left.
    """
    path = scope["path"]
    if paths.is_agent_path(path):
        raw = body.read()
        body.seek(0)
        return _agents_line(scope, raw)
    if path == paths.LOGIN and scope["method"] == "POST":
        return _login_line(scope)
    if paths.is_paper_path(path):
        return _line(PAPERS, _address(scope))
    if path.startswith(paths.DESK):
        return _desk_line(scope)
    return _line(PAGES, _address(scope))


def _line(kind: str, address: str) -> Line:
    """The line of an address, of whose requests no more wait than may, nor of all that are not known."""
    who = f"{kind} at {address}"
    counts = {kind: MOST_WAITING[kind]}
    if kind in MOST_OF_AN_ADDRESS:
        counts[who] = MOST_OF_AN_ADDRESS[kind]
    if kind in MOST_UNKNOWN:
        counts[f"{kind} unknown"] = MOST_UNKNOWN[kind]
    return Line(kind, who, counts)


def _address(scope: HTTPScope) -> str:
    return network_of(caller_of(cast("dict[str, Any]", scope)).ip)


def _agents_line(scope: HTTPScope, raw: bytes) -> Line:
    """A call's line: our referees', or the agents' in the name of an agent whose token is known, or of an address."""
    owners = (known_tokens.owner(token) for token in _tokens(scope, raw))
    owner = next((one for one in owners if one is not None), None)
    if owner is None:
        return _line(AGENTS, _address(scope))
    who = f"agent {owner.agent}"
    if owner.ours:
        return Line(REFEREES, who, {REFEREES: MOST_WAITING[REFEREES]})
    most = MOST_OF_A_REFEREE if owner.kind == Kind.REFEREE else MOST_OF_A_PLAYER
    return Line(AGENTS, who, {who: most, AGENTS: MOST_WAITING[AGENTS]})


def _tokens(scope: HTTPScope, raw: bytes) -> list[str]:
    """What may be the token of a call, found without reading its JSON: in the header, or first in the body."""
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _space, token = header.partition(b" ")
    found = [token.strip().decode("latin1")] if scheme.lower() == b"bearer" else []
    named = _TOKEN.search(raw)
    return [*found, named[1].decode("latin1")] if named is not None else found


def _login_line(scope: HTTPScope) -> Line:
    """Which line a login waits in, and as whose: a known browser's, or that of the address it comes from."""
    device = _device(scope)
    kind, who = (LOGINS, _address(scope)) if device is None else (KNOWN_LOGINS, device.key)
    return Line(kind, who, {f"{kind} of {who}": MOST_LOGINS_OF_ONE, kind: MOST_WAITING[kind]})


def _desk_line(scope: HTTPScope) -> Line:
    """The instructor's browser waits in its own name: a class that floods the desk may be behind the same address."""
    device = _device(scope)
    if device is None:
        return _line(DESK, _address(scope))
    who = f"desk of {device.key}"
    return Line(DESK, who, {who: MOST_OF_A_BROWSER, DESK: MOST_WAITING[DESK]})


def _device(scope: HTTPScope) -> devices.Device | None:
    """The browser that sends a request, if somebody has logged in there."""
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin1")
    return devices.known(parse_cookie(cookies).get(devices.COOKIE, ""))
