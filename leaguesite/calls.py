"""One request of an agent on its way from the wire to its handler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from agents_registry.models import Agent
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from leaguesite.refusals import new_conversation_id
from matches.models import League


@dataclass(slots=True)
class Call:
    """One request on its way through the ladder.

    Attributes:
        name: what it asks for: a message type, a tool, or ``report_progress``.
        params: the message.
        caller: the IP address it came from.
        address_league: the league whose own address it came to, if any.
        agent: who asks, once the token has shown it.
        league: the league meant, once known.
    """

    name: str
    params: dict[str, Any]
    caller: str
    address_league: str | None
    agent: Agent | None = None
    league: League | None = None

    @property
    def conversation_id(self) -> str:
        """Theirs when it is usable, else a new one."""
        given = self.params.get("conversation_id")
        return given if isinstance(given, str) and 0 < len(given) <= 200 else new_conversation_id()

    def message(self, message_type: str, **fields: Any) -> dict[str, Any]:
        """A reply in our envelope, in the sender's conversation."""
        return envelope(
            message_type,
            sender=LEAGUE_MANAGER,
            conversation_id=self.conversation_id,
            now=timezone.now(),
            **fields,
        )
