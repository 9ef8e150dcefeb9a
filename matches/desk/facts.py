"""READS: the rows that a league's desk is made of, each kind read once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from django.db.models import Q
from django.utils.translation import gettext as _

from agents_registry import programs
from agents_registry.models import Agent, Kind
from agents_registry.shared import Shared, shared
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState, RoundState
from matches.league import outbox
from matches.models import League, Match, Round
from matches.view import queries, readiness
from matches.view.roles import Action

OVER = (LeagueState.COMPLETED, LeagueState.STOPPED)


def agents(league: League) -> list[Agent]:
    """The players of a league and the referees that could judge it."""
    found = Agent.objects.filter(Q(league=league) | Q(league__isnull=True, kind=Kind.REFEREE))
    return list(found.order_by("kind", "pk"))


@dataclass
class Facts:
    """A league as its rows stand.

    Attributes:
        allowed: what the person who looks may do.
        around: its players and the referees that could judge it.
        matches: those of the current round that are not finished.
        able: the referees that may be given a match now.
        known: of each player, by primary key, whether it has passed the check.
    """

    league: League
    allowed: Collection[Action]
    around: list[Agent] = field(init=False)
    rounds: list[Round] = field(init=False)
    matches: list[Match] = field(init=False)
    able: list[Agent] = field(init=False)
    known: dict[int, readiness.Readiness] = field(init=False)

    def __post_init__(self) -> None:
        self.around = agents(self.league)
        shown = self.league.state != LeagueState.REGISTRATION
        self.rounds = list(self.league.rounds.order_by("number")) if shown else []
        unfinished = [MatchState.READY, MatchState.HELD, *IN_PLAY]
        # A league of 600 has 179,700 matches, most of them to come.
        begun = [one for one in self.rounds if one.state != RoundState.PENDING]
        self.matches = list(queries.matches_in(begun).filter(state__in=unfinished))
        self.able = outbox.referees_of(self.league)
        self.known = readiness.readiness(self.players)

    @cached_property
    def players(self) -> list[Agent]:
        """All players."""
        return [agent for agent in self.around if agent.kind == Kind.PLAYER]

    @cached_property
    def called(self) -> list[Agent]:
        """The players that a round would call: neither left out nor taken out nor shut down."""
        gone = {*self.league.left_out, *self.league.out}
        return [one for one in self.players if one.code not in gone and one.state != AgentState.SHUTDOWN]

    @cached_property
    def silent(self) -> list[Agent]:
        """Those of them that did not answer when they were last called."""
        return [agent for agent in self.called if agent.problem and not agent.check_wanted]

    @cached_property
    def gateways(self) -> frozenset[str]:
        """The hosts that are marked as gateways."""
        return programs.gateways()

    @cached_property
    def shared(self) -> list[Shared]:
        """Which of the players that a round would call count as one program."""
        return shared(self.called, self.gateways)

    @cached_property
    def waiting_for_check(self) -> list[str]:
        """Who would be left out by closing registration now (``require_check``), each with its word."""
        if self.league.state != LeagueState.REGISTRATION or not self.league.rules.require_check:
            return []
        return [f"{one.code} ({self.known[one.pk].label})" for one in self.players if not self.known[one.pk].passed]

    @property
    def over(self) -> bool:
        """Whether nothing is played any more."""
        return self.league.state in OVER

    @cached_property
    def active(self) -> Round | None:
        """The round that is being announced or played."""
        return next((one for one in self.rounds if one.state in (RoundState.ANNOUNCING, RoundState.RUNNING)), None)

    @cached_property
    def coming(self) -> Round | None:
        """The round that would be started next."""
        return next((one for one in self.rounds if one.state == RoundState.PENDING), None)


def losses(facts: Facts) -> list[str]:
    """Who would be lost by starting now, by name."""
    found = []
    if facts.silent:
        named = ", ".join(f"{agent.code} {agent.display_name}" for agent in facts.silent)
        counted = {"silent": len(facts.silent), "total": len(facts.called), "names": named}
        found.append(_("%(silent)d of %(total)d would not answer: %(names)s.") % counted)
    if facts.waiting_for_check:
        named = ", ".join(facts.waiting_for_check)
        found.append(_("Left out, as their check has not passed: %(names)s.") % {"names": named})
    return found
