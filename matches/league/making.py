"""A long schedule is written in pieces, between which everybody else writes (our choice).

SQLite has one writer. The schedule of 600 players is 180,000 matches, and while one transaction writes them no sign of
life of a referee is heard: other leagues' matches lose their lease. So one with more than :data:`AT_ONCE` matches is
begun by the click, with its first round, and written on by the conductor, a piece at each look.

An open league that has a round is one whose schedule is being made: there is no other mark. Its first round says who
plays and in which seat, so whoever finds it half made, after a crash or beside another conductor, can go on. Until the
last piece is written the league stays in REGISTRATION: it takes no players (:func:`is_open`), and its rounds are shown
to nobody (``matches.view.queries``, ``matches.view.summaries``, ``matches.desk.facts``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, Max, OuterRef
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState
from matches.formats.round_robin import matches_of, planned_round, rounds_of
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused
from matches.league.moves import move, named
from matches.models import League, Match, Round
from matches.view import sight
from storage.prepared import Prepared, insert

AT_ONCE = 10_000
"""Matches that one transaction may write, in a third of a second on a laptop: 141 players."""
PIECE = 500
"""Matches of a piece, at least one round: some 15 ms."""

_HALF_MADE = Prepared(
    lambda: League.objects.filter(Exists(Round.objects.filter(league=OuterRef("pk"))), state=LeagueState.REGISTRATION)
)


def is_made(league: League) -> bool:
    """Whether the league's schedule is being made at this moment."""
    return league.state == LeagueState.REGISTRATION and league.rounds.exists()


def is_open(league: League) -> bool:
    """Whether the league takes players."""
    return league.state == LeagueState.REGISTRATION and not league.rounds.exists()


def refuse_while_made(league: League) -> None:
    """Refuse what has to wait for the schedule.

    Raises:
        ActionRefused: it is being made.
    """
    if is_made(league):
        raise ActionRefused(_("The schedule of %(league)s is being made: wait a moment.") % named(league))


def terms(league: League) -> dict[str, Any]:
    """What the table follows from besides results: in the ledger, so that it cannot change unseen."""
    return {"game_type": league.game_type, "scoring": sight.scoring(league)._asdict()}


def record_made(league: League, players: Sequence[Agent]) -> None:
    """Write the event that tells a finished schedule: who plays, in how many rounds, for how many points."""
    record(
        league.pk,
        EventKind.SCHEDULE_MADE,
        players=len(players),
        rounds=league.rounds.count(),
        names={player.code: player.display_name for player in players},
        **terms(league),
    )


def write_round(league: League, seats: Sequence[int], number: int) -> int:
    """Write one round with its matches; call inside a transaction.

    Args:
        seats: the players' primary keys, in the order of the schedule.
        number: of the round, from 1.

    Returns how many matches it has.
    """
    plan = planned_round(len(seats), number)
    made = Round.objects.create(league=league, number=number, bye_id=seats[plan.bye] if plan.bye is not None else None)
    names = [field.attname for field in Match._meta.concrete_fields if not field.primary_key]
    blank = Match(league=league, round=made)
    same = {name: getattr(blank, name) for name in names}
    rows = [
        same | {"match_id": one.match_id, "player_a_id": seats[one.a], "player_b_id": seats[one.b]}
        for one in plan.pairings
    ]
    insert(Match, names, [list(row.values()) for row in rows])
    return len(rows)


def begin(league: League, players: Sequence[Agent]) -> None:
    """Write the first round of an open league; call inside a transaction that has its row."""
    write_round(league, [player.pk for player in players], 1)


def go_on() -> bool:
    """Write a piece of each schedule that is being made; the conductor calls this at each look.

    Returns whether there was any.
    """
    half_made = _HALF_MADE.all()
    for league in half_made:
        write_piece(league_id=league.pk)
    return bool(half_made)


def write_piece(*, league_id: str) -> None:
    """Write the next rounds of a schedule that is being made; after the last one REGISTRATION becomes SCHEDULED.

    One transaction. Nothing happens when none is being made, so two that do this at once do no harm.
    """
    with transaction.atomic():
        league = League.objects.select_for_update(no_key=True).filter(pk=league_id).first()
        if league is None or not is_made(league):
            return
        seats = _seats(league)
        number = league.rounds.count()
        if seats is None or number != league.rounds.aggregate(last=Max("number"))["last"]:
            _begin_anew(league)
            return
        last, written = rounds_of(len(seats)), 0
        while number < last and written < PIECE:
            number += 1
            written += write_round(league, seats, number)
        if number == last:
            if league.matches.count() != matches_of(len(seats)):
                _begin_anew(league)
                return
            move(league, LeagueState.REGISTRATION, LeagueState.SCHEDULED)
            record_made(league, list(Agent.objects.filter(pk__in=seats)))
            changed(league_id)


def _begin_anew(league: League) -> None:
    """Somebody deleted a row by hand: the league is open again, and whoever closes it begins anew."""
    league.rounds.all().delete()
    changed(league.pk)


def _seats(league: League) -> list[int] | None:
    """The players' primary keys by seat, as the first round has them; None when it is not whole."""
    first = league.rounds.filter(number=1).first()
    if first is None:
        return None
    drawn = {row[0]: row[1:] for row in first.matches.values_list("match_id", "player_a_id", "player_b_id")}
    count = 2 * len(drawn) + (first.bye_id is not None)
    plan = planned_round(count, 1) if count >= 2 else None
    if plan is None or set(drawn) != {one.match_id for one in plan.pairings}:
        return None
    seats = {seat: pk for one in plan.pairings for seat, pk in zip((one.a, one.b), drawn[one.match_id], strict=True)}
    if plan.bye is not None:
        seats[plan.bye] = first.bye_id
    return [seats[seat] for seat in range(count)]
