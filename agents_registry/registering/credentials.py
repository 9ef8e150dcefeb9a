"""Tokens: whose an auth_token is, and which tokens our own messages carry (ruling, sections 8 and 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.conf import settings
from django.db.models import F

from agents_registry.models import Agent, AgentToken
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import TokenInvalid
from storage.prepared import Prepared

_OWNER = Prepared(lambda *, sha256: Agent.objects.filter(tokens__sha256=sha256), sha256=str)


def find_agent(token: str) -> Agent | None:
    """The agent with this auth_token, or None. A league_token belongs to no agent."""
    return _OWNER.one(sha256=tokens.digest(token))


def find_token(token: str) -> AgentToken | None:
    """The row of this auth_token, with its agent and league."""
    rows = AgentToken.objects.filter(sha256=tokens.digest(token))
    return rows.select_related("agent", "agent__league").first()


def authenticate(token: str) -> Agent:
    """The agent with this auth_token; a league_token is refused, too.

    Raises:
        TokenInvalid: E012.
    """
    agent = find_agent(token)
    if agent is None:
        raise TokenInvalid(
            "The auth_token is not valid.", field="auth_token", expected="the auth_token of your registration"
        )
    return agent


def league_token(agent: Agent) -> str:
    """The token our messages to this agent carry (ruling, section 9)."""
    return tokens.league_token(settings.SECRET_KEY, str(agent.pk), agent.token_epoch)


def token_from(referee: Agent, player: Agent) -> str:
    """The token that a referee's messages to a player carry: from a referee of the site, the player's league_token.

    Any other referee, even a trusted one, gets a token for itself only: with the league_token it could answer in the
    player's name in matches that it does not judge.
    """
    if referee.site_key:
        return league_token(player)
    return tokens.league_token(settings.SECRET_KEY, f"{player.pk} at referee {referee.pk}", player.token_epoch)


def token_digests(agent_ids: Iterable[int]) -> dict[int, dict[str, bool]]:
    """For each agent, the hashes of its valid tokens and whether each is proven: a referee checks answers with them."""
    digests: dict[int, dict[str, bool]] = {}
    rows = AgentToken.objects.filter(agent_id__in=agent_ids).values_list("agent_id", "sha256", "proven")
    for agent_id, sha256, proven in rows:
        digests.setdefault(agent_id, {})[sha256] = proven
    return digests


def valid_digests(digests: Collection[str]) -> set[str]:
    """Which of these SHA-256 are those of valid auth_tokens."""
    return set(AgentToken.objects.filter(sha256__in=digests).values_list("sha256", flat=True))


def prove(*, agent_id: int, sha256: str) -> None:
    """Mark a token as proven: a referee of the site saw the agent's own address answer with it."""
    AgentToken.objects.filter(agent_id=agent_id, sha256=sha256, proven=False).update(proven=True)


def revoke_tokens(*, agent_ids: Collection[int]) -> None:
    """Void every token of these agents, and the league_tokens that they had; they must register again."""
    AgentToken.objects.filter(agent_id__in=agent_ids).delete()
    Agent.objects.filter(pk__in=agent_ids).update(token_epoch=F("token_epoch") + 1)
