"""What was found out about how agents speak and where they listen, written down (ruling, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from agents_registry.models import Agent
from agents_registry.requests import MOST_NOTES
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS


def learn_dialect(*, agent_id: int, spoken: Mapping[str, str]) -> None:
    """What an agent was seen to understand is remembered: by message type, the way of speaking.

    Args:
        agent_id: its primary key.
        spoken: checked by the caller; what was known of other message types stays.
    """
    known = Agent.objects.filter(pk=agent_id).values_list("spoken", flat=True).first()
    if known is not None and known != known | spoken:
        Agent.objects.filter(pk=agent_id).update(spoken=known | spoken)


def learn_path(*, agent_id: int, path: str) -> None:
    """An agent's server was found at another path than its address has: it is called there, and the owner is told.

    Who it is stays as it registered: ``endpoint_key`` is not changed.

    Args:
        agent_id: its primary key.
        path: checked by the caller; host and port stay.
    """
    agent = Agent.objects.filter(pk=agent_id).first()
    if agent is None:
        return
    parts = urlsplit(agent.endpoint)
    found = urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
    if found != agent.endpoint and len(found) <= MAX_ENDPOINT_CHARS:
        note = f"address was {agent.endpoint}, found at {found}"
        Agent.objects.filter(pk=agent_id, endpoint=agent.endpoint).update(
            endpoint=found, notes=[*agent.notes, note][-MOST_NOTES:]
        )
