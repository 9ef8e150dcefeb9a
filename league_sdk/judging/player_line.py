"""A referee's line to the players: one message out, what came of it back."""

from __future__ import annotations

from itertools import count
from typing import Any

from league_sdk.dialects import canonical
from league_sdk.judging.asking import Ask, Heard, Tell
from league_sdk.judging.brief import Seat
from league_sdk.judging.clock import Clock
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import CallFailed, Client
from league_sdk.transport.policy import EndpointPolicy

FIRST_ID = 1001
"""JSON-RPC ids count from here, as chapter 8 shows them."""


class PlayerLine:
    """Calls players under one endpoint policy.

    Args:
        policy: which addresses may be called.
        clock: time.
        breaker: shared by all lines of a referee; counts asks, not tells.
    """

    def __init__(self, policy: EndpointPolicy, clock: Clock, breaker: Breaker) -> None:
        self._client = Client(agent_type="referee", policy=policy)
        self._clock = clock
        self._breaker = breaker
        self._ids = count(FIRST_ID)

    def for_match(self, rules: LeagueSettings) -> tuple[Ask, Tell]:
        """``ask`` and ``tell`` for one match under its league's settings."""

        async def ask(seat: Seat, message: dict[str, Any], *, limit_s: float) -> Heard:
            return await self._exchange(seat, message, limit_s, rules, counted=True)

        async def tell(seat: Seat, message: dict[str, Any], *, limit_s: float) -> Heard:
            return await self._exchange(seat, message, limit_s, rules, counted=False)

        return ask, tell

    async def _exchange(
        self, seat: Seat, message: dict[str, Any], limit_s: float, rules: LeagueSettings, *, counted: bool
    ) -> Heard:
        # A suspended player has one invitation to recover by: it is made, whatever the breaker says.
        if counted and not seat.suspended and not self._breaker.allows(seat.endpoint, reset_s=rules.breaker_reset_s):
            return Heard(
                error_code="E009",
                problem=f"not called: {rules.breaker_threshold} failures in a row",
                connected=False,
            )
        rpc_id = next(self._ids)
        begun = self._clock.monotonic()
        try:
            reply = await self._client.post(seat.endpoint, canonical.wrap(message, rpc_id=rpc_id), limit_s=limit_s)
        except CallFailed as error:
            if counted:
                self._breaker.failed(seat.endpoint, threshold=rules.breaker_threshold)
            return Heard(
                error_code=error.error_code,
                problem=str(error),
                elapsed_s=self._clock.monotonic() - begun,
                connected=error.connected,
            )
        if counted:
            self._breaker.succeeded(seat.endpoint)
        if reply.status >= 500:
            return Heard(
                error_code="E009",
                problem=f"HTTP status {reply.status}",
                elapsed_s=reply.elapsed_s,
                http_status=reply.status,
                body=reply.body,
            )
        if reply.problem:
            return Heard(
                error_code="E002",
                problem=f"HTTP {reply.status}: {reply.problem}",
                elapsed_s=reply.elapsed_s,
                http_status=reply.status,
            )
        answer = canonical.read_answer(reply.body, rpc_id=rpc_id)
        refused = answer.refused is not None
        return Heard(
            message=answer.message,
            error_code="E002" if refused else None,
            problem="the player answered with an error" if refused else "",
            elapsed_s=reply.elapsed_s,
            http_status=reply.status,
            notes=answer.notes,
            body=reply.body,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()
