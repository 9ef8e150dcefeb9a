"""Tokens that were good when they were last used: they decide which queue a request waits in."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from agents_registry.models import Agent, Kind
from league_sdk.protocol import tokens

MAX_KNOWN_TOKENS = 20_000
"""Above this limit the least recently used token is forgotten."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """The agent whose token it was when it was last looked up.

    Attributes:
        agent: its primary key.
        kind: player or referee.
        ours: whether it is a referee that registered with the site's own key.
    """

    agent: int
    kind: str
    ours: bool


class KnownTokens:
    """The owners of tokens, by the SHA-256 of the token.

    They authenticate nobody: every call is still authenticated by the database. A token is learned when it is given out
    or has been authenticated, and forgotten when the database says that it is nobody's.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bearers: OrderedDict[str, Bearer] = OrderedDict()

    def learn(self, token: str, agent: Agent) -> None:
        """Note that a token is that agent's."""
        bearer = Bearer(agent.pk, agent.kind, agent.kind == Kind.REFEREE and agent.site_key)
        digest = tokens.digest(token)
        with self._lock:
            self._bearers[digest] = bearer
            self._bearers.move_to_end(digest)
            while len(self._bearers) > MAX_KNOWN_TOKENS:
                self._bearers.popitem(last=False)

    def forget(self, token: str) -> None:
        """Note that a token is nobody's."""
        with self._lock:
            self._bearers.pop(tokens.digest(token), None)

    def forget_all(self) -> None:
        """Forget every token, as after a start of the process."""
        with self._lock:
            self._bearers.clear()

    def owner(self, token: str) -> Bearer | None:
        """The agent whose token it was; None for a token that is not known."""
        return self._bearers.get(tokens.digest(token))


known_tokens = KnownTokens()
"""The tokens that this process knows."""
