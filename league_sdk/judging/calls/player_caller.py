"""How a referee calls players: sends a message in a dialect that the player knows, returns the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from league_sdk.asking.call_result import CallResult, result_of_failure, result_of_reply
from league_sdk.asking.clock import Clock
from league_sdk.asking.hunting import hunt
from league_sdk.dialects import session
from league_sdk.dialects.answers import Understanding, accepted
from league_sdk.dialects.driver import Driver, Failed
from league_sdk.dialects.hunt import Hunt, Proposal
from league_sdk.dialects.kept import CALLED_BACK, END_S, KeptSessions
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.shapes import OF_TOOLS
from league_sdk.dialects.tools import LIST_TOOLS, read_tools
from league_sdk.judging.calls.canary import Canary
from league_sdk.judging.calls.inbox_caller import PlayerInboxCaller, for_relays
from league_sdk.judging.match.brief import Seat
from league_sdk.judging.match.conversation import Ask, Tell
from league_sdk.protocol import rpc
from league_sdk.protocol.faults import OWN_SIDE, Cause, of_error
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import CallFailed, Client, Reply
from league_sdk.transport.machine import network_problem
from league_sdk.transport.policy import EndpointPolicy

FIRST_ID = 1001
"""The first JSON-RPC id, as in the examples of document 004, chapter 8."""
MAX_MEMORIES = 10_000
HUNT_PACE_S = 0.004
"""The pause between two requests of hunts, whatever match they are for: an agent with an unknown dialect must not
delay other matches."""
RATE_WAIT_S, RATE_MARGIN_S = 1.0, 0.25
"""The pause before a GAME_OVER that was refused for the moment is sent once more, if the player does not say; and what
is added to the time that it says, which players round."""
LIST_TOOLS_TIMEOUT_S = 1.0
"""How long an agent may take to list its tools, after the end of a match."""
_PERHAPS_OURS = frozenset({Cause.NAME_LOOKUP, *OWN_SIDE})
"""Causes that a machine without a network would report as well."""


def _key(seat: Seat) -> tuple[str, str]:
    """What a memory belongs to: a registration. Another agent at the same address starts with an empty one."""
    return seat.endpoint, seat.registration


class PlayerCaller:
    """Calls players under one endpoint policy.

    Args:
        policy: which addresses may be called.
        clock: time.
        breaker: shared by all of a referee's callers; it counts ``ask`` calls, not ``tell`` calls.
        canary: says when a deadline that passed was our fault.
        probe: says why this machine can call nobody at the moment, empty if it can; None for the real one.
        client: sends the requests; None for the real one.
    """

    def __init__(
        self,
        policy: EndpointPolicy,
        clock: Clock,
        breaker: Breaker,
        canary: Canary,
        probe: Callable[[], str] | None = None,
        client: Client | None = None,
    ) -> None:
        self._client = client or Client(agent_type="referee", policy=policy)
        self._clock = clock
        self._breaker = breaker
        self._canary = canary
        self._probe = probe or network_problem
        self._next_id = partial(next, count(FIRST_ID))
        self._memories: dict[tuple[str, str], Memory] = {}
        self._hunting = asyncio.Lock()
        self._sessions = KeptSessions(self._delete, now=clock.monotonic)
        self.inbox: PlayerInboxCaller | None = None
        """For players that dial out; None where there is no league manager that has inboxes."""

    def for_match(self, settings: LeagueSettings, choice_field: str = "") -> tuple[Ask, Tell]:
        """``ask`` and ``tell`` for one match under its league's settings.

        Args:
            settings: the league's settings.
            choice_field: the game's name for a move.
        """

        async def ask(
            seat: Seat, message: dict[str, Any], *, limit_s: float, first: Proposal | None = None
        ) -> CallResult:
            # A suspended player can recover with one invitation, so it is sent whatever the breaker says.
            if not seat.suspended and not self._breaker.allows(seat.endpoint, reset_s=settings.breaker_reset_s):
                return CallResult(
                    error_code="E009",
                    problem=f"not called: {settings.breaker_threshold} failures in a row",
                    connected=False,
                    cause=self._breaker.cause(seat.endpoint),
                    detail=f"not called any more: {settings.breaker_threshold} failures in a row",
                )
            begun = self._clock.monotonic()
            try:
                result = self._with_excuse(await self._ask(seat, message, limit_s, choice_field, first), begun, limit_s)
            except asyncio.CancelledError as cancelled:
                if cancelled.args == (CALLED_BACK,):
                    self._breaker.succeeded(seat.endpoint)
                raise
            if result.http_status is not None or result.error_code is None:
                self._breaker.succeeded(seat.endpoint)
            elif not result.excuse:
                cause = result.cause or of_error(result.error_code)
                self._breaker.failed(seat.endpoint, threshold=settings.breaker_threshold, cause=cause)
            return result

        async def tell(seat: Seat, message: dict[str, Any], *, limit_s: float) -> CallResult:
            return self._without_network(await self._tell(seat, message, limit_s))

        return ask, tell

    def _with_excuse(self, result: CallResult, begun: float, limit_s: float) -> CallResult:
        """The result; with an excuse if this side failed, for which only its own measurements are evidence.

        A deadline is excused if the canary found this side late, and a call that could not be made if this machine
        finds no network. That other agents are silent too proves nothing, as they may have agreed on it (ruling,
        section 12).
        """
        unanswered = result.error_code is not None or accepted(result.message) is False
        result = self._without_network(result)
        if result.excuse:
            return replace(result, elapsed_s=self._clock.monotonic() - begun)
        over = result.error_code == "E001" or self._clock.monotonic() - begun >= limit_s
        late = self._canary.late_beyond_allowed_s(begun, limit_s) if unanswered and over else 0.0
        if not late:
            return result
        return replace(
            result,
            message={},
            error_code="E001",
            problem=f"no answer within {limit_s:g} s, of which the referee itself was late for {late:.1f} s",
            cause=Cause.DEADLINE,
            detail="",
            elapsed_s=self._clock.monotonic() - begun,
            excuse=f"the referee itself was late for {late:.1f} s of {limit_s:g} s",
        )

    def _without_network(self, result: CallResult) -> CallResult:
        """The result; with an excuse if the call could not be made because this machine has no network."""
        if result.error_code is not None and result.cause is Cause.LEAGUE:
            # Only the way through an inbox leads through the league manager.
            return replace(result, excuse=str(result.problem))
        if result.error_code is None or not (result.maybe_offline or result.cause in _PERHAPS_OURS):
            return result
        evidence = self._probe()
        if evidence:
            return replace(result, excuse=evidence)
        # The cause blames this machine, which works: the address is unreachable.
        return replace(result, cause=Cause.CONNECT) if result.cause in OWN_SIDE else result

    def spoken(self, seat: Seat) -> dict[str, str]:
        """The dialects that a player was seen to understand; empty if the seat's ``spoken`` says the same."""
        memory = self._memories.get(_key(seat))
        return {} if memory is None or memory.spoken == seat.spoken else dict(memory.spoken)

    def learned(self, seat: Seat) -> dict[str, Any]:
        """What else was found out of how a player speaks; empty if the seat's ``learned`` says the same."""
        memory = self._memories.get(_key(seat))
        return {} if memory is None or (shared := memory.shared()) == seat.learned else shared

    def found_at(self, seat: Seat) -> str:
        """The path at which a player's server was found, if it is not the one of its address; empty otherwise."""
        memory = self._memories.get(_key(seat))
        return urlsplit(memory.url).path if memory is not None and memory.url else ""

    def _memory(self, seat: Seat) -> Memory:
        memory = self._memories.get(_key(seat))
        if memory is None or (memory.dialect, memory.behind_gateway) != (seat.dialect, seat.behind_gateway):
            # A player not called before, or one whose dialect, or whose host's mark as a gateway, has changed.
            memory = self._memories[_key(seat)] = Memory(dialect=seat.dialect, behind_gateway=seat.behind_gateway)
            while len(self._memories) > MAX_MEMORIES:
                del self._memories[next(iter(self._memories))]
        # What other referees have found out meanwhile.
        memory.learn_from(seat.spoken, seat.learned)
        return memory

    async def _ask(
        self, seat: Seat, message: dict[str, Any], limit_s: float, choice_field: str, first: Proposal | None
    ) -> CallResult:
        """Try one dialect after another within the limit until one brings an answer; ``first`` comes first."""
        hunted = Hunt(message, url=seat.endpoint, memory=self._memory(seat), choice_field=choice_field, first=first)
        # The task is cancelled when a callback arrives.
        result, _ = await hunt(self._driver(seat, hunted, limit_s), sleep=self._clock.sleep)
        return result

    def _driver(self, seat: Seat, hunt: Hunt, limit_s: float) -> Driver:
        return Driver(
            hunt,
            partial(self._send, seat, hunt.memory),
            limit_s=limit_s,
            next_id=self._next_id,
            now=self._clock.monotonic,
            pace=self._wait_for_turn,
            sleep=self._clock.sleep,
        )

    async def _wait_for_turn(self) -> None:
        """Wait until it is this hunt's turn; the hunts of all matches take turns."""
        async with self._hunting:
            # Real time, not the match's clock: other tasks of the event loop run first.
            await asyncio.sleep(HUNT_PACE_S)

    async def _tell(self, seat: Seat, message: dict[str, Any], limit_s: float) -> CallResult:
        """Send a message whose answer does not matter; hunt for the dialect only for a player's first GAME_OVER.

        A GAME_OVER that is refused for the moment is sent once more, when the player wants it, within the limit: no
        other message says how its match ended.
        """
        kind, memory = message["message_type"], self._memory(seat)
        patient = kind == MessageType.GAME_OVER and kind not in memory.hunted
        memory.hunted.add(kind)
        driver = self._driver(seat, Hunt(message, url=seat.endpoint, memory=memory, patient=patient), limit_s)
        result = await self._tell_once(seat, kind, driver)
        wait_s = RATE_WAIT_S if driver.wanted_s is None else driver.wanted_s + RATE_MARGIN_S
        if driver.limited is None or kind != MessageType.GAME_OVER or wait_s >= driver.left_s:
            return result
        await self._clock.sleep(wait_s)
        again = Hunt(message, url=seat.endpoint, memory=memory, patient=False, first=driver.limited)
        return await self._tell_once(seat, kind, self._driver(seat, again, driver.left_s))

    async def _tell_once(self, seat: Seat, kind: str, driver: Driver) -> CallResult:
        first: CallResult | None = None
        async for step in driver:
            if isinstance(step, Failed):
                return first or result_of_failure(step.error, driver)
            result = result_of_reply(step, driver)
            if step.understanding is not Understanding.NOT_UNDERSTOOD:
                if kind == MessageType.GAME_OVER:
                    await self._list_tools(seat, driver.hunt.memory, driver.left_s)
                return result
            first = first or result
        return first or result_of_failure(None, driver)

    async def _list_tools(self, seat: Seat, memory: Memory, left_s: float) -> None:
        """Ask an agent that has tools for their names, which broadcasts to it use; once, and when no match waits."""
        if (
            memory.tools is not None
            or seat.learned.get("own")
            or not {"tools_call", *OF_TOOLS} & set(memory.spoken.values())
        ):
            return
        memory.tools, rpc_id = {}, self._next_id()
        proposal = Proposal(
            "tools_list", LIST_TOOLS, memory.url or seat.endpoint, rpc.call(LIST_TOOLS, {}, rpc_id), rpc_id
        )
        with suppress(CallFailed):
            reply = await self._send(seat, memory, proposal, max(0.001, min(LIST_TOOLS_TIMEOUT_S, left_s)))
            memory.tools = read_tools(reply.body)
            memory.assign_tools()

    async def _send(self, seat: Seat, memory: Memory, proposal: Proposal, limit_s: float) -> Reply:
        """Send a request. If this is cancelled because a callback has arrived, let the request end by itself."""
        post, now = partial(self._post, seat, proposal.url), self._clock.monotonic
        call = session.through(post, proposal.body, memory, self._next_id, limit_s=limit_s, now=now)
        return await self._sessions.call(memory, proposal.url, call, limit_s=limit_s)

    async def _post(
        self, seat: Seat, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None
    ) -> Reply:
        directly = partial(self._client.post, url, message, headers=headers)
        if self.inbox is None or not seat.inbox_key:
            return await directly(limit_s=limit_s)
        return await self.inbox.post(
            seat, message, limit_s=limit_s, directly=directly, headers=for_relays(url, headers)
        )

    async def _delete(self, url: str, headers: Mapping[str, str]) -> None:
        await self._client.delete(url, headers, limit_s=END_S)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._sessions.aclose()
        await self._client.aclose()
