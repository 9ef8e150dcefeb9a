"""READS: whose agents someone may look into who has no account: by an agent's token, or by a personal code.

What was shown once is kept in the browser's session (on our side; the browser has the session's name only), as the
digest of the token or of the code: when the token is revoked, or the person is given another code, the door is shut.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, MutableMapping
from typing import Any

from agents_registry import registration, roster
from agents_registry.models import Agent, AgentToken, Kind, RosterEntry
from league_sdk.protocol import tokens
from matches.models import League

KEY = "mine"
"""In the session: by league, what was shown."""
MOST_LEAGUES = 5
MAX_SECRET_CHARS = 200
MOST_FAILURES = 20
"""Of one wrong value from one address, within a minute."""
WITHIN_S = 60.0
MOST_REMEMBERED = 10_000

Shown = list[str]
"""``["token", digest]``, or ``["code", primary key of the person, digest]``."""


def recognise(league: League, secret: str) -> Shown | None:
    """Whose token or personal code this is in a league, as the session keeps it; None for nobody's.

    Tokens are found by their SHA-256 and codes by the database: nothing here compares letter by letter.
    """
    secret = secret.strip()
    if not secret or len(secret) > MAX_SECRET_CHARS:
        return None
    agent = registration.find_agent(secret)
    if agent is not None and agent.league_id == league.pk and agent.kind == Kind.PLAYER:
        return ["token", tokens.digest(secret)]
    person = roster.find_owner(league.pk, [secret])
    return None if person is None else ["code", str(person.pk), tokens.digest(person.code)]


def agents_of(league: League, shown: object) -> list[Agent] | None:
    """The players of a league that belong to what was shown, in the order of their ids; None when it is void."""
    match shown:
        case ["token", str(sha256)]:
            found = AgentToken.objects.filter(sha256=sha256, agent__league=league, agent__kind=Kind.PLAYER)
            agents = [one.agent for one in found.select_related("agent")]
            return agents or None
        case ["code", str(pk), str(sha256)]:
            person = RosterEntry.objects.filter(pk=pk, league=league).first()
            if person is None or not tokens.same(tokens.digest(person.code), sha256):
                return None
            return list(person.agents.filter(league=league, kind=Kind.PLAYER).order_by("code", "pk"))
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


class Failures:
    """Wrong values of the last minute, by address and value: who sends one again and again is asked to wait.

    By both, as a school has one address: nobody is kept out by what somebody else types. What keeps guessers out
    is that tokens have 128 random bits and codes of ours 49. In memory: every web process counts for itself.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def too_many(self, address: str, secret: str) -> bool:
        """Whether this value has been wrong too often from there."""
        with self._lock:
            seen = self._seen.get(_pair(address, secret), deque())
            return len(seen) >= MOST_FAILURES and self._clock() - seen[0] < WITHIN_S

    def add(self, address: str, secret: str) -> None:
        """It was wrong once more."""
        with self._lock:
            key = _pair(address, secret)
            self._seen.setdefault(key, deque(maxlen=MOST_FAILURES)).append(self._clock())
            self._seen.move_to_end(key)
            while len(self._seen) > MOST_REMEMBERED:
                self._seen.popitem(last=False)


def _pair(address: str, secret: str) -> tuple[str, str]:
    return address, tokens.digest(secret.strip())


failures = Failures()
