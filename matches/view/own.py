"""READS: whose agents someone may look into who has no account: by an agent's token, or by a personal code.

What was shown once is kept in the browser's session (on our side; the browser has the session's name only), as the
digest of the token or of the code: when the token is revoked, or the person is given another code, the door is shut.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from agents_registry import credentials, roster
from agents_registry.models import Agent, AgentToken, Kind, RosterEntry
from league_sdk.protocol import tokens
from matches.models import League

KEY = "mine"
"""In the session: by league, what was shown."""
MOST_LEAGUES = 5
MAX_SECRET_CHARS = 200

Shown = list[str]
"""``["token", digest]``, or ``["code", primary key of the person, digest]``."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What was opened by a token or a code.

    Attributes:
        agents: the players, in the order of their ids.
        proven: whether somebody has shown that they are theirs. The token of a registration from elsewhere shows that
            an address was named, not whose it is: it may be a service of the school, or another student's agent.
    """

    agents: list[Agent]
    proven: bool = True


def recognise(league: League, secret: str) -> Shown | None:
    """Whose token or personal code this is in a league, as the session keeps it; None for nobody's.

    Tokens are found by their SHA-256 and codes by the database: nothing here compares letter by letter.
    """
    secret = secret.strip()
    if not secret or len(secret) > MAX_SECRET_CHARS:
        return None
    agent = credentials.find_agent(secret)
    if agent is not None and agent.league_id == league.pk and agent.kind == Kind.PLAYER:
        return ["token", tokens.digest(secret)]
    person = roster.find_owner(league.pk, [secret])
    return None if person is None else ["code", str(person.pk), tokens.digest(person.code)]


def opened(league: League, shown: object) -> Opened | None:
    """The players of a league that belong to what was shown; None when it is void."""
    match shown:
        case ["token", str(sha256)]:
            found = AgentToken.objects.filter(sha256=sha256, agent__league=league, agent__kind=Kind.PLAYER)
            rows = list(found.select_related("agent"))
            return Opened([one.agent for one in rows], all(one.proven for one in rows)) if rows else None
        case ["code", str(pk), str(sha256)]:
            person = RosterEntry.objects.filter(pk=pk, league=league).first()
            if person is None or not tokens.same(tokens.digest(person.code), sha256):
                return None
            return Opened(list(person.agents.filter(league=league, kind=Kind.PLAYER).order_by("code", "pk")))
    return None


def remember(session: MutableMapping[str, Any], league: League, shown: Shown) -> None:
    """Open a league's door for this browser."""
    kept = {name: value for name, value in _kept(session).items() if name != league.pk}
    session[KEY] = dict([*kept.items(), (league.pk, shown)][-MOST_LEAGUES:])


def forget(session: MutableMapping[str, Any], league: League) -> None:
    """Shut it."""
    session[KEY] = {name: value for name, value in _kept(session).items() if name != league.pk}


def shown_by(session: MutableMapping[str, Any], league: League) -> object:
    """What this browser has shown for a league, or None."""
    return _kept(session).get(league.pk)


def _kept(session: MutableMapping[str, Any]) -> dict[str, Any]:
    kept = session.get(KEY)
    return kept if isinstance(kept, dict) else {}
