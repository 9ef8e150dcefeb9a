"""Two scripted players and a league manager, each on a port of its own: everyone a referee meets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from league_sdk.conformance.listener import Listener
from league_sdk.dialects import inbound
from league_sdk.protocol import tokens
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope, stamp
from league_sdk.protocol.errors import UnknownMethod
from league_sdk.protocol.messages import REPORT_PROGRESS, MessageType

A, B = "P01", "P02"
MANAGER = "manager"
LEAGUE_ID = "league_2025_even_odd"
CHOICES = {A: "even", B: "odd"}
"""Never the same, so that one of them is right."""
ILLEGAL = "EVEN"
PARALLEL_WAIT_S = 1.0
"""How long PLAYER_A keeps its choice back to see whether PLAYER_B is asked meanwhile."""
SILENCE_S = 40.0


class Script(Enum):
    """How the players play a match."""

    FAIR = "fair"
    ILLEGAL_FIRST = "illegal first"
    """PLAYER_A says EVEN, and when asked again even."""
    SILENT = "silent"
    """PLAYER_B joins and never chooses."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message that came.

    Attributes:
        to: P01, P02 or manager.
        kind: its message type, or the method when it has none.
        message: its fields.
        at: monotonic seconds.
        body: as it came.
    """

    to: str
    kind: str
    message: Mapping[str, Any]
    at: float
    body: Any


class Cast:
    """Everyone around a referee.

    Attributes:
        heard: every message that came to any of them, in order.
        scripts: by match id, how it is played.
    """

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.scripts: dict[str, Script] = {}
        self.tokens = {name: tokens.new_token() for name in (A, B, MANAGER, "auth")}
        self.registered = asyncio.Event()
        self.asked_in_parallel: set[str] = set()
        self._over = asyncio.Event()
        self._reported: dict[str, asyncio.Event] = {}
        self._asked: dict[tuple[str, str], asyncio.Event] = {}
        self._listeners = {name: Listener(self._hears(name)) for name in (A, B, MANAGER)}

    async def start(self, host: str, manager_port: int) -> None:
        """Open the ports.

        Raises:
            OSError: one cannot be had.
        """
        try:
            await self._listeners[MANAGER].start(host, manager_port)
            for name in (A, B):
                await self._listeners[name].start(host)
        except OSError:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Close them; whoever is still silent goes home."""
        self._over.set()
        for listener in self._listeners.values():
            await listener.stop()

    def endpoint(self, name: str) -> str:
        """The address of one of them."""
        return self._listeners[name].endpoint

    def of(self, match_id: str, kind: str, to: str | None = None) -> list[Heard]:
        """What came for a match."""
        return [
            one
            for one in self.heard
            if one.kind == kind and one.message.get("match_id") == match_id and to in (None, one.to)
        ]

    def reported(self, match_id: str) -> asyncio.Event:
        """Set when the result of a match was reported."""
        return self._reported.setdefault(match_id, asyncio.Event())

    # What they answer ----------------------------------------------------------------------------------------

    def _hears(self, name: str) -> Any:
        async def hear(came: inbound.Inbound, body: Any) -> dict[str, Any]:
            # What came as it is: in a report nothing is a container to be opened.
            params = body.get("params") if isinstance(body, Mapping) else None
            plain = isinstance(params, Mapping) and "message_type" in params
            message = params if plain and isinstance(params, Mapping) else came.message
            self.heard.append(Heard(name, came.name, message, time.monotonic(), body))
            return self._managed(came) if name == MANAGER else await self._played(name, came)

        return hear

    def _managed(self, came: inbound.Inbound) -> dict[str, Any]:
        message = came.message
        conversation = message.get("conversation_id")
        if came.name == MessageType.REFEREE_REGISTER_REQUEST:
            self.registered.set()
            return self._said(
                MessageType.REFEREE_REGISTER_RESPONSE,
                conversation,
                auth_token=self.tokens["auth"],
                league_id=LEAGUE_ID,
                status="ACCEPTED",
                referee_id="REF01",
                league_token=self.tokens[MANAGER],
                reason=None,
                rejection_reason=None,
            )
        match_id = message.get("match_id")
        if came.name == MessageType.MATCH_RESULT_REPORT and isinstance(match_id, str):
            self.reported(match_id).set()
            fields = {"league_id": LEAGUE_ID, "match_id": match_id, "status": "ACCEPTED", "reason": None}
            return self._said("MATCH_RESULT_ACK", conversation, **fields)
        if came.name in (REPORT_PROGRESS, REPORT_PROGRESS.upper()):
            rows = message.get("matches")
            keys = ("league_id", "match_id", "attempt")
            items = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
            return {"matches": [{key: row.get(key) for key in keys} | {"status": "ok"} for row in items]}
        if came.name == "ping":
            return {"status": "ok"}
        raise UnknownMethod("This is a check of referees.", field="method", seen=came.name)

    @staticmethod
    def _said(kind: str, conversation: Any, **fields: Any) -> dict[str, Any]:
        now = datetime.now(UTC)
        return envelope(kind, sender=LEAGUE_MANAGER, conversation_id=str(conversation), now=now, **fields)

    async def _played(self, name: str, came: inbound.Inbound) -> dict[str, Any]:
        message = came.message
        match_id = str(message.get("match_id"))
        if came.name == MessageType.GAME_INVITATION:
            fields = {"arrival_timestamp": stamp(datetime.now(UTC)), "accept": True}
            return self._answer(name, MessageType.GAME_JOIN_ACK, message, **fields)
        if came.name == MessageType.CHOOSE_PARITY_CALL:
            choice = await self._choice(name, match_id)
            return self._answer(name, MessageType.CHOOSE_PARITY_RESPONSE, message, parity_choice=choice)
        return {"status": "received"}

    async def _choice(self, name: str, match_id: str) -> str:
        script = self.scripts.get(match_id, Script.FAIR)
        self._asked_event(match_id, name).set()
        if script is Script.FAIR and name == A:
            try:
                async with asyncio.timeout(PARALLEL_WAIT_S):
                    await self._asked_event(match_id, B).wait()
                self.asked_in_parallel.add(match_id)
            except TimeoutError:
                return CHOICES[name]
        times = len(self.of(match_id, MessageType.CHOOSE_PARITY_CALL, name))
        if script is Script.ILLEGAL_FIRST and name == A and times == 1:
            return ILLEGAL
        if script is Script.SILENT and name == B:
            try:
                async with asyncio.timeout(SILENCE_S):
                    await self._over.wait()
            except TimeoutError:
                return CHOICES[name]
        return CHOICES[name]

    def _asked_event(self, match_id: str, name: str) -> asyncio.Event:
        return self._asked.setdefault((match_id, name), asyncio.Event())

    def _answer(self, name: str, kind: MessageType, asked: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        return envelope(
            kind,
            sender=f"player:{name}",
            conversation_id=str(asked.get("conversation_id")),
            now=datetime.now(UTC),
            auth_token=self.tokens[name],
            match_id=asked.get("match_id"),
            player_id=name,
            **fields,
        )
