"""READS about foreign referees: what they judge, and whether they have been told of it."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from agents_registry.models import Agent, Kind
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import LeagueState, RoundState
from matches.models import Broadcast, Delivery, DeliveryState, League, Match, Round


def judged_by(referee: Agent, broadcast: Broadcast) -> Iterable[Match]:
    """The matches of a broadcast's round that a referee is to judge, with their players."""
    return Match.objects.filter(
        league_id=broadcast.league_id, round__number=broadcast.round_number, referee=referee
    ).select_related("round", "league", "player_a", "player_b")


def find_referee(referee_id: str, league_id: str | None) -> Agent | None:
    """A referee by its id: one of the site, or of a league when that is named."""
    return Agent.objects.filter(kind=Kind.REFEREE, code=referee_id, league_id=league_id).first()


def waits_for_players(broadcast_id: int) -> bool:
    """Whether a broadcast announces a round that is not open yet and that players are still to be told of."""
    untold = Delivery.objects.filter(
        broadcast_id=broadcast_id,
        broadcast__message_type=MessageType.ROUND_ANNOUNCEMENT,
        agent__kind=Kind.PLAYER,
        state=DeliveryState.PENDING,
    )
    told = untold.select_related("broadcast").first()
    return (
        told is not None
        and Round.objects.filter(
            league_id=told.broadcast.league_id, number=told.broadcast.round_number, state=RoundState.ANNOUNCING
        ).exists()
    )


def untold_referee(referee: Agent, match: Match) -> bool:
    """Whether the announcement of a match's round is still on its way to a foreign referee."""
    return (
        not referee.sends_progress
        and Delivery.objects.filter(
            agent=referee,
            broadcast__league_id=match.league_id,
            broadcast__message_type=MessageType.ROUND_ANNOUNCEMENT,
            broadcast__round_number=match.round.number,
            state=DeliveryState.PENDING,
        ).exists()
    )


def judged_league(referee: Agent, match_id: object) -> League | None:
    """The league of a match that a foreign referee judges, when it names the match only, and one can be meant."""
    if referee.sends_progress or not isinstance(match_id, str) or "\x00" in match_id:
        return None
    found = League.objects.filter(matches__referee=referee, matches__match_id=match_id)
    return _only(found.filter(state=LeagueState.RUNNING)) or _only(found)


def _only(found: QuerySet[League]) -> League | None:
    leagues = list(found.distinct()[:2])
    return leagues[0] if len(leagues) == 1 else None
