"""One request of an agent on its way from the wire to its handler."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agents_registry.addresses.callers import Caller
from agents_registry.models import Agent
from league_sdk.dialects.inbound import Inbound
from league_sdk.mcp.context import Context
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope, stamp
from league_sdk.protocol.limits import MAX_ID_CHARS
from leaguesite.serving.refusals import new_conversation_id
from matches.league import leagues
from matches.models import League
from storage import clock


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a request, and the address of ours that it was sent to.

    Attributes:
        caller: who sent it.
        league_id: the league whose own address it came to, if any.
        code: the registration code in the address (``?code=…``).
        register: whether it came to ``/register``.
        authorization: its ``Authorization`` header.
        site: scheme, host and port by which the caller reaches the site.
    """

    caller: Caller
    league_id: str | None = None
    code: str = ""
    register: bool = False
    authorization: str = ""
    site: str = ""

    @property
    def bearer(self) -> str:
        """The credential of its ``Authorization: Bearer`` header."""
        scheme, _space, credential = self.authorization.partition(" ")
        return credential.strip() if scheme.lower() == "bearer" else ""


@dataclass(slots=True)
class Call:
    """One request that could be read.

    Attributes:
        request: what it asks for, and in which shape.
        source: where it comes from.
        agent: who asks, once the token has shown it.
        league: the league meant, once known.
        without_envelope: whether the fields of the envelope may be missing: it is a tool of MCP, which a person or a
            language model calls.
    """

    request: Inbound
    source: Source
    agent: Agent | None = None
    league: League | None = None
    without_envelope: bool = False

    @property
    def name(self) -> str:
        """What it asks for: a message type, a tool, or ``report_progress``."""
        return self.request.name

    @property
    def params(self) -> dict[str, Any]:
        """The message."""
        return self.request.message

    @property
    def league_id(self) -> Any:
        """The league that it names: by its address, else by a value that may be anything."""
        return self.source.league_id or self.params.get("league_id")

    @property
    def conversation_id(self) -> str:
        """The sender's if it is usable, else a new one."""
        own_id = self.params.get("conversation_id")
        return own_id if isinstance(own_id, str) and 0 < len(own_id) <= 200 else new_conversation_id()

    def message(self, message_type: str, **fields: Any) -> dict[str, Any]:
        """A reply in our envelope, in the sender's conversation."""
        return envelope(
            message_type,
            sender=LEAGUE_MANAGER,
            conversation_id=self.conversation_id,
            now=clock.now(),
            **fields,
        )


Deferred = Callable[[], dict[str, Any]]
"""What a handler returns if the answer takes long: a function to call in the thread of queries; it may raise."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a handler returns if the answer has to be waited for.

    Attributes:
        wait: makes the answer on the event loop, where no thread is occupied and there is no database; may raise as
            well. It is cancelled when the caller breaks off. It is given the request of MCP, through which the client
            can be asked; None for a call of league.v2.
    """

    wait: Callable[[Context | None], Coroutine[Any, Any, dict[str, Any]]]


class RawJson(bytes):
    """A value in an answer that is JSON already: it is put into the body as it is."""

    __slots__ = ()


def as_sent(value: Any) -> Any:
    """A row with its times as messages have them."""
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, Mapping):
        return {name: as_sent(one) for name, one in value.items()}
    return [as_sent(one) for one in value] if isinstance(value, list | tuple) else value


def find_league(league_id: Any) -> League | None:
    """The league with this id; None if there is none, or if no id can look like this."""
    return leagues.LEAGUE.one(pk=league_id) if is_id(league_id) else None


def is_id(value: Any) -> bool:
    """Whether a league's id may look like this: PostgreSQL refuses even to look for a NUL."""
    return isinstance(value, str) and len(value) <= MAX_ID_CHARS and "\x00" not in value
