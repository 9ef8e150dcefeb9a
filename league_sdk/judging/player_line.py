"""A referee's line to the players: one message out, in words the player knows; what came of it back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from league_sdk.dialects import session
from league_sdk.dialects.answers import Understanding, accepted
from league_sdk.dialects.driver import Driver, Failed
from league_sdk.dialects.hunt import Hunt, Memory, Proposal
from league_sdk.dialects.shapes import CANONICAL
from league_sdk.dialects.tools import LIST_TOOLS
from league_sdk.judging.asking import CALLED_BACK
from league_sdk.judging.brief import Seat
from league_sdk.judging.canary import Canary
from league_sdk.judging.clock import Clock
from league_sdk.judging.heard import Ask, Heard, Tell, of_failure, of_reply
from league_sdk.protocol.faults import OWN_SIDE, Cause, of_error
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.tokens import redact
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import Broken, CallFailed, Client, Reply
from league_sdk.transport.machine import network_problem
from league_sdk.transport.policy import EndpointPolicy

FIRST_ID = 1001
"""JSON-RPC ids count from here, as chapter 8 shows them."""
MOST_MEMORIES = 10_000
RECEIPT_SHARE = 0.5
"""Of the time left: so long an answer may take to follow a receipt before other words are tried."""
PACE_S = 0.004
"""Between two requests that look for words an agent knows, of all matches together: whoever makes a referee search
must not make it late for the others."""
VAGUE_SHARE = 0.1
"""The same after a success that says nothing."""
_Driver = Driver[Reply, CallFailed]
_PERHAPS_OURS = frozenset({Cause.NAME_LOOKUP, *OWN_SIDE})
"""Causes that a machine without a network would find, too."""


class PlayerLine:
    """Calls players under one endpoint policy.

    Args:
        policy: which addresses may be called.
        clock: time.
        breaker: shared by all lines of a referee; counts asks, not tells.
        canary: says when it was us who were late.
        probe: says why this machine can call nobody at the moment, empty when it can; None for the real one.
    """

    def __init__(
        self,
        policy: EndpointPolicy,
        clock: Clock,
        breaker: Breaker,
        canary: Canary,
        probe: Callable[[], str] | None = None,
    ) -> None:
        self._client = Client(agent_type="referee", policy=policy)
        self._clock = clock
        self._breaker = breaker
        self._canary = canary
        self._probe = probe or network_problem
        self._next_id = partial(next, count(FIRST_ID))
        self._memories: dict[str, Memory] = {}
        self._abandoned: set[asyncio.Task[Reply]] = set()
        self._searching = asyncio.Lock()

    def for_match(self, rules: LeagueSettings, choice_field: str = "") -> tuple[Ask, Tell]:
        """``ask`` and ``tell`` for one match under its league's settings.

        Args:
            rules: the league's settings.
            choice_field: the game's name for a move.
        """

        async def ask(seat: Seat, message: dict[str, Any], *, limit_s: float, only: Proposal | None = None) -> Heard:
            # A suspended player has one invitation to recover by: it is made, whatever the breaker says.
            if not seat.suspended and not self._breaker.allows(seat.endpoint, reset_s=rules.breaker_reset_s):
                return Heard(
                    error_code="E009",
                    problem=f"not called: {rules.breaker_threshold} failures in a row",
                    connected=False,
                    cause=self._breaker.cause(seat.endpoint),
                    detail=f"not called any more: {rules.breaker_threshold} failures in a row",
                )
            begun = self._clock.monotonic()
            try:
                heard = self._whose(await self._ask(seat, message, limit_s, choice_field, only), begun, limit_s)
            except asyncio.CancelledError as cancelled:
                if cancelled.args == (CALLED_BACK,):
                    self._breaker.succeeded(seat.endpoint)
                raise
            if heard.http_status is not None or heard.error_code is None:
                self._breaker.succeeded(seat.endpoint)
            elif not heard.excuse:
                cause = heard.cause or of_error(heard.error_code)
                self._breaker.failed(seat.endpoint, threshold=rules.breaker_threshold, cause=cause)
            return heard

        async def tell(seat: Seat, message: dict[str, Any], *, limit_s: float) -> Heard:
            return self._without_network(await self._say(seat, message, limit_s))

        return ask, tell

    def _whose(self, heard: Heard, begun: float, limit_s: float) -> Heard:
        """What was heard; with an excuse where this side failed, which only its own witnesses can say.

        A deadline is excused when the judging loop was late, a call that could not be made when this machine finds no
        network. That other agents are silent too shows nothing: they may have agreed on it (ruling, section 12).
        """
        unanswered = heard.error_code is not None or accepted(heard.message) is False
        heard = self._without_network(heard)
        if heard.excuse:
            return replace(heard, elapsed_s=self._clock.monotonic() - begun)
        over = heard.error_code == "E001" or self._clock.monotonic() - begun >= limit_s
        late = self._canary.blames_us(begun, limit_s) if unanswered and over else 0.0
        if not late:
            return heard
        return replace(
            heard,
            message={},
            error_code="E001",
            problem=f"no answer within {limit_s:g} s, of which the referee itself was late for {late:.1f} s",
            cause=Cause.DEADLINE,
            detail="",
            elapsed_s=self._clock.monotonic() - begun,
            excuse=f"the referee itself was late for {late:.1f} s of {limit_s:g} s",
        )

    def _without_network(self, heard: Heard) -> Heard:
        """What was heard; with an excuse when a call could not be made and this machine finds no network."""
        if heard.error_code is None or not (heard.cut_off or heard.cause in _PERHAPS_OURS):
            return heard
        evidence = self._probe()
        if evidence:
            return replace(heard, excuse=evidence)
        # One that says "this machine" is wrong: it is well.
        return replace(heard, cause=Cause.CONNECT) if heard.cause in OWN_SIDE else heard

    def spoken(self, seat: Seat) -> dict[str, str]:
        """What was found out of a player's ways of speaking beyond what its seat said; empty when nothing."""
        memory = self._memories.get(seat.endpoint)
        return {} if memory is None or memory.spoken == seat.spoken else dict(memory.spoken)

    def found_at(self, seat: Seat) -> str:
        """The path at which a player's server was found, when it is not the one of its address; else empty."""
        memory = self._memories.get(seat.endpoint)
        return urlsplit(memory.url).path if memory is not None and memory.url else ""

    def _memory(self, seat: Seat) -> Memory:
        memory = self._memories.get(seat.endpoint)
        if memory is None or (memory.dialect, memory.stays) != (seat.dialect, seat.stays):
            # Unknown, it has registered anew in other words, or its host was marked as a gateway or is none any more.
            memory = Memory(dialect=seat.dialect, spoken=dict(seat.spoken), stays=seat.stays)
            self._memories[seat.endpoint] = memory
            while len(self._memories) > MOST_MEMORIES:
                del self._memories[next(iter(self._memories))]
        return memory

    async def _ask(
        self, seat: Seat, message: dict[str, Any], limit_s: float, choice_field: str, only: Proposal | None
    ) -> Heard:
        """Every spelling in turn within one limit, until one brings an answer; with ``only`` none but that."""
        hunt = Hunt(message, url=seat.endpoint, memory=self._memory(seat), choice_field=choice_field, only=only)
        try:
            return await self._search(self._driver(hunt, limit_s))
        except asyncio.CancelledError as cancelled:
            if cancelled.args == (CALLED_BACK,):
                hunt.called_back()
            raise

    def _driver(self, hunt: Hunt, limit_s: float) -> _Driver:
        return Driver(
            hunt,
            partial(self._send, hunt.memory),
            failures=CallFailed,
            limit_s=limit_s,
            next_id=self._next_id,
            now=self._clock.monotonic,
            pace=self._turn,
        )

    async def _turn(self) -> None:
        """Wait for a turn among the searches of other matches."""
        async with self._searching:
            # Of the loop's time, not of a match's: whoever else is due comes first.
            await asyncio.sleep(PACE_S)

    async def _search(self, driver: _Driver) -> Heard:
        pending: Note | None = None
        refusal: Heard | None = None
        failure: Heard | None = None
        async for step in driver:
            if isinstance(step, Failed):
                failure = of_failure(step.error, driver)
                if not isinstance(step.error, Broken):
                    return failure
                # A server that drops the connection over a method it does not know may know another.
                driver.hunt.give_up(step.proposal)
                continue
            proposal, understanding, answer = step.proposal, step.understanding, step.answer
            heard = of_reply(step, driver)
            if understanding is Understanding.ANSWERED:
                return heard
            if understanding is Understanding.NOT_UNDERSTOOD:
                limited = driver.hunt.limited
                if accepted(answer.message) is False:
                    refusal = replace(heard, message=answer.message, error_code=None, problem="")
                elif limited or (proposal.method != LIST_TOOLS and (failure is None or proposal.shape == CANONICAL)):
                    failure = heard
                continue
            # A token that is cut would not be known for one any more.
            pending = note(Code.NO_ANSWER_IN_REPLY, seen=redact(str(step.reply.body))[:80])
            if driver.hunt.awaits_callback:
                break
            share = RECEIPT_SHARE if understanding is Understanding.RECEIPT else VAGUE_SHARE
            # Whoever waits for the callback ends this sleep.
            await self._clock.sleep(max(0.0, driver.left_s) * share)
        if pending is not None:
            # Something was understood: the answer may come by a POST until the time is over.
            await self._clock.sleep(max(0.0, driver.left_s))
            return replace(of_failure(None, driver), problem=pending, detail=pending, cause=None, http_status=200)
        return refusal or failure or of_failure(None, driver)

    async def _say(self, seat: Seat, message: dict[str, Any], limit_s: float) -> Heard:
        """A message whose answer does not matter; GAME_OVER is worth finding the right words for, once."""
        memory = self._memory(seat)
        kind = message["message_type"]
        patient = kind == MessageType.GAME_OVER and kind not in memory.spoken
        driver = self._driver(Hunt(message, url=seat.endpoint, memory=memory, patient=patient), limit_s)
        first: Heard | None = None
        async for step in driver:
            if isinstance(step, Failed):
                return first or of_failure(step.error, driver)
            heard = of_reply(step, driver)
            if step.understanding is not Understanding.NOT_UNDERSTOOD:
                return heard
            first = first or heard
            if patient:
                # Whatever comes of it: the next time there is one call and no search.
                memory.spoken.setdefault(kind, step.proposal.shape)
        return first or of_failure(None, driver)

    async def _send(self, memory: Memory, proposal: Proposal, limit_s: float) -> Reply:
        """Send; when a callback comes first, and only then, the request under way is left to end by itself."""
        post, now = partial(self._client.post, proposal.url), self._clock.monotonic
        call = session.through(post, proposal.body, memory, self._next_id, limit_s=limit_s, now=now)
        task = asyncio.create_task(call)
        self._abandoned.add(task)
        task.add_done_callback(self._end_of)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError as cancelled:
            if cancelled.args != (CALLED_BACK,):
                task.cancel()
            raise

    def _end_of(self, task: asyncio.Task[Reply]) -> None:
        self._abandoned.discard(task)
        if not task.cancelled():
            # Whoever waited has it by now; without one it is nobody's.
            task.exception()

    async def aclose(self) -> None:
        """Close every connection."""
        for task in list(self._abandoned):
            task.cancel()
        await asyncio.gather(*self._abandoned, return_exceptions=True)
        await self._client.aclose()
