"""A referee's line to the league manager: registering, progress as heartbeat, results until answered."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from league_sdk.judging import metrics
from league_sdk.protocol import PROTOCOL_VERSION, SDK_VERSION, rpc
from league_sdk.protocol.envelope import envelope
from league_sdk.protocol.errors import InternalError, error_of
from league_sdk.protocol.messages import METHODS, REPORT_PROGRESS, MessageType
from league_sdk.transport.client import CallFailed, Client

logger = logging.getLogger(__name__)

CALL_LIMIT_S = 10.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 3.0
MOST_FAILURES = 10
"""So often a result is reported that the league manager takes heartbeats but fails over; about 25 seconds."""


class Refused(Exception):
    """The league manager answered with an error.

    Attributes:
        error_code: its E-code.
    """

    def __init__(self, error_code: str, message: str) -> None:
        super().__init__(f"{error_code}: {message}")
        self.error_code = error_code


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the league manager says this referee is."""

    referee_id: str
    auth_token: str
    league_token: str


@dataclass(frozen=True, slots=True)
class Card:
    """What a referee says of itself at registration (ruling, section 3)."""

    name: str
    endpoint: str
    game_types: tuple[str, ...]
    max_concurrent_matches: int
    registration_code: str


class LeagueLink:
    """Calls the league manager as one referee.

    Args:
        url: the league manager's /mcp.
        card: who registers.
    """

    def __init__(self, url: str, card: Card) -> None:
        self._url = url
        self._card = card
        self._client = Client(agent_type="referee")
        self._ids = 0
        self.identity: Identity | None = None
        self.identified: Callable[[], None] = lambda: None
        """Called when it has an identity, or another one."""
        self.heard_at = time.monotonic()
        """When the league manager last accepted a heartbeat, in monotonic seconds."""

    async def register(self) -> Identity:
        """Register, however long the league manager takes to come up.

        Raises:
            Refused: it answered, and does not want us.
        """
        wait = FIRST_WAIT_S
        answer: dict[str, Any] | None = None
        while answer is None:
            try:
                answer = await self._call(MessageType.REFEREE_REGISTER_REQUEST, self._registration(), None)
            except CallFailed as error:
                logger.info("the league manager is not there yet: %s", error)
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT_S)
        if answer.get("status") != "ACCEPTED":
            raise Refused("REJECTED", str(answer.get("reason")))
        self.identity = Identity(answer["referee_id"], answer["auth_token"], answer.get("league_token", ""))
        self.heard_at = time.monotonic()
        self.identified()
        return self.identity

    def _registration(self) -> dict[str, Any]:
        card = self._card
        return {
            "referee_meta": {
                "display_name": card.name,
                "version": SDK_VERSION,
                "protocol_version": PROTOCOL_VERSION,
                "game_types": list(card.game_types),
                "contact_endpoint": card.endpoint,
                "max_concurrent_matches": card.max_concurrent_matches,
                "registration_code": card.registration_code,
                "sends_progress": True,
                "seals": True,
            }
        }

    async def progress(self, matches: list[dict[str, Any]], *, leaving: bool = False) -> list[Any]:
        """Send one report_progress; an accepted one is a heartbeat.

        Args:
            matches: one item for each match in play.
            leaving: no new match is taken.

        Raises:
            CallFailed: no answer.
            Refused: an error came.
        """
        # The lease runs from when the league manager took it, which is before its answer is here.
        sent_at = time.monotonic()
        fields: dict[str, Any] = {"matches": matches} | ({"leaving": True} if leaving else {})
        try:
            answer = await self._call(REPORT_PROGRESS, fields, None)
        except (CallFailed, Refused):
            metrics.HEARTBEATS_FAILED.add()
            raise
        self.heard_at = sent_at
        found = answer.get("matches")
        return found if isinstance(found, list) else []

    async def report(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Send MATCH_RESULT_REPORT until it is answered (ruling, section 4).

        Raises:
            Refused: the league manager does not take it.
        """
        conversation = f"conv-report-{uuid.uuid4().hex[:8]}"
        wait, failures = FIRST_WAIT_S, 0
        while True:
            try:
                answer = await self._call(MessageType.MATCH_RESULT_REPORT, dict(fields), conversation)
            except CallFailed as error:
                logger.warning("a result report is not answered: %s", error)
            except Refused as error:
                failures += 1
                if error.error_code != "E009" or failures >= MOST_FAILURES:
                    raise
                logger.warning("a result report has to be repeated: %s", error)
            else:
                told = {"event_type": "RESULT_REPORTED", "message_type": "MATCH_RESULT_REPORT"}
                logger.info("the result is reported", extra=told | {"conversation_id": conversation})
                return answer
            metrics.REPORTS_REPEATED.add()
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT_S)

    async def pass_on(self, message_type: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Give a player's callback to the league manager: its match is played by another referee.

        Returns the league manager's answer.

        Raises:
            LeagueError: what the league manager said against it, or that it cannot be reached (E009).
        """
        self._ids += 1
        body = rpc.call(message_type, message, self._ids)
        try:
            reply = await self._client.post(self._url, body, limit_s=CALL_LIMIT_S)
        except CallFailed as error:
            raise InternalError(f"The answer could not be passed on: {error}.") from None
        answer = reply.body if isinstance(reply.body, dict) else {}
        if isinstance(answer.get("result"), dict):
            return dict(answer["result"])
        found = answer.get("error")
        refused: dict[str, Any] = found if isinstance(found, dict) else {}
        raise error_of(refused.get("data"), fallback=str(refused.get("message", "The league manager refused it.")))

    async def _call(self, name: str, fields: dict[str, Any], conversation_id: str | None) -> dict[str, Any]:
        self._ids += 1
        who = self.identity
        message = envelope(
            name,
            sender=f"referee:{who.referee_id if who else self._card.name}",
            conversation_id=conversation_id or f"conv-{uuid.uuid4().hex[:12]}",
            now=datetime.now(UTC),
            auth_token=who.auth_token if who and name != MessageType.REFEREE_REGISTER_REQUEST else None,
            **fields,
        )
        method = METHODS[MessageType(name)] if name in set(MessageType) else name
        # In the header as well: the site knows its referees by it before it has read a body, and serves them first.
        token = message.get("auth_token")
        head = {"Authorization": f"Bearer {token}"} if token else None
        content = rpc.call(method, message, self._ids)
        reply = await self._client.post(self._url, content, limit_s=CALL_LIMIT_S, headers=head)
        body = reply.body if isinstance(reply.body, dict) else {}
        if isinstance(body.get("error"), dict):
            data = body["error"].get("data")
            code = data.get("error_code", "") if isinstance(data, dict) else ""
            raise Refused(code, str(body["error"].get("message")))
        result = body.get("result")
        if not isinstance(result, dict):
            raise CallFailed(f"the league manager answered HTTP {reply.status} without a result", connected=True)
        return result

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()
