"""Tokens that were good when they were last used: they decide which queue a request waits in."""

from __future__ import annotations

from dataclasses import dataclass

from agents_registry.models import Agent, Kind
from league_sdk.protocol import tokens
from matches.view.recent import Recent

MAX_KNOWN_TOKENS = 20_000
"""Above this limit the token that was learned the longest ago is forgotten."""


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

    Attributes:
        bearers: the owners.
    """

    def __init__(self) -> None:
        self.bearers: Recent[str, Bearer] = Recent(MAX_KNOWN_TOKENS)

    def learn(self, token: str, agent: Agent) -> None:
        """Note that a token is that agent's."""
        ours = agent.kind == Kind.REFEREE and agent.site_key
        self.bearers[tokens.digest(token)] = Bearer(agent.pk, agent.kind, ours)

    def forget(self, token: str) -> None:
        """Note that a token is nobody's."""
        self.bearers.forget(tokens.digest(token))

    def owner(self, token: str) -> Bearer | None:
        """The agent whose token it was; None for a token that is not known."""
        return self.bearers.get(tokens.digest(token))


known_tokens = KnownTokens()
"""The tokens that this process knows."""
