"""A referee's calls to the league manager: registration, heartbeats, and each result until it is answered."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from league_sdk.dialling import Inbox, inbox_of
from league_sdk.judging.observing import metrics
from league_sdk.protocol import PROTOCOL_VERSION, SDK_VERSION, rpc
from league_sdk.protocol.envelope import envelope
from league_sdk.protocol.errors import InternalError, error_of
from league_sdk.protocol.messages import METHODS, REPORT_PROGRESS, MessageType
from league_sdk.transport.client import CallFailed, Client
from league_sdk.transport.httpx_client import HttpxClient

logger = logging.getLogger(__name__)

CALL_TIMEOUT_S = 10.0
MIN_BACKOFF_S, MAX_BACKOFF_S = 0.2, 3.0
MAX_REPORT_FAILURES = 10
"""How often one result is reported while the league manager answers E009; the pauses are 18 seconds in all."""


class Refused(Exception):
    """The league manager answered with an error.

    Attributes:
        error_code: its E-code.
        message: its sentence.
        data: the data of the error, as it came.
    """

    def __init__(self, error_code: str, message: str, data: Any = None) -> None:
        super().__init__(f"{error_code}: {message}")
        self.error_code, self.message, self.data = error_code, message, data


@dataclass(frozen=True, slots=True)
class Identity:
    """The id and tokens that the league manager has given this referee."""

    referee_id: str
    auth_token: str
    league_token: str


def referee_meta(
    display_name: str,
    contact_endpoint: str | None,
    game_types: list[str],
    max_concurrent_matches: int,
    registration_code: str,
) -> dict[str, Any]:
    """What a referee says of itself at registration (ruling, section 3).

    Args:
        contact_endpoint: None if it fetches its messages (section 13).
    """
    return {
        "display_name": display_name,
        "game_types": game_types,
        "max_concurrent_matches": max_concurrent_matches,
        "registration_code": registration_code,
        "version": SDK_VERSION,
        "protocol_version": PROTOCOL_VERSION,
        "sends_progress": True,
        "seals": True,
        **({"contact_endpoint": contact_endpoint} if contact_endpoint else {"delivery": "websocket"}),
    }


class LeagueLink:
    """Calls the league manager as one referee.

    Args:
        url: the league manager's /mcp.
        meta: what the referee says of itself: :func:`referee_meta`.
        client: sends the requests; None for the real one.
        sleep: waits, in seconds.
    """

    def __init__(
        self,
        url: str,
        meta: Mapping[str, Any],
        client: Client | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.url = url
        self._meta = meta
        self._client = client or HttpxClient(agent_type="referee")
        self._sleep = sleep
        self._ids = 0
        self.identity: Identity | None = None
        self.inbox: Inbox | None = None
        """The inbox of this referee; None if the league has no inboxes."""
        self.identified: Callable[[], None] = lambda: None
        """Called when it has got an identity."""
        self.accepted_at = time.monotonic()
        """When the last accepted heartbeat was sent, or the registration was answered; monotonic seconds."""

    def token(self) -> str:
        """The auth_token of this referee; empty before it has registered."""
        return self.identity.auth_token if self.identity is not None else ""

    async def register(self) -> Identity:
        """Register; try again until the league manager answers.

        Raises:
            Refused: the league manager rejects this referee.
        """
        wait_s, meta = MIN_BACKOFF_S, {"referee_meta": self._meta}
        answer: dict[str, Any] | None = None
        while answer is None:
            try:
                answer = await self._call(MessageType.REFEREE_REGISTER_REQUEST, meta)
            except CallFailed as error:
                logger.info("the league manager does not answer yet: %s", error)
                await self._sleep(wait_s)
                wait_s = min(wait_s * 2, MAX_BACKOFF_S)
        if answer.get("status") != "ACCEPTED":
            raise Refused("REJECTED", str(answer.get("reason")))
        self.identity = Identity(answer["referee_id"], answer["auth_token"], answer.get("league_token", ""))
        self.inbox = inbox_of(answer, self.url, "referee")
        self.accepted_at = time.monotonic()
        self.identified()
        return self.identity

    async def progress(self, matches: list[dict[str, Any]], *, leaving: bool = False) -> list[Any]:
        """Send one report_progress; an accepted one is a heartbeat.

        Args:
            matches: one item for each match that is reported.
            leaving: no new match is taken.

        Raises:
            CallFailed: no answer.
            Refused: an error came.
        """
        # The lease runs from the moment when the league manager took the call, which is before its answer arrives.
        sent_at = time.monotonic()
        fields: dict[str, Any] = {"matches": matches} | ({"leaving": True} if leaving else {})
        try:
            answer = await self._call(REPORT_PROGRESS, fields)
        except (CallFailed, Refused):
            metrics.HEARTBEATS_FAILED.add()
            raise
        self.accepted_at = sent_at
        answers = answer.get("matches")
        return answers if isinstance(answers, list) else []

    async def report(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Send MATCH_RESULT_REPORT until it is answered (ruling, section 4).

        Raises:
            Refused: the league manager does not take it.
        """
        conversation = f"conv-report-{uuid.uuid4().hex[:8]}"
        wait_s, failures = MIN_BACKOFF_S, 0
        while True:
            try:
                answer = await self._call(MessageType.MATCH_RESULT_REPORT, dict(fields), conversation)
            except CallFailed as error:
                logger.warning("a result report is not answered: %s", error)
            except Refused as error:
                failures += 1
                if error.error_code != "E009" or failures >= MAX_REPORT_FAILURES:
                    raise
                logger.warning("a result report has to be repeated: %s", error)
            else:
                event = {"event_type": "RESULT_REPORTED", "message_type": "MATCH_RESULT_REPORT"}
                logger.info("the result is reported", extra=event | {"conversation_id": conversation})
                return answer
            metrics.REPORTS_REPEATED.add()
            await self._sleep(wait_s)
            wait_s = min(wait_s * 2, MAX_BACKOFF_S)

    async def forward(self, message_type: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Forward a player's callback to the league manager, because another referee plays its match.

        Returns the league manager's answer.

        Raises:
            LeagueError: the league manager's error, or E009 if it cannot be reached.
        """
        try:
            return await self._post(message_type, message)
        except CallFailed as error:
            raise InternalError(f"The answer could not be passed on: {error}.") from None
        except Refused as error:
            raise error_of(error.data, fallback=error.message) from None

    async def _call(self, name: str, fields: dict[str, Any], conversation_id: str = "") -> dict[str, Any]:
        who = self.identity if name != MessageType.REFEREE_REGISTER_REQUEST else None
        message = envelope(
            name,
            sender=f"referee:{self.identity.referee_id if self.identity else self._meta['display_name']}",
            conversation_id=conversation_id or f"conv-{uuid.uuid4().hex[:12]}",
            now=datetime.now(UTC),
            auth_token=who.auth_token if who else None,
            **fields,
        )
        method = METHODS[MessageType(name)] if name in set(MessageType) else name
        # The token is in a header as well: by it the site knows a referee before reading the body, and serves it first.
        headers = {"Authorization": f"Bearer {who.auth_token}"} if who else None
        return await self._post(method, message, headers)

    async def _post(
        self, method: str, message: Mapping[str, Any], headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        self._ids += 1
        content = rpc.call(method, message, self._ids)
        reply = await self._client.post(self.url, content, limit_s=CALL_TIMEOUT_S, headers=headers)
        body = reply.body if isinstance(reply.body, dict) else {}
        error, result = body.get("error"), body.get("result")
        if isinstance(error, dict):
            data = error.get("data")
            code = data.get("error_code", "") if isinstance(data, dict) else ""
            raise Refused(code, str(error.get("message", "The league manager refused it.")), data)
        if not isinstance(result, dict):
            raise CallFailed(f"the league manager answered HTTP {reply.status} without a result", connected=True)
        return result

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()
