"""WRITES: what was found out about an agent's dialect and where its server listens (ruling, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from agents_registry.models import Agent
from agents_registry.requests.reading import MAX_NOTES
from league_sdk.dialects.memory import read_learned
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS
from league_sdk.protocol.notes import Code, note


def learn_dialect(
    *, agent_id: int, spoken: Mapping[str, str], learned: Mapping[str, Any] | None = None, registration: str = ""
) -> None:
    """Store how an agent speaks (checked by the caller).

    What is known of other message types stays; of the names of its tools, as much as one start_match may carry.

    Args:
        spoken: by message type, the shape that it understood.
        learned: what :meth:`league_sdk.dialects.memory.Memory.shared` gives; None if nothing is known of it.
        registration: ``Agent.registration`` of the agent that was called; if it has registered again since, nothing is
            stored. Empty for the present registration.
    """
    agent = Agent.objects.filter(pk=agent_id).only("spoken", "learned", "registrations").first()
    if agent is None or registration not in ("", agent.registration):
        return
    more = dict(learned or {})
    if "own" in more:
        # Each start_match carries all of it, and a referee refuses too much: read_learned() keeps to that size.
        more["own"] = read_learned({"own": agent.learned.get("own", {}) | more["own"]}).get("own", {})
    changed = {"spoken": {**agent.spoken, **spoken}, "learned": {**agent.learned, **more}}
    if changed != {"spoken": agent.spoken, "learned": agent.learned}:
        # Another registration may have come in between.
        Agent.objects.filter(pk=agent_id, registrations=agent.registrations).update(**changed)


def add_notes(*, agent_id: int, notes: Sequence[str], registration: str = "") -> None:
    """Append notes about an agent, for its owner and the staff; each once, and the newest are kept.

    Args:
        registration: ``Agent.registration`` that they are about; if the agent has registered again since, nothing is
            stored. Empty for the present registration.
    """
    agent = Agent.objects.filter(pk=agent_id).only("notes", "registrations").first() if notes else None
    if agent is None or registration not in ("", agent.registration):
        return
    all_notes = list(dict.fromkeys([*agent.notes, *notes]))[-MAX_NOTES:]
    Agent.objects.filter(pk=agent_id, registrations=agent.registrations).update(notes=all_notes)


def learn_path(*, agent_id: int, path: str) -> None:
    """Call an agent from now on at another path (checked by the caller), and tell the owner by a note.

    It is still known by the address that it registered: ``endpoint_key`` does not change.
    """
    agent = Agent.objects.filter(pk=agent_id).first()
    if agent is None:
        return
    endpoint = urlunsplit(urlsplit(agent.endpoint)._replace(path=path, fragment=""))
    if endpoint != agent.endpoint and len(endpoint) <= MAX_ENDPOINT_CHARS:
        found = note(Code.FOUND_ELSEWHERE, address=agent.endpoint, found=endpoint)
        Agent.objects.filter(pk=agent_id, endpoint=agent.endpoint).update(
            endpoint=endpoint, notes=[*agent.notes, str(found)][-MAX_NOTES:]
        )
