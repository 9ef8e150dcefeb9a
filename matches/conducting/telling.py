"""Tell players broadcasts: those that are MCP servers in their version of MCP, in a session if they want one.

A player is asked what it is (:mod:`league_sdk.dialects.discovery`) when it wants a session, or does not understand a
broadcast: usually the first one of its registration, before its first match, so that this costs no match time. One that
always refuses a kind of broadcast is not sent that kind any more, and one that refuses for the moment is left alone for
a while: what it allows of requests is for its matches. This module uses no database: what is found is returned to the
conductor, which shares it with all referees.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

from league_sdk.dialects import discovery, rates, session
from league_sdk.dialects.answers import Understanding, read_answer, understanding
from league_sdk.dialects.kept import END_S, KeptSessions
from league_sdk.dialects.memory import Memory
from league_sdk.protocol import own_words
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, note
from league_sdk.transport.client import CallFailed, Client, Reply, SupportsPost
from matches.conducting.parcels import REFUSES, Parcel
from matches.view.recent import Recent

MAX_DISCOVERIES = 3
"""Limit of the times that a process asks what one registration is: once, and again if it wants another session."""
MAX_HOLDERS = 1000
"""How many MCP servers are remembered for the next broadcast, and how many registrations as asked or noted."""
MAX_REFUSALS = 3
"""After so many refusals in a row of one kind of broadcast that was never understood, it is not sent any more."""
QUIET_S, MAX_QUIET_S = 1.0, 10.0
"""How long a player that refuses for the moment is sent no other broadcast: if it does not say, and at most."""
MAX_NAMED = 3
"""How many arguments without a value one note names."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found out about one registration of an agent; empty if nothing was.

    Attributes:
        spoken, learned: as :func:`agents_registry.registering.learned.learn_dialect` takes them.
        notes: for the owner and the staff.
    """

    registration: str = ""
    spoken: dict[str, str] = field(default_factory=dict)
    learned: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spoken or self.notes or self.learned is not None)


class Telling:
    """Tells players broadcasts, and keeps what it knows of those that are MCP servers.

    Args:
        client: ends sessions.
        now: monotonic seconds.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        client: Client,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._client, self._now, self._sleep = client, now, sleep
        # By registration and kind; a kind that was understood once is never given up.
        self._refusals: Recent[tuple[str, str], float] = Recent(4 * MAX_HOLDERS)
        # The session of one that is pushed out is ended when it has not been used for a while.
        self._holders: Recent[str, Memory] = Recent(MAX_HOLDERS)
        self._discoveries: Recent[str, int] = Recent(MAX_HOLDERS)
        self._noted: Recent[tuple[str, str], bool] = Recent(MAX_HOLDERS)
        self._sessions = KeptSessions(self._delete, now=now)

    async def tell(self, caller: SupportsPost, parcel: Parcel) -> Found:
        """Send a broadcast, and once more in another way if it was not understood and the player is an MCP server.

        Nothing is sent of a kind that the player always refuses. After a temporary refusal this returns when the player
        may be sent its next broadcast.

        Args:
            caller: calls the player.

        Raises:
            CallFailed: no answer came.
        """
        if REFUSES + parcel.kind in parcel.learned:
            return Found()
        end = self._now() + parcel.limit_s
        ids = partial(next, count(parcel.rpc_id + 1))
        send = partial(self._send, partial(caller.post, parcel.endpoint), parcel, ids, end)
        holder = self._holder(parcel)
        reply = await send(parcel.body, holder)
        found = Found(parcel.registration)
        if not _is_understood(parcel, reply) and rates.is_temporary(reply.status, reply.body, reply.headers):
            wanted_s = rates.wait_s(reply.body or reply.text, reply.headers)
            await self._sleep(min(QUIET_S if wanted_s is None else wanted_s, MAX_QUIET_S))
            return found
        if parcel.retold is not None and self._may_ask(parcel, reply):
            memory = await self._discover(caller, parcel, ids, end)
            found = replace(found, spoken=memory.spoken, learned=memory.shared())
            if memory.mcp:
                body, unfilled = parcel.retold(memory)
                parcel = replace(parcel, unfilled=unfilled)
                reply = await send(body, memory)
        for body in parcel.also:
            await send(body, holder)
        notes = self._notes(parcel, reply)
        if self._gives_up(parcel, reply):
            given_up = note(Code.NOT_TOLD_AGAIN, kind=parcel.kind, count=MAX_REFUSALS)
            found = replace(found, learned={**(found.learned or {}), REFUSES + parcel.kind: True})
            notes = (*notes, str(given_up))
        return replace(found, notes=notes)

    def _gives_up(self, parcel: Parcel, reply: Reply) -> bool:
        """Whether the player has always refused this kind. The end of the league is told once, so it always is."""
        key, understood = (parcel.registration, parcel.kind), _is_understood(parcel, reply)
        self._refusals[key] = -math.inf if understood else self._refusals.get(key, 0) + 1
        return self._refusals[key] >= MAX_REFUSALS and parcel.kind != MessageType.LEAGUE_COMPLETED

    async def aclose(self) -> None:
        """End all sessions."""
        await self._sessions.aclose()

    async def _send(
        self,
        post: Callable[..., Awaitable[Reply]],
        parcel: Parcel,
        ids: Callable[[], int],
        end: float,
        body: bytes,
        holder: Memory | None,
    ) -> Reply:
        left_s = max(0.001, end - self._now())
        if holder is None:
            return await post(body, limit_s=left_s)
        self._sessions.use(holder, parcel.endpoint, limit_s=left_s)
        try:
            return await session.through(post, body, holder, ids, limit_s=left_s, now=self._now)
        finally:
            self._sessions.use(holder, parcel.endpoint)

    def _holder(self, parcel: Parcel) -> Memory | None:
        """What is known of a player that is an MCP server; None for any other. It belongs to a registration."""
        known = self._holders.get(parcel.registration)
        if known is None and not (parcel.learned.get("mcp") or parcel.learned.get("session")):
            return None
        if known is None:
            known = Memory()
            known.learn_from({}, parcel.learned)
        self._holders[parcel.registration] = known
        return known

    def _may_ask(self, parcel: Parcel, reply: Reply) -> bool:
        """Whether a player is asked what it is: it wants a session, or has not understood and was never asked."""
        if self._discoveries.get(parcel.registration, 0) >= MAX_DISCOVERIES:
            return False
        if session.is_wanted(reply.status, reply.body):
            return True
        return "mcp" not in parcel.learned and not _is_understood(parcel, reply)

    async def _discover(self, caller: SupportsPost, parcel: Parcel, ids: Callable[[], int], end: float) -> Memory:
        self._discoveries[parcel.registration] = self._discoveries.get(parcel.registration, 0) + 1
        memory = Memory()
        # During the discovery the other messages to this player wait, but no other player's.
        limit_s = min(discovery.LIMIT_S, max(0.001, end - self._now()))
        try:
            post = partial(caller.post, parcel.endpoint)
            await discovery.discover(post, memory, ids, limit_s=limit_s, now=self._now)
        except CallFailed:
            # It has answered the broadcast itself: whatever it is, it is called without MCP.
            memory.mcp = memory.mcp or ""
        self._sessions.use(memory, parcel.endpoint)
        if memory.mcp:
            self._holders[parcel.registration] = memory
        return memory

    def _notes(self, parcel: Parcel, reply: Reply) -> tuple[str, ...]:
        """What the owner should know of this broadcast, once for each type and registration."""
        kind, names = str(parcel.kind), ", ".join(parcel.unfilled[:MAX_NAMED])
        notes = [note(Code.UNFILLED, kind=kind, names=names)] if names else []
        result = reply.body.get("result") if isinstance(reply.body, dict) else None
        if isinstance(result, dict) and result.get("isError") is True:
            reason = own_words.words_of(reply.body)
            notes.append(
                note(Code.TOOL_FAILED, kind=kind, said=reason) if reason else note(Code.TOOL_SILENT, kind=kind)
            )
        if not notes or (parcel.registration, parcel.kind) in self._noted:
            return ()
        self._noted[parcel.registration, parcel.kind] = True
        return tuple(map(str, notes))

    async def _delete(self, url: str, headers: Any) -> None:
        await self._client.delete(url, headers, limit_s=END_S)


def _is_understood(parcel: Parcel, reply: Reply) -> bool:
    answer = read_answer(reply.body, rpc_id=parcel.rpc_id)
    understood = understanding(answer, status=reply.status, readable=not reply.problem, message_type=parcel.kind)
    return understood is not Understanding.NOT_UNDERSTOOD
