"""The data of the fuzz tests: leagues in several states, and agents whose tokens the inputs may use."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from django.conf import settings

from agents_registry.models import AgentToken
from agents_registry.registering import credentials
from league_sdk.protocol import tokens
from matches.league import series
from tests import factories as make
from tests import rich

LEAGUES = ("fall", "winter", "spring", settings.LEAGUE_DEFAULT_ID)
"""``fall`` is between two rounds, ``winter`` has a round in play, ``spring`` takes registrations with a code, and the
default league takes them without."""
REGISTERED = re.compile(r'(?:player|referee)_id\\*": ?\\*"([A-Z]+[0-9]+)')
"""The id in the answer to a registration, also in JSON inside a text."""


@dataclass(frozen=True)
class World:
    """The leagues, with the agents of ``winter``, where round 1 is in play."""

    winter: make.MadeLeague
    auth_tokens: tuple[str, ...]
    """Those of these agents, and of a referee that may not judge."""
    league_tokens: dict[str, str]
    """The league_token of each agent, by its id."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Every token that may be tried."""
        return *self.auth_tokens, *self.league_tokens.values()

    def tokens_allowed_in(self, answer: str) -> set[str]:
        """The league_token that this answer may contain, if it accepts an agent's registration (ruling, section 9)."""
        accepted = REGISTERED.search(answer) if "ACCEPTED" in answer else None
        return {self.league_tokens[accepted[1]]} if accepted and accepted[1] in self.league_tokens else set()

    @property
    def player(self) -> make.RegisteredAgent:
        """P01 of ``winter``."""
        return self.winter.players[0]

    @property
    def referee(self) -> make.RegisteredAgent:
        """The referee that judges R1M1 of ``winter``."""
        return self.winter.referee_of("R1M1")


@pytest.fixture
def world(db: None) -> World:
    """The leagues and agents, made anew for each test; the changes of each input are rolled back."""
    rich.begun()
    series.put(league_id="fall", series_id="evenings")
    make.open_league(settings.LEAGUE_DEFAULT_ID)
    make.open_league("spring", registration_code="letmein", error_style="result")
    winter = make.running_league("winter", players=4, referees=2)
    stranger = make.referee("Stranger", port=8077, trusted=False)
    members = [*winter.players, *winter.referees, stranger]
    league_tokens = {one.agent.code: credentials.league_token(one.agent) for one in members}
    known = AgentToken.objects.filter(sha256__in=[tokens.digest(one.token) for one in members]).count()
    assert known == len(members)
    return World(winter, tuple(one.token for one in members), league_tokens)
