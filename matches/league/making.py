"""Write a long schedule in pieces, so that others can write to the database between them (our choice).

SQLite has one writer. The schedule of 600 players has 180,000 matches; while one transaction writes them no heartbeat
of a referee is stored, and matches of other leagues lose their lease. So the instructor's click writes only the first
round of a schedule with more than :data:`MAX_MATCHES_AT_ONCE` matches, and the conductor writes a piece at each look.

A league in REGISTRATION that has a round is one whose schedule is being made; nothing else marks it. Its first round
says who plays in which seat, so any conductor can continue an unfinished schedule, also after a crash. Until the last
piece is written the league stays in REGISTRATION, takes no players (:func:`is_open`), and shows its rounds to nobody
(``matches.view.queries``, ``lists`` and ``summaries``, ``matches.desk.facts``).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from django.db import transaction
from django.db.models import Exists, Max, OuterRef
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.formats.round_robin import matches_of, planned_round, rounds_of
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused
from matches.league.leagues import move, named
from matches.models import League, Match, Round
from matches.view import sight
from storage.inside import delete_rows
from storage.prepared import Prepared, insert

MAX_MATCHES_AT_ONCE = 10_000
"""How many matches one transaction may write: those of 141 players, in a third of a second on a laptop."""
MATCHES_PER_PIECE = 500
"""A piece ends with the round that reaches this number of matches; it takes about 15 ms to write."""

_HALF_MADE = Prepared(
    lambda: League.objects.filter(Exists(Round.objects.filter(league=OuterRef("pk"))), state=LeagueState.REGISTRATION)
)


def is_being_made(league: League) -> bool:
    """Whether the league's schedule is being made at this moment."""
    return league.state == LeagueState.REGISTRATION and league.rounds.exists()


def is_open(league: League) -> bool:
    """Whether the league takes players."""
    return league.state == LeagueState.REGISTRATION and not league.rounds.exists()


def refuse_while_being_made(league: League) -> None:
    """Refuse an action that needs the whole schedule.

    Raises:
        ActionRefused: the schedule is being made.
    """
    if is_being_made(league):
        raise ActionRefused(_("The schedule of %(league)s is being made: wait a moment.") % named(league))


def terms(league: League) -> dict[str, Any]:
    """The game and the points that the table depends on; recorded in the ledger, so that no change goes unseen."""
    return {"game_type": league.game_type, "scoring": sight.scoring(league)._asdict()}


def record_schedule(league: League, players: Sequence[Agent]) -> None:
    """Record that the schedule is complete: who plays, in how many rounds, for how many points."""
    record(
        league.pk,
        EventKind.SCHEDULE_MADE,
        players=len(players),
        rounds=league.rounds.count(),
        names={player.code: player.display_name for player in players},
        renamed_by_events=True,
        **terms(league),
    )


def write_round(league: League, seats: Sequence[int], number: int) -> None:
    """Write one round with its matches; call inside a transaction.

    Args:
        seats: the players' primary keys, in the order of the schedule.
        number: the number of the round, from 1.
    """
    plan = planned_round(len(seats), number)
    made = Round.objects.create(league=league, number=number, bye_id=seats[plan.bye] if plan.bye is not None else None)
    names = [field.attname for field in Match._meta.concrete_fields if not field.primary_key]
    blank = Match(league=league, round=made)
    defaults = {name: getattr(blank, name) for name in names}
    rows = [
        defaults | {"match_id": pairing.match_id, "player_a_id": seats[pairing.a], "player_b_id": seats[pairing.b]}
        for pairing in plan.pairings
    ]
    insert(Match, names, [list(row.values()) for row in rows])


def write_pieces() -> bool:
    """Write the next piece of each schedule that is being made. The conductor calls this at each look.

    Returns whether there was such a schedule.
    """
    half_made = _HALF_MADE.all()
    for league in half_made:
        write_piece(league_id=league.pk)
    return bool(half_made)


def write_piece(*, league_id: str) -> None:
    """Write the next rounds of a schedule that is being made; after the last round the league is SCHEDULED.

    One transaction. It does nothing when the schedule is complete, or another conductor has just written the same.
    What takes long to read is read before the transaction, so that it holds SQLite's lock for the writing alone.
    """
    league = League.objects.filter(pk=league_id).first()
    if league is None or not is_being_made(league):
        return
    seats, number = _seats(league), league.rounds.count()
    if seats is None or number != league.rounds.aggregate(last=Max("number"))["last"]:
        _start_over(league)
        return
    last, per_round = rounds_of(len(seats)), len(seats) // 2
    if number == last and league.matches.count() != matches_of(len(seats)):
        _start_over(league)
        return
    with transaction.atomic():
        league = League.objects.select_for_update(no_key=True).filter(pk=league_id).first()
        if league is None or not is_being_made(league) or league.rounds.count() != number:
            return
        for following in range(number + 1, min(number + ceil(MATCHES_PER_PIECE / per_round), last) + 1):
            write_round(league, seats, following)
        if number == last:
            move(league, LeagueState.REGISTRATION, LeagueState.SCHEDULED)
            record_schedule(league, list(Agent.objects.filter(pk__in=seats)))
            changed(league_id)


def _start_over(league: League) -> None:
    """Delete the next matches, then the rounds: registration is open again, as rows were deleted by hand."""
    matches = list(league.matches.values_list("pk", flat=True)[:MATCHES_PER_PIECE])
    delete_rows(Match, matches)
    if not matches:
        league.rounds.all().delete()
        changed(league.pk)


def _seats(league: League) -> list[int] | None:
    """The players' primary keys by seat, read from the first round; None if rows of it are missing."""
    first = league.rounds.filter(number=1).first()
    if first is None:
        return None
    players_of = {row[0]: row[1:] for row in first.matches.values_list("match_id", "player_a_id", "player_b_id")}
    count = 2 * len(players_of) + (first.bye_id is not None)
    plan = planned_round(count, 1) if count >= 2 else None
    if plan is None or set(players_of) != {pairing.match_id for pairing in plan.pairings}:
        return None
    seats = {
        seat: pk
        for pairing in plan.pairings
        for seat, pk in zip((pairing.a, pairing.b), players_of[pairing.match_id], strict=True)
    }
    if plan.bye is not None and first.bye_id is not None:
        seats[plan.bye] = first.bye_id
    return [seats[seat] for seat in range(count)]
