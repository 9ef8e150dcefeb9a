"""Which thread a request waits for, in whose name, and how many requests may wait there.

In front of each thread callers take turns (:mod:`leaguesite.serving.fair_queue`). No caller can fill a queue alone;
only that of our referees has one limit for all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from asgiref.typing import HTTPScope
from django.http import parse_cookie

from agents_registry.models import Kind
from agents_registry.rate_limits.attempts import network_of
from leaguesite.serving import devices, paths
from leaguesite.serving.callers import caller_of
from leaguesite.serving.known_tokens import known_tokens
from leaguesite.serving.threads import AGENTS, DESK, KNOWN_LOGINS, LOGINS, PAGES, PAPERS, REFEREES

MAX_WAITING = {
    AGENTS: 2000,
    REFEREES: 2000,
    PAGES: 1000,
    DESK: 500,
    PAPERS: 20,
    LOGINS: 20,
    KNOWN_LOGINS: 20,
}
"""How many requests may wait for each thread or run in it; the next one is answered 429."""
MAX_PER_OWNER = {Kind.PLAYER: 16, Kind.REFEREE: 300, DESK: 50, PAPERS: 10}
"""How many of them may be calls of one agent whose token is known (a referee may report all its matches at once), or at
the desk, and where exports are made, requests of one browser in which somebody has logged in."""
MAX_PER_ADDRESS = {AGENTS: 500, PAGES: 500, DESK: 200, PAPERS: 8}
"""How many may come from one address without a known token: a whole class may be behind it."""
MAX_UNKNOWN_CALLERS = {AGENTS: 1500, DESK: 400, PAPERS: 14}
"""How many may come without a known token or browser in all: known callers have room beside any crowd."""
MAX_LOGINS_PER_CALLER = 2
"""How many may be logins of one address, or of one known browser."""

_TOKEN = re.compile(rb'"auth_token"\s*:\s*"([!-~]{1,200}?)"')


@dataclass(frozen=True, slots=True)
class Queue:
    """Where one request waits.

    Attributes:
        thread: the name of the thread that the request waits for.
        caller: in whose name it takes its turn.
        limits: the counters that it is counted in while it waits and runs, each with its maximum.
    """

    thread: str
    caller: str
    limits: dict[str, int]


def queue_of(scope: HTTPScope, body: Any) -> Queue:
    """Choose where a request waits.

    Args:
        scope: method, path and headers of the request (ASGI).
        body: a file with the request's whole body, at its start; afterwards it is at its start again.
    """
    path = scope["path"]
    if paths.is_agent_path(path):
        raw = body.read()
        body.seek(0)
        return _agents_queue(scope, raw)
    if path == paths.LOGIN and scope["method"] == "POST":
        return _login_queue(scope)
    if paths.is_paper_path(path):
        return _browser_queue(PAPERS, scope)
    if path.startswith(paths.DESK):
        return _browser_queue(DESK, scope)
    return _address_queue(PAGES, scope)


def _address_queue(thread: str, scope: HTTPScope) -> Queue:
    """The queue of a caller who is known by its address only."""
    caller = f"{thread} at {_network(scope)}"
    limits = {thread: MAX_WAITING[thread]}
    if thread in MAX_PER_ADDRESS:
        limits[caller] = MAX_PER_ADDRESS[thread]
    if thread in MAX_UNKNOWN_CALLERS:
        limits[f"{thread} unknown"] = MAX_UNKNOWN_CALLERS[thread]
    return Queue(thread, caller, limits)


def _network(scope: HTTPScope) -> str:
    return network_of(caller_of(cast("dict[str, Any]", scope)).ip)


def _agents_queue(scope: HTTPScope, raw: bytes) -> Queue:
    """The queue of our referees, of an agent whose token is known, or of an address."""
    bearers = (known_tokens.owner(token) for token in _tokens(scope, raw))
    bearer = next((one for one in bearers if one is not None), None)
    if bearer is None:
        return _address_queue(AGENTS, scope)
    caller = f"agent {bearer.agent}"
    if bearer.ours:
        return Queue(REFEREES, caller, {REFEREES: MAX_WAITING[REFEREES]})
    return Queue(AGENTS, caller, {caller: MAX_PER_OWNER[bearer.kind], AGENTS: MAX_WAITING[AGENTS]})


def _tokens(scope: HTTPScope, raw: bytes) -> list[str]:
    """What may be the token of a call, found without parsing its JSON: in the header, or first in the body."""
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _space, token = header.partition(b" ")
    tokens = [token.strip().decode("latin1")] if scheme.lower() == b"bearer" else []
    in_body = _TOKEN.search(raw)
    return [*tokens, in_body[1].decode("latin1")] if in_body is not None else tokens


def _login_queue(scope: HTTPScope) -> Queue:
    """The queue of a known browser, or of the address that a login comes from."""
    device = _device(scope)
    thread, caller = (LOGINS, _network(scope)) if device is None else (KNOWN_LOGINS, device.key)
    limits = {f"{thread} of {caller}": MAX_LOGINS_PER_CALLER, thread: MAX_WAITING[thread]}
    return Queue(thread, caller, limits)


def _browser_queue(thread: str, scope: HTTPScope) -> Queue:
    """The instructor's browser waits in its own name: a class that floods the thread may be behind the same address."""
    device = _device(scope)
    if device is None:
        return _address_queue(thread, scope)
    caller = f"{thread} of {device.key}"
    return Queue(thread, caller, {caller: MAX_PER_OWNER[thread], thread: MAX_WAITING[thread]})


def _device(scope: HTTPScope) -> devices.Device | None:
    """The browser that sends a request, if somebody has logged in there."""
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin1")
    return devices.known(parse_cookie(cookies).get(devices.COOKIE, ""))
