"""States of agents and matches (ruling, section 8), of rounds and leagues (our choice), and the transitions of some."""

from __future__ import annotations

from enum import StrEnum


class AgentState(StrEnum):
    """004 2.8.1."""

    INIT = "INIT"
    REGISTERED = "REGISTERED"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    SHUTDOWN = "SHUTDOWN"


AGENT_ARROWS: dict[AgentState, frozenset[AgentState]] = {
    AgentState.INIT: frozenset({AgentState.REGISTERED, AgentState.SHUTDOWN}),
    AgentState.REGISTERED: frozenset({AgentState.ACTIVE, AgentState.SUSPENDED, AgentState.SHUTDOWN}),
    AgentState.ACTIVE: frozenset({AgentState.SUSPENDED, AgentState.SHUTDOWN}),
    AgentState.SUSPENDED: frozenset({AgentState.ACTIVE, AgentState.SHUTDOWN}),
    AgentState.SHUTDOWN: frozenset({AgentState.REGISTERED}),
}


class LeagueState(StrEnum):
    REGISTRATION = "REGISTRATION"
    SCHEDULED = "SCHEDULED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    STOPPED = "STOPPED"


LEAGUE_ARROWS: dict[LeagueState, frozenset[LeagueState]] = {
    LeagueState.REGISTRATION: frozenset({LeagueState.SCHEDULED, LeagueState.STOPPED}),
    LeagueState.SCHEDULED: frozenset({LeagueState.RUNNING, LeagueState.STOPPED}),
    LeagueState.RUNNING: frozenset({LeagueState.COMPLETED, LeagueState.STOPPED}),
    LeagueState.COMPLETED: frozenset({LeagueState.STOPPED}),
    LeagueState.STOPPED: frozenset(),
}


class RoundState(StrEnum):
    PENDING = "PENDING"
    ANNOUNCING = "ANNOUNCING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"


class MatchState(StrEnum):
    """WAITING_FOR_PLAYERS to FINISHED are from 004 3.3; the states before them and HELD are our choice."""

    PENDING = "PENDING"
    READY = "READY"
    ASSIGNED = "ASSIGNED"
    WAITING_FOR_PLAYERS = "WAITING_FOR_PLAYERS"
    COLLECTING_CHOICES = "COLLECTING_CHOICES"
    DRAWING_NUMBER = "DRAWING_NUMBER"
    FINISHED = "FINISHED"
    HELD = "HELD"


IN_PLAY = (
    MatchState.ASSIGNED,
    MatchState.WAITING_FOR_PLAYERS,
    MatchState.COLLECTING_CHOICES,
    MatchState.DRAWING_NUMBER,
)
"""The states of a match that a referee plays under a lease, in order; its reports move the match forward only."""

OPEN = (MatchState.READY, MatchState.HELD, *IN_PLAY)
"""The states of a match of a round that has begun, without a result."""

HANDED_BACK = "HANDED_BACK"
"""The state that a referee reports for a match that it hands back, for example when it stops (our choice)."""


class ResultStatus(StrEnum):
    """``game_result.status`` (004 4.6.1; CANCELLED is from 000)."""

    WIN = "WIN"
    DRAW = "DRAW"
    TECHNICAL_LOSS = "TECHNICAL_LOSS"
    CANCELLED = "CANCELLED"
