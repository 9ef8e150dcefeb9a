"""How a referee calls players that have an inbox at the league manager: they may dial out (ruling, section 13)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from league_sdk.asking.clock import Clock
from league_sdk.judging.match.brief import Seat
from league_sdk.protocol.faults import OWN_SIDE, Cause
from league_sdk.protocol.inbox import (
    DELIVER_PATH,
    GRACE_HEADER,
    KEY_HEADER,
    LIMIT_HEADER,
    OUTCOME_HEADER,
    PATH_HEADER,
    SCHEME,
    Outcome,
    Way,
)
from league_sdk.transport.client import Broken, CallFailed, Client, NotReached, Reply
from league_sdk.transport.relayed import league_away, not_connected, reply_of, too_large, unanswered

RETRY_INTERVAL_S = 0.3
"""The pause between two tries to reach the league manager, which may be restarting."""
MARGIN_S = 2.0
"""The league manager answers at the deadline; the referee waits this much longer for that answer."""
_REFUSED = (400, 413)
"""HTTP statuses of a league manager that works but does not take the message: made for an agent's own tools, it may be
too large or too deep."""
_NOT_TAKEN = "the league manager did not take the message as the player's tools need it (HTTP {status})"


class Post(Protocol):
    """Sends a message to an address, both of which are bound already; only the timeout is still open."""

    def __call__(self, *, limit_s: float) -> Awaitable[Reply]: ...


class PlayerInboxCaller:
    """Calls players that have an inbox: through it, or at their address.

    Args:
        league_url: the league manager's /mcp.
        client: calls the league manager.
        clock: time.
        bearer: gives the referee's auth_token; the league manager serves calls that carry it before others.
    """

    def __init__(self, league_url: str, client: Client, clock: Clock, bearer: Callable[[], str]) -> None:
        parts = urlsplit(league_url)
        self._deliver_url = urlunsplit((parts.scheme, parts.netloc, DELIVER_PATH, "", ""))
        self._client = client
        self._clock = clock
        self._bearer = bearer

    async def post(
        self, seat: Seat, message: Any, *, limit_s: float, directly: Post, headers: Mapping[str, str]
    ) -> Reply:
        """Send a JSON-RPC request to a player that has an inbox, within ``limit_s`` seconds.

        A player that dialled out when its match began is called through its inbox, and at its address if it has one
        and its line is gone. Any other player is called at its address, and through its inbox if that fails.

        Args:
            seat: the player's seat, which has an ``inbox_key``.
            directly: calls the address, within the seconds that it is given.
            headers: the headers of the call, from :func:`for_relays`.

        Raises:
            TimedOut: E001; the player took the message and did not answer.
            NotReached, Broken: E009. With the cause LEAGUE the league manager could not be reached, or stood still.
        """
        ends_at = self._clock.monotonic() + limit_s
        through_inbox = partial(self._through_inbox, seat, message, headers, ends_at)
        if urlsplit(seat.endpoint).scheme == SCHEME:
            return await through_inbox(seat.connect_grace_s)
        if seat.dials_out:
            try:
                return await through_inbox(seat.connect_grace_s)
            except NotReached as error:
                if error.cause is Cause.LEAGUE:
                    raise
            return await directly(limit_s=ends_at - self._clock.monotonic())
        try:
            return await directly(limit_s=limit_s)
        except NotReached as error:
            try:
                # No time is spent on waiting for a line that perhaps never comes, and none on waiting for the league
                # manager if this machine can call nobody: its match is handed back, and another referee plays it.
                return await through_inbox(0.0, patient=error.cause not in OWN_SIDE)
            except NotReached:
                raise error from None

    async def _through_inbox(
        self,
        seat: Seat,
        message: Any,
        headers: Mapping[str, str],
        ends_at: float,
        grace_s: float,
        *,
        patient: bool = True,
    ) -> Reply:
        """Post into the inbox; while the league manager does not answer, again until the time is over if patient."""
        interrupted = False
        while True:
            left_s = ends_at - self._clock.monotonic()
            if left_s <= 0:
                raise league_away() if interrupted else unanswered()
            try:
                limits = {LIMIT_HEADER: f"{left_s:.3f}", GRACE_HEADER: f"{min(grace_s, left_s / 2):.3f}"}
                reply = await self._deliver(seat, message, {**headers, **limits}, left_s)
            except CallFailed:
                reply = None
            outcome = "" if reply is None else reply.headers.get(OUTCOME_HEADER.lower(), "")
            if reply is not None and outcome == Outcome.ANSWERED:
                return replace(await reply_of(reply.body, reply.elapsed_s), size=reply.size)
            if outcome == Outcome.TOO_LARGE:
                raise too_large()
            if reply is not None and not outcome and reply.status in _REFUSED and isinstance(reply.body, Mapping):
                raise Broken(_NOT_TAKEN.format(status=reply.status), connected=True, way=Way.INBOX)
            if not outcome:
                # The league manager is restarting or overloaded, or one of its processes stands still. What the player
                # answers meanwhile is lost.
                if not patient:
                    raise league_away()
                interrupted = True
                await self._clock.sleep(min(RETRY_INTERVAL_S, left_s))
                continue
            if interrupted:
                raise league_away()
            raise not_connected() if outcome == Outcome.NOT_CONNECTED else unanswered()

    async def _deliver(self, seat: Seat, message: Any, headers: Mapping[str, str], limit_s: float) -> Reply:
        proofs = {KEY_HEADER: seat.inbox_key, "Authorization": f"Bearer {self._bearer()}"}
        return await self._client.post(
            self._deliver_url, message, limit_s=limit_s + MARGIN_S, headers={**headers, **proofs}
        )


def for_relays(url: str, headers: Mapping[str, str] | None) -> dict[str, str]:
    """The headers that tell a program which relays a call how to call the player's server.

    Args:
        url: where the player would be called; of a player without an address only the path means something.
        headers: the headers of a session with the player's server.
    """
    target = urlsplit(url)
    path = target.path if target.scheme == SCHEME else ""
    return {**(headers or {}), **({PATH_HEADER: path} if path else {})}
