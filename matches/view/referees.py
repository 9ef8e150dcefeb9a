"""READS about students' referees: which matches they judge, and whether the announcements have reached them.

A referee that does not call ``report_progress`` (``Agent.sends_progress``) counts as a student's here.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from agents_registry.models import Agent, Kind
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import LeagueState, RoundState
from matches.models import Broadcast, Delivery, DeliveryState, League, Match, Round


def judged_by(referee: Agent, broadcast: Broadcast) -> Iterable[Match]:
    """The matches of a broadcast's round that a referee is to judge, with their players."""
    if broadcast.round_number is None:
        return ()
    return Match.objects.filter(
        league_id=broadcast.league_id, round__number=broadcast.round_number, referee=referee
    ).select_related("round", "league", "player_a", "player_b")


def find_referee(referee_id: str, league_id: str | None) -> Agent | None:
    """A referee by its id; None if there is none, or if it judges not in the league that is named but in another one.

    One of an imported league, which never registered here, may have the id of one that did.
    """
    referees = Agent.objects.filter(kind=Kind.REFEREE, code=referee_id)
    if league_id is not None:
        referees = referees.filter(league_id=league_id)
    return referees.order_by("-registrations").first()


def waits_for_players(broadcast_id: int) -> bool:
    """Whether this broadcast announces a round that is not running yet, and still waits for delivery to a player."""
    untold = Delivery.objects.filter(
        broadcast_id=broadcast_id,
        broadcast__message_type=MessageType.ROUND_ANNOUNCEMENT,
        agent__kind=Kind.PLAYER,
        state=DeliveryState.PENDING,
    )
    first = untold.select_related("broadcast").first()
    if first is None or first.broadcast.round_number is None:
        return False
    return Round.objects.filter(
        league_id=first.broadcast.league_id, number=first.broadcast.round_number, state=RoundState.ANNOUNCING
    ).exists()


def untold_referee(referee: Agent, match: Match) -> bool:
    """Whether the announcement of the match's round still waits for delivery to a student's referee."""
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
    """The league of a match that a student's referee named by match id alone; None if it is unknown or ambiguous."""
    if referee.sends_progress or not isinstance(match_id, str) or "\x00" in match_id:
        return None
    leagues = League.objects.filter(matches__referee=referee, matches__match_id=match_id)
    return _only(leagues.filter(state=LeagueState.RUNNING)) or _only(leagues)


def _only(leagues: QuerySet[League]) -> League | None:
    first_two = list(leagues.distinct()[:2])
    return first_two[0] if len(first_two) == 1 else None
