"""Repeated calls at an inbox: answered on the event loop, without Django and its threads.

For each message an agent that polls makes two requests and its referee one, and most of their cost is Django's
middleware and the look-up of the token. Both are skipped if the same credentials were accepted from the same address a
few seconds before.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from agents_registry.rate_limits.attempts import CALLS, attempts
from leaguesite.inbox.answering import InboxCaller, InboxRequest, answer
from leaguesite.serving.handler import unless_gone
from leaguesite.serving.paths import DELIVER, INBOX
from matches.inbox.hub import hub
from matches.inbox.presence import REFRESH_INTERVAL_S
from matches.observing import metrics
from matches.view.recent import Recent

VALID_S, KEY_VALID_S = 3.0, 0.5
"""How many seconds an accepted token, and a referee's key, stay valid before the database is asked again."""
POLL_VALID_S = REFRESH_INTERVAL_S + VALID_S
"""How many seconds a token stays valid for further polls after it was looked up together with all tokens of open lines,
so that the polls of an agent that only waits do not ask the database. A token that is revoked is refused from the next
such look-up on, which also ends the lines that were opened with it."""
MAX_VISITS = 20_000
_ROUTES = {INBOX: "inbox", DELIVER: "inbox_deliver"}
_METHODS = {INBOX: ("GET", "POST"), DELIVER: ("POST",)}
_CREDENTIALS = frozenset(
    {b"authorization", b"host", b"x-inbox-key", b"x-forwarded-for", b"x-forwarded-proto", b"forwarded", b"via"}
    | {b"x-real-ip"}
)
"""Headers that decide who a caller is and whether it is let in."""

Visit = tuple[Any, ...]
"""The parts of a request that decide who its caller is."""


class Visits:
    """Callers that were accepted lately; used from request threads and on the event loop.

    Attributes:
        known: each by its credentials, with the time until which it is accepted.
    """

    def __init__(self, valid_s: float = VALID_S, key_valid_s: float = KEY_VALID_S) -> None:
        self._valid_s, self._key_valid_s = valid_s, key_valid_s
        self.known: Recent[Visit, tuple[InboxCaller, float]] = Recent(MAX_VISITS)

    def note(self, scope: Mapping[str, Any] | None, caller: InboxCaller) -> None:
        """Note that Django accepted a caller. Without the scope of an ASGI request nothing is noted."""
        visit = _visit(scope) if scope is not None else None
        if visit is not None:
            valid_s = self._valid_s if caller.token else self._key_valid_s
            self.known[visit] = (caller, time.monotonic() + valid_s)

    def caller_of(self, visit: Visit, *, polls: bool = False) -> InboxCaller | None:
        """The caller with these credentials, if it was accepted a moment ago.

        Args:
            polls: the request opens a poll, and contains no response.
        """
        caller, until = self.known.get(visit, (None, 0.0))
        if polls and caller is not None and caller.token:
            until = max(until, hub.valid_at(caller.token) + POLL_VALID_S)
        return caller if time.monotonic() < until else None


VISITS = Visits()
"""The callers that this process has accepted."""


def _visit(scope: Mapping[str, Any]) -> Visit | None:
    """The credentials of a request; None if it is not for an inbox, or comes from a page in a browser."""
    path = scope["path"].strip("/")
    if scope["method"] not in _METHODS.get(path, ()):
        return None
    credentials = []
    for name, value in scope["headers"]:
        if name == b"origin":
            return None
        if name in _CREDENTIALS:
            credentials.append((name, value))
    return path, (scope.get("client") or ("",))[0], scope.get("scheme"), *credentials


class QuickInbox:
    """ASGI application: answers calls at an inbox of callers that were accepted lately; passes all others to Django.

    Args:
        inner: Django's application.
        visits: the callers that were accepted lately.
    """

    def __init__(self, inner: Any, visits: Visits = VISITS) -> None:
        self._inner = inner
        self._visits = visits

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer, or pass the request on."""
        visit = _visit(scope)
        caller = self._visits.caller_of(visit, polls=scope["method"] == "GET") if visit is not None else None
        # The count returns how long to wait if the caller has called too often: Django refuses it then.
        if caller is None or (caller.token and attempts.count_call(CALLS, caller.token) is not None):
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
        request = InboxRequest(scope["method"], scope["query_string"].decode("latin1"), headers, body)
        response = await unless_gone(answer(caller, request), receive)
        if response is not None:
            metrics.answered_at(_ROUTES[scope["path"].strip("/")], response.status)
            head = [(name.encode("latin1"), value.encode("latin1")) for name, value in response.head.items()]
            await send({"type": "http.response.start", "status": response.status, "headers": head, "trailers": False})
            await send({"type": "http.response.body", "body": response.body, "more_body": False})
