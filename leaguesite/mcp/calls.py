"""One request of an agent on its way from the wire to its handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from agents_registry.callers import Caller
from agents_registry.models import Agent
from league_sdk.dialects.inbound import Inbound
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from leaguesite.serving.refusals import new_conversation_id
from matches.models import League


@dataclass(frozen=True, slots=True)
class Came:
    """Where a request came from, and to which of our addresses.

    Attributes:
        caller: from whom.
        league_id: the league whose own address it came to, if any.
        code: the registration code in the address (``?code=…``).
        register: it came to ``/register``.
        authorization: its ``Authorization`` header.
    """

    caller: Caller
    league_id: str | None = None
    code: str = ""
    register: bool = False
    authorization: str = ""

    @property
    def bearer(self) -> str:
        """What its ``Authorization: Bearer`` header held."""
        scheme, _space, credential = self.authorization.partition(" ")
        return credential.strip() if scheme.lower() == "bearer" else ""


@dataclass(slots=True)
class Call:
    """One request on its way through the ladder.

    Attributes:
        asked: what it asks for, and how it was dressed.
        came: from where.
        agent: who asks, once the token has shown it.
        league: the league meant, once known.
    """

    asked: Inbound
    came: Came
    agent: Agent | None = None
    league: League | None = None

    @property
    def name(self) -> str:
        """What it asks for: a message type, a tool, or ``report_progress``."""
        return self.asked.name

    @property
    def params(self) -> dict[str, Any]:
        """The message."""
        return self.asked.message

    @property
    def address_league(self) -> str | None:
        """The league whose own address it came to, if any."""
        return self.came.league_id

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


@dataclass(frozen=True, slots=True)
class Later:
    """What a handler returns whose answer takes long to make: it is made where no other call waits for it.

    Attributes:
        make: makes the answer; it may raise what a handler may.
    """

    make: Callable[[], dict[str, Any]]


class Json(bytes):
    """A value in an answer that is JSON already: it is put into the body as it is."""

    __slots__ = ()
