"""Two scripted players and a league manager, each on a port of its own, for the referee under check."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.listener import Handler, Listener
from league_sdk.dialects import inbound
from league_sdk.protocol import tokens
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope, stamp
from league_sdk.protocol.errors import UnknownMethod
from league_sdk.protocol.messages import REPORT_PROGRESS, MessageType

A, B = "P01", "P02"
MANAGER = "manager"
LEAGUE_ID = "league_2025_even_odd"
CHOICES = {A: "even", B: "odd"}
"""What each player chooses: always different, so that one of them wins."""
ILLEGAL = "neither"
PARALLEL_TIMEOUT_S = 1.0
"""How long PLAYER_A delays its choice, to see whether PLAYER_B is asked meanwhile."""
SILENCE_S = 40.0
"""How long the silent player keeps its answer back."""


class Script(Enum):
    """How the players play a match."""

    FAIR = "fair"
    ILLEGAL_FIRST = "illegal first"
    """PLAYER_A first chooses :data:`ILLEGAL`, and "even" when it is asked again."""
    SILENT = "silent"
    """PLAYER_B joins and does not choose in time."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message from the referee.

    Attributes:
        to: who received it: P01, P02 or manager.
        kind: its message type, or the method when it has none.
        message: its fields.
        at: when it came, in monotonic seconds.
        body: the whole decoded body.
    """

    to: str
    kind: str
    message: Mapping[str, Any]
    at: float
    body: Any

    @property
    def evidence(self) -> Exchange:
        """The message as evidence of a clause; nothing was sent for it."""
        return Exchange(None, response_body=self.body, readable=True)


class Cast:
    """The agents around the referee under check.

    Attributes:
        received: every message that any of them received, in order.
        scripts: by match id, how the players play it.
        asked_in_parallel: matches in which PLAYER_B was asked before PLAYER_A had answered.
        listeners: by name of a player or ``manager``, its port.
        tokens: by the same names, the token by which the referee knows its messages; ``auth`` is the referee's own.
    """

    def __init__(self) -> None:
        self.received: list[Heard] = []
        self.scripts: dict[str, Script] = {}
        self.tokens = {name: tokens.new_token() for name in (A, B, MANAGER, "auth")}
        self.asked_in_parallel: set[str] = set()
        self._is_over = False
        self._news = asyncio.Condition()
        self.listeners = {name: Listener(self._handler_of(name)) for name in (A, B, MANAGER)}

    async def start(self, host: str, manager_port: int) -> None:
        """Open the ports.

        Raises:
            OSError: a port cannot be opened.
        """
        try:
            await self.listeners[MANAGER].start(host, manager_port)
            for name in (A, B):
                await self.listeners[name].start(host)
        except OSError:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Close the ports and end the silence of scripted players."""
        self._is_over = True
        async with self._news:
            self._news.notify_all()
        for listener in self.listeners.values():
            await listener.stop()

    def endpoint(self, name: str) -> str:
        """The address of a player or of the league manager."""
        return self.listeners[name].endpoint

    def of(self, match_id: str, kind: str, to: str | None = None) -> list[Heard]:
        """The messages of one type about a match; with ``to``, only those to this receiver."""
        return [
            heard
            for heard in self.received
            if heard.kind == kind and heard.message.get("match_id") == match_id and to in (None, heard.to)
        ]

    @property
    def registration(self) -> Heard | None:
        """The referee's registration; None until there is one."""
        return next((heard for heard in self.received if heard.kind == MessageType.REFEREE_REGISTER_REQUEST), None)

    async def until(self, is_so: Callable[[], object], limit_s: float) -> bool:
        """Wait at most ``limit_s`` seconds until a condition holds; it is tested after every message."""
        try:
            async with asyncio.timeout(limit_s), self._news:
                await self._news.wait_for(is_so)
        except TimeoutError:
            return False
        return True

    # What players and manager answer --------------------------------------------------------------------------

    def _handler_of(self, name: str) -> Handler:
        async def hear(request: inbound.Inbound, body: Any, path: str) -> dict[str, Any]:
            # Take the params unchanged where possible: request.message is unwrapped, which moves the fields of objects
            # inside a report to its top.
            params = body.get("params") if isinstance(body, Mapping) else None
            is_plain = isinstance(params, Mapping) and "message_type" in params
            message = params if is_plain and isinstance(params, Mapping) else request.message
            self.received.append(Heard(name, request.name, message, time.monotonic(), body))
            async with self._news:
                self._news.notify_all()
            return self._answer_of_manager(request) if name == MANAGER else await self._answer_of_player(name, request)

        return hear

    def _answer_of_manager(self, request: inbound.Inbound) -> dict[str, Any]:
        message, fields = request.message, dict[str, Any](league_id=LEAGUE_ID, status="ACCEPTED", reason=None)
        kind = ""
        if request.name == MessageType.REFEREE_REGISTER_REQUEST:
            kind = MessageType.REFEREE_REGISTER_RESPONSE
            fields |= {"referee_id": "REF01", "auth_token": self.tokens["auth"], "league_token": self.tokens[MANAGER]}
            fields["rejection_reason"] = None
        elif request.name == MessageType.MATCH_RESULT_REPORT and isinstance(message.get("match_id"), str):
            kind, fields["match_id"] = "MATCH_RESULT_ACK", message["match_id"]
        elif request.name in (REPORT_PROGRESS, REPORT_PROGRESS.upper()):
            rows = message.get("matches")
            keys = ("league_id", "match_id", "attempt")
            items = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
            return {"matches": [{key: row.get(key) for key in keys} | {"status": "ok"} for row in items]}
        elif request.name == "ping":
            return {"status": "ok"}
        else:
            raise UnknownMethod("This is a check of referees.", field="method", seen=request.name)
        return _answer(kind, LEAGUE_MANAGER, message, **fields)

    async def _answer_of_player(self, name: str, request: inbound.Inbound) -> dict[str, Any]:
        message = request.message
        about_player = {"auth_token": self.tokens[name], "match_id": message.get("match_id"), "player_id": name}
        if request.name == MessageType.GAME_INVITATION:
            arrived = stamp(datetime.now(UTC))
            fields = {"arrival_timestamp": arrived, "accept": True}
            return _answer(MessageType.GAME_JOIN_ACK, f"player:{name}", message, **about_player, **fields)
        if request.name == MessageType.CHOOSE_PARITY_CALL:
            choice = await self._choice(name, str(message.get("match_id")))
            fields = {"parity_choice": choice}
            return _answer(MessageType.CHOOSE_PARITY_RESPONSE, f"player:{name}", message, **about_player, **fields)
        return {"status": "received"}

    async def _choice(self, name: str, match_id: str) -> str:
        def times_asked(player: str) -> int:
            return len(self.of(match_id, MessageType.CHOOSE_PARITY_CALL, player))

        script = self.scripts.get(match_id, Script.FAIR)
        if script is Script.FAIR and name == A and await self.until(lambda: times_asked(B), PARALLEL_TIMEOUT_S):
            self.asked_in_parallel.add(match_id)
        if script is Script.SILENT and name == B:
            await self.until(lambda: self._is_over, SILENCE_S)
        return ILLEGAL if script is Script.ILLEGAL_FIRST and name == A and times_asked(A) == 1 else CHOICES[name]


def _answer(kind: str, sender: str, message: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    conversation, now = str(message.get("conversation_id")), datetime.now(UTC)
    return envelope(kind, sender=sender, conversation_id=conversation, now=now, **fields)
