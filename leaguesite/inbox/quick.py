"""Calls at an inbox of somebody who was let in a moment ago: answered on the event loop, past Django and its threads.

An agent that polls makes three requests for each message, so most of what it costs is the way in. Who it is was looked
up in the database a few seconds before, for a request with the same credentials from the same address.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from agents_registry.rate_limits.attempts import CALLS, attempts
from leaguesite.inbox.answering import Asked, Who, answer
from leaguesite.serving.handler import unless_gone
from leaguesite.serving.paths import DELIVER, INBOX
from matches.inbox.hub import hub
from matches.inbox.presence import REFRESH_INTERVAL_S
from matches.observing import metrics

VALID_S, KEY_VALID_S = 3.0, 0.5
"""After so many seconds the database is asked again whose token it is, and whether a referee's key is still valid."""
POLL_VALID_S = REFRESH_INTERVAL_S + VALID_S
"""The same for the next poll of a line that was open when all tokens of open lines were looked up together, which would
have ended it. So an agent that only waits does not ask the database each time, and a token that is revoked opens
polls no longer than it could have stayed on one."""
MAX_VISITS = 20_000
_ROUTES = {INBOX: "inbox", DELIVER: "inbox_deliver"}
_METHODS = {INBOX: ("GET", "POST"), DELIVER: ("POST",)}
_CREDENTIALS = frozenset(
    {b"authorization", b"host", b"x-inbox-key", b"x-forwarded-for", b"x-forwarded-proto", b"forwarded", b"via"}
    | {b"x-real-ip"}
)
"""Headers that decide who a caller is and whether it is let in."""

Visit = tuple[Any, ...]
"""All of a request that decides who its caller is."""


class Visits:
    """Who was let in lately, by what they showed; used from the threads of requests and on the event loop."""

    def __init__(self, valid_s: float = VALID_S, key_valid_s: float = KEY_VALID_S) -> None:
        self._valid_s, self._key_valid_s = valid_s, key_valid_s
        self._known: OrderedDict[Visit, tuple[Who, float]] = OrderedDict()

    def note(self, scope: Mapping[str, Any] | None, who: Who) -> None:
        """Somebody was let in. Without the scope of an ASGI request nothing is noted."""
        visit = _visit(scope) if scope is not None else None
        if visit is not None:
            valid_s = self._valid_s if who.token else self._key_valid_s
            self._known[visit] = (who, time.monotonic() + valid_s)
            while len(self._known) > MAX_VISITS:
                self._known.popitem(last=False)

    def who(self, visit: Visit, *, polls: bool = False) -> Who | None:
        """Who shows this, if that was looked up a moment ago.

        Args:
            polls: it opens a poll, and brings no answer.
        """
        who, until = self._known.get(visit, (None, 0.0))
        if polls and who is not None and who.token:
            until = max(until, hub.valid_at(who.token) + POLL_VALID_S)
        return who if time.monotonic() < until else None

    def forget_all(self) -> None:
        """As after a start."""
        self._known.clear()


VISITS = Visits()
"""Of this process."""


def _visit(scope: Mapping[str, Any]) -> Visit | None:
    """What a request shows; None if it is none at an inbox, or comes from a page in a browser."""
    path = scope["path"].strip("/")
    if scope["method"] not in _METHODS.get(path, ()):
        return None
    shown = []
    for name, value in scope["headers"]:
        if name == b"origin":
            return None
        if name in _CREDENTIALS:
            shown.append((name, value))
    return path, (scope.get("client") or ("",))[0], scope.get("scheme"), *shown


class QuickInbox:
    """ASGI application: answers calls at an inbox of callers that are known, and leaves all else to another one.

    Args:
        inner: the other application.
        visits: who is known.
    """

    def __init__(self, inner: Any, visits: Visits = VISITS) -> None:
        self._inner = inner
        self._visits = visits

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer, or pass the request on."""
        visit = _visit(scope)
        who = self._visits.who(visit, polls=scope["method"] == "GET") if visit is not None else None
        if who is None or (who.token and attempts.count_call(CALLS, who.token) is not None):
            await self._inner(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {name.decode("latin1"): value.decode("latin1") for name, value in scope["headers"]}
        asked = Asked(scope["method"], scope["query_string"].decode("latin1"), headers, body)
        said = await unless_gone(answer(who, asked), receive)
        if said is not None:
            metrics.answered_at(_ROUTES[scope["path"].strip("/")], said.status)
            head = [(name.encode("latin1"), value.encode("latin1")) for name, value in said.head.items()]
            await send({"type": "http.response.start", "status": said.status, "headers": head, "trailers": False})
            await send({"type": "http.response.body", "body": said.body, "more_body": False})
