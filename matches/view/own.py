"""READS: which agents somebody without an account may look into, proven by an agent's token or a personal code.

The session, which is stored on the server, remembers the digest of the token or code that was entered. Access ends when
the token is revoked or the person gets another code.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from agents_registry.models import Agent, AgentToken, Kind, RosterEntry
from agents_registry.registering import credentials
from agents_registry.rosters import roster
from league_sdk.protocol import tokens
from matches.models import League

KEY = "mine"
"""The key in the session; its value has, by league id, the credential that was entered."""
MAX_LEAGUES_PER_SESSION = 5
MAX_SECRET_CHARS = 200

Credential = list[str]
"""``["token", digest]``, or ``["code", primary key of the person, digest]``."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The agents that a token or code gives access to.

    Attributes:
        agents: the players, in the order of their ids.
        proven: whether it is proven that they are the visitor's. A token alone does not prove that if the agent was
            registered from another machine: its address may be that of a school service or of another student's agent.
    """

    agents: list[Agent]
    proven: bool = True


def recognise(league: League, secret: str) -> Credential | None:
    """Recognise a token or personal code of a league; returns what the session stores, or None.

    Tokens are looked up by SHA-256 and codes by the database, so no comparison here leaks timing.
    """
    secret = secret.strip()
    if not secret or len(secret) > MAX_SECRET_CHARS:
        return None
    agent = credentials.find_agent(secret)
    if agent is not None and agent.league_id == league.pk and agent.kind == Kind.PLAYER:
        return ["token", tokens.digest(secret)]
    person = roster.find_owner(league.pk, [secret])
    return None if person is None else ["code", str(person.pk), tokens.digest(person.code)]


def opened(league: League, credential: object) -> Opened | None:
    """The players that a remembered credential gives access to; None when it is not valid any more."""
    match credential:
        case ["token", str(sha256)]:
            tokens_found = AgentToken.objects.filter(sha256=sha256, agent__league=league, agent__kind=Kind.PLAYER)
            rows = list(tokens_found.select_related("agent"))
            return Opened([row.agent for row in rows], all(row.proven for row in rows)) if rows else None
        case ["code", str(pk), str(sha256)]:
            person = RosterEntry.objects.filter(pk=pk, league=league).first()
            if person is None or not tokens.same(tokens.digest(person.code), sha256):
                return None
            return Opened(list(person.agents.filter(league=league, kind=Kind.PLAYER).order_by("code", "pk")))
    return None


def remember(session: MutableMapping[str, Any], league: League, credential: Credential) -> None:
    """Remember in this browser's session that a credential of the league was entered."""
    others = {name: value for name, value in _credentials(session).items() if name != league.pk}
    session[KEY] = dict([*others.items(), (league.pk, credential)][-MAX_LEAGUES_PER_SESSION:])


def forget(session: MutableMapping[str, Any], league: League) -> None:
    """Remove the league's credential from the session."""
    session[KEY] = {name: value for name, value in _credentials(session).items() if name != league.pk}


def remembered_credential(session: MutableMapping[str, Any], league: League) -> object:
    """The credential that this browser entered for a league, or None."""
    return _credentials(session).get(league.pk)


def _credentials(session: MutableMapping[str, Any]) -> dict[str, Any]:
    stored = session.get(KEY)
    return stored if isinstance(stored, dict) else {}
