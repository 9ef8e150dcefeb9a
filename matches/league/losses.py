"""An attempt that is lost by its referee, or whose referee is gone (ruling, sections 8, 10 and 12).

A match without a verdict is played again, or HELD after three lost attempts. One whose verdict is sealed is never
played again: another referee tells the end, or the verdict counts untold.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from agents_registry import registration
from agents_registry.models import Agent, Kind
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol import notes
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.states import IN_PLAY, MatchState
from matches.league import results
from matches.league.effects import changed, record
from matches.league.play import MAX_LOST_ATTEMPTS, lifecycle_step
from matches.models import Match
from matches.view.masking import without_addresses


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A start that was not taken.

    Attributes:
        lease_until: the lease that it was sent in. In a later one the referee has told of the match, or has been sent
            a start once more, by another conductor; then this is old news.
        problem: why, in words.
        refused: the referee answered with an error. That counts as a lost attempt, so that a match that no
            referee can take is HELD in the end; a referee that was not reached has not lost it.
        cause: LEAGUE when we could not even call the referee.
    """

    match_pk: int
    attempt: int
    lease_until: datetime | None
    problem: str
    refused: bool = False
    cause: Cause = Cause.REFEREE


def lose_attempt(*, matches: QuerySet[Match], why: str, counts: bool = True, cause: Cause = Cause.REFEREE) -> int:
    """Matches in play are lost by their referee: READY again, or HELD after three lost attempts.

    One whose verdict is sealed waits for a referee that tells it, for one lease at most; when it was waiting already,
    or its players have heard the end, the verdict counts now.

    Args:
        matches: which; those not in play are left alone.
        why: for the record.
        cause: whose side failed, REFEREE or LEAGUE; never a player's.
        counts: false when the referee gave it back in good order.

    Returns how many were lost.
    """
    now = timezone.now()
    lost = 0
    with transaction.atomic():
        # All of them at first and in their order, as a correction takes them: two would wait for each other. And what
        # was chosen may have changed while we waited: a lease that was to have run out, renewed.
        held_by = matches.filter(state__in=IN_PLAY).select_related("referee", "league", "round", "player_a", "player_b")
        for match in held_by.order_by("pk").select_for_update(no_key=True, of=("self",)):
            if match.seal is not None:
                lost += _lose_sealed(match, why=why, cause=cause, now=now)
                continue
            held = counts and match.lost_attempts + 1 >= MAX_LOST_ATTEMPTS
            state = MatchState.HELD if held else MatchState.READY
            moved = Match.objects.filter(pk=match.pk, state__in=IN_PLAY, attempt=match.attempt).update(
                state=state,
                lost_attempts=F("lost_attempts") + (1 if counts else 0),
                lease_until=None,
                held_at=now if held else None,
                locked_in=[],
                view={},
                lifecycle=[*match.lifecycle, lifecycle_step(state, now)],
            )
            if not moved:
                continue
            lost += 1
            _tell_of(EventKind.MATCH_HELD if held else EventKind.ATTEMPT_LOST, match, why, cause)
    return lost


def _tell_of(kind: str, match: Match, why: str, cause: Cause) -> None:
    record(
        match.league_id,
        kind,
        match_id=match.match_id,
        attempt=match.attempt,
        referee_id=match.referee.code if match.referee else "",
        cause=cause,
        why=without_addresses(notes.in_words(notes.public(why))),
    )
    changed(match.league_id, match.match_id)


def _lose_sealed(match: Match, *, why: str, cause: Cause, now: datetime) -> int:
    """A match whose verdict is sealed has lost its referee; 1 if it had not been lost by somebody else already."""
    waited = match.referee_id is None or match.attempt > match.seal["attempt"]
    if match.seal.get("told") or waited:
        return int(results.count_sealed(match))
    lease = timedelta(seconds=match.league.rules.referee_lease_s)
    # Its state stays: the players get nothing else meanwhile, and nobody sees that there is a verdict.
    waits = Match.objects.filter(pk=match.pk, attempt=match.attempt, referee_id=match.referee_id, state__in=IN_PLAY)
    moved = waits.update(referee=None, lease_until=now + lease)
    if moved:
        _tell_of(EventKind.ATTEMPT_LOST, match, why, cause)
    return moved


def lose_all_of(*, referee_id: int) -> int:
    """A referee registered again: what it was playing is lost."""
    return lose_attempt(matches=Match.objects.filter(referee_id=referee_id), why="the referee started again")


def expect_again(*, names: Collection[str]) -> int:
    """The site starts, and with it its own referees: they get no match before they have registered.

    What they were playing is given back at once, and counts as lost by nobody: it was the site that ended, and it may
    do so several times in the course of a match.

    Returns how many matches were given back.
    """
    theirs = Agent.objects.filter(kind=Kind.REFEREE, league__isnull=True, name__in=names)
    with transaction.atomic():
        registration.expect_again(names=names)
        matches = Match.objects.filter(referee__in=theirs)
        return lose_attempt(matches=matches, why="the site started again", counts=False, cause=Cause.LEAGUE)


def undeliverable(start: NotTaken) -> None:
    """start_match was not taken: the referee is suspended, the match goes to another."""
    with transaction.atomic():
        lost = Match.objects.filter(pk=start.match_pk, attempt=start.attempt, lease_until=start.lease_until)
        match = lost.filter(state__in=IN_PLAY).first()
        if match is None:
            return
        if match.referee_id is not None:
            registration.suspend_referee(agent_id=match.referee_id, problem=start.problem)
        lose_attempt(matches=lost, why=start.problem, counts=start.refused, cause=start.cause)


def expire_leases(*, now: datetime) -> int:
    """Referees without a sign of life for their lease are suspended; their matches are lost."""
    late = Match.objects.filter(state__in=IN_PLAY, lease_until__lt=now)
    lost = 0
    for referee_id in set(late.values_list("referee_id", flat=True)):
        with transaction.atomic():
            # Before its matches, as its own reports do it.
            if referee_id is not None:
                registration.suspend_referee(agent_id=referee_id, problem="no sign of life")
            gone = lose_attempt(matches=late.filter(referee_id=referee_id), why="no sign of life from the referee")
            # It may have been heard in the last moment.
            transaction.set_rollback(not gone)
        lost += gone
    return lost
