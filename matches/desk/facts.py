"""READS: the rows of a league that its desk shows; each query is made once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from django.db.models import F, Q
from django.utils.translation import gettext as _

from agents_registry.addresses import programs
from agents_registry.addresses.shared import Shared, shared
from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState, RoundState
from matches.league import absence, outbox
from matches.models import Event, League, Match, Round
from matches.view import queries
from matches.view.readiness import UNABLE, Readiness, readiness
from matches.view.roles import Permission

OVER = (LeagueState.COMPLETED, LeagueState.STOPPED)


def agents(league: League) -> list[Agent]:
    """The players of a league, and the referees that could judge its matches."""
    rows = Agent.objects.filter(Q(league=league) | Q(league__isnull=True, kind=Kind.REFEREE))
    return list(rows.order_by("kind", "pk"))


@dataclass
class Facts:
    """The rows of a league.

    Attributes:
        league: the league.
        allowed: the permissions of the person who looks at the desk.
        agents: its players, and the referees that could judge its matches.
        rounds: all rounds; none while registration is open.
        matches: open matches of rounds that have begun.
        available_referees: referees that may be given a match now.
        readiness: whether each player has passed the check, by primary key.
    """

    league: League
    allowed: Collection[Permission]
    agents: list[Agent] = field(init=False)
    rounds: list[Round] = field(init=False)
    matches: list[Match] = field(init=False)
    available_referees: list[Agent] = field(init=False)
    readiness: dict[int, Readiness] = field(init=False)

    def __post_init__(self) -> None:
        self.agents = agents(self.league)
        has_schedule = self.league.state != LeagueState.REGISTRATION
        self.rounds = list(self.league.rounds.order_by("number")) if has_schedule else []
        unfinished = [MatchState.READY, MatchState.HELD, *IN_PLAY]
        # Matches of rounds to come are not read: a league of 600 players has 179,700 matches.
        begun = [round_ for round_ in self.rounds if round_.state != RoundState.PENDING]
        self.matches = list(queries.matches_in(begun).filter(state__in=unfinished))
        self.available_referees = outbox.referees_of(self.league)
        self.readiness = readiness(self.players)

    @cached_property
    def players(self) -> list[Agent]:
        """All players."""
        return [agent for agent in self.agents if agent.kind == Kind.PLAYER]

    @cached_property
    def participants(self) -> list[Agent]:
        """The players that take part in rounds: not left out, not withdrawn or disqualified, not shut down."""
        not_playing = {*self.league.left_out, *self.league.out}
        return [
            player for player in self.players if player.code not in not_playing and player.state != AgentState.SHUTDOWN
        ]

    @cached_property
    def silent(self) -> list[Agent]:
        """The participating players that did not answer when they were last called, and are not being asked again."""
        return [agent for agent in self.participants if agent.problem and not agent.ping_wanted]

    @cached_property
    def gateways(self) -> frozenset[str]:
        """The hosts that are marked as gateways."""
        return programs.gateways()

    @cached_property
    def shared(self) -> list[Shared]:
        """Groups of participating players that count as one program."""
        return shared(self.participants, self.gateways)

    @cached_property
    def between_siblings(self) -> list[Match]:
        """The matches of rounds that have begun in which one person's agents meet; none for who may not see owners."""
        owners = Counter(player.owner_id for player in self.players if player.owner_id is not None)
        several = [owner for owner, count in owners.items() if count > 1]
        if not several or Permission.EDIT not in self.allowed:
            return []
        begun = [round_ for round_ in self.rounds if round_.state != RoundState.PENDING]
        theirs = queries.matches_in(begun).filter(player_a__owner__in=several, player_b__owner=F("player_a__owner"))
        return list(theirs)

    @cached_property
    def waiting_for_check(self) -> list[str]:
        """Players that closing registration would leave out (``require_check``), with the results of their checks."""
        if self.league.state != LeagueState.REGISTRATION or not self.league.rules.require_check:
            return []
        checks = [(player.code, self.readiness[player.pk]) for player in self.players]
        return [f"{code} ({check.label})" for code, check in checks if not check.passed]

    @cached_property
    def failing(self) -> list[str]:
        """Participating players that would lose by the verdict of their check, with it; none that does not answer."""
        checks = [(one.code, self.readiness[one.pk]) for one in self.participants if not one.problem]
        return [f"{code} ({check.label})" for code, check in checks if check.word in UNABLE]

    @cached_property
    def unplayed(self) -> int:
        """Matches that are not finished, of all rounds."""
        return Match.objects.filter(round__league=self.league).exclude(state=MatchState.FINISHED).count()

    @property
    def over(self) -> bool:
        """Whether the league is completed or stopped."""
        return self.league.state in OVER

    @cached_property
    def active(self) -> Round | None:
        """The round that is announced or played now."""
        active = (RoundState.ANNOUNCING, RoundState.RUNNING)
        return next((round_ for round_ in self.rounds if round_.state in active), None)

    @cached_property
    def own_pause(self) -> Event | None:
        """Why the league has paused itself, if it has (``matches.league.absence``)."""
        return absence.own_pause(self.league)

    @cached_property
    def coming(self) -> Round | None:
        """The round that starts next."""
        return next((round_ for round_ in self.rounds if round_.state == RoundState.PENDING), None)


def start_warnings(facts: Facts) -> list[str]:
    """Warnings that name the players that would lose or be left out if the round started now."""
    warnings = []
    if facts.silent:
        named = ", ".join(f"{agent.code} {isolated(agent.display_name)}" for agent in facts.silent)
        counted = {"silent": len(facts.silent), "total": len(facts.participants), "names": named}
        warnings.append(_("%(silent)d of %(total)d would not answer: %(names)s.") % counted)
    return warnings + closing_warnings(facts)


def closing_warnings(facts: Facts) -> list[str]:
    """Warnings that name the players that would be left out if registration closed now: they cannot come in later."""
    if not facts.waiting_for_check:
        return []
    return [_("Left out, as their check has not passed: %(names)s.") % {"names": ", ".join(facts.waiting_for_check)}]
