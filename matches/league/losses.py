"""Attempts that are lost: their referee failed, left, or sends no heartbeat (ruling, sections 8, 10 and 12).

A match without a verdict is played again, or HELD after three lost attempts. A match whose verdict is sealed is never
played again: another referee tells the players the end, or the verdict counts without that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

from agents_registry.models import Agent, Kind
from agents_registry.registering import registration
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol import notes
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.masking import without_addresses
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.states import IN_PLAY, MatchState
from matches.league import results
from matches.league.effects import changed, record
from matches.league.play import MAX_LOST_ATTEMPTS, lifecycle_step
from matches.models import Match
from storage import clock


@dataclass(frozen=True, slots=True)
class UntakenStart:
    """A start that a referee did not take.

    Attributes:
        lease_until: the end of the match's lease when the start was sent. If the match has a later lease, its referee
            has reported progress, or another conductor has sent a start again: then this outcome is outdated.
        problem: the reason; a text if a library or the operating system worded it.
        counts: it is a lost attempt, so that a match that no referee can take is HELD in the end: the referee answered
            with an error, or could not be reached. For a referee of the site not if it is busy or has just registered
            again.
        cause: LEAGUE when we could not even call the referee.
    """

    match_pk: int
    attempt: int
    lease_until: datetime | None
    problem: Note | str
    counts: bool = False
    cause: Cause = Cause.REFEREE


def lose_attempt(
    *, matches: QuerySet[Match], why: Note | str, counts: bool = True, cause: Cause = Cause.REFEREE
) -> int:
    """Take matches in play from their referee: they are READY again, or HELD after three lost attempts.

    A match whose verdict is sealed waits for a referee that tells the end, for one lease at most. If it has waited
    before, or its players have heard the end, the verdict counts now.

    Args:
        matches: the matches; those not in play are left alone.
        why: the reason, for the record; everybody reads it without what it quotes.
        cause: whose side failed, REFEREE or LEAGUE; never a player's.
        counts: false if a referee of the site handed the match back without having failed. An attempt that a student's
            referee gives back counts whatever it says, and counts for that referee, too (ruling, section 9).

    Returns how many matches changed.
    """
    now = clock.now()
    lost = 0
    with transaction.atomic():
        strangers = registration.lock_students_referees(matches.values("referee_id"))
        # Lock all of them first and by primary key, as a correction does, or the two could deadlock. The query reads
        # them again after waiting for the locks: a lease that had run out may have been renewed.
        in_play = matches.filter(state__in=IN_PLAY).select_related("referee", "league", "round", "player_a", "player_b")
        for match in in_play.order_by("pk").select_for_update(no_key=True, of=("self",)):
            if match.seal is not None:
                lost += _lose_sealed(match, match.seal, why=why, cause=cause, now=now)
                continue
            of_stranger = match.referee_id in strangers
            counted = counts or (of_stranger and cause is Cause.REFEREE)
            held = counted and match.lost_attempts + 1 >= MAX_LOST_ATTEMPTS
            state = MatchState.HELD if held else MatchState.READY
            moved = Match.objects.filter(pk=match.pk, state__in=IN_PLAY, attempt=match.attempt).update(
                state=state,
                lost_attempts=F("lost_attempts") + (1 if counted else 0),
                lease_until=None,
                held_at=now if held else None,
                locked_in=[],
                # The next referee does not invite again whom it takes for joined.
                joined=[] if of_stranger else match.joined,
                view={},
                lifecycle=[*match.lifecycle, lifecycle_step(state, now)],
            )
            if not moved:
                continue
            lost += 1
            if counted and of_stranger and match.referee_id is not None:
                registration.count_lost_match(agent_id=match.referee_id)
            _record_loss(EventKind.MATCH_HELD if held else EventKind.ATTEMPT_LOST, match, why, cause)
    return lost


def _record_loss(kind: EventKind, match: Match, why: Note | str, cause: Cause) -> None:
    record(
        match.league_id,
        kind,
        match_id=match.match_id,
        attempt=match.attempt,
        referee_id=match.referee.code if match.referee else "",
        cause=cause,
        why=without_addresses(notes.public(why)),
    )
    changed(match.league_id, match.match_id)


def _lose_sealed(match: Match, seal: Mapping[str, Any], *, why: Note | str, cause: Cause, now: datetime) -> int:
    """Take a match whose verdict is sealed from its referee; 0 if another transaction has done so already."""
    waited = match.referee_id is None or match.attempt > seal["attempt"]
    if seal.get("told") or waited:
        return int(results.count_sealed(match, seal))
    lease = timedelta(seconds=match.league.rules.referee_lease_s)
    # Its state stays: its players get no other match meanwhile, and nobody sees that there is a verdict.
    waits = Match.objects.filter(pk=match.pk, attempt=match.attempt, referee_id=match.referee_id, state__in=IN_PLAY)
    moved = waits.update(referee=None, lease_until=now + lease)
    if moved:
        _record_loss(EventKind.ATTEMPT_LOST, match, why, cause)
    return moved


def lose_all_of(*, referee_id: int) -> int:
    """Take all its matches from a referee that registered again: its process has restarted."""
    return lose_attempt(matches=Match.objects.filter(referee_id=referee_id), why=note(Code.REFEREE_RESTARTED))


def expect_again(*, names: Collection[str]) -> int:
    """Prepare for the site's own referees, which start with the site: they get no match before they have registered.

    Their matches are taken back at once, without counting as lost attempts: it was the site that ended, and it may be
    restarted several times in the course of a match.

    Returns how many matches were taken back.
    """
    own_referees = Agent.objects.filter(kind=Kind.REFEREE, site_key=True, league__isnull=True, name__in=names)
    with transaction.atomic():
        registration.expect_again(names=names)
        matches = Match.objects.filter(referee__in=own_referees)
        return lose_attempt(matches=matches, why=note(Code.SITE_RESTARTED), counts=False, cause=Cause.LEAGUE)


@transaction.atomic
def undeliverable(start: UntakenStart) -> None:
    """Suspend a referee that did not take start_match, and take the match from it."""
    lost = Match.objects.filter(pk=start.match_pk, attempt=start.attempt, lease_until=start.lease_until)
    match = lost.filter(state__in=IN_PLAY).first()
    if match is None:
        return
    if match.referee_id is not None:
        registration.suspend_referee(agent_id=match.referee_id, problem=str(start.problem))
    lose_attempt(matches=lost, why=start.problem, counts=start.counts, cause=start.cause)


def expire_leases(*, now: datetime) -> int:
    """Suspend referees that let the lease of a match run out, and take these matches from them.

    Returns how many matches changed.
    """
    late = Match.objects.filter(state__in=IN_PLAY, lease_until__lt=now)
    lost = 0
    for referee_id in set(late.values_list("referee_id", flat=True)):
        with transaction.atomic():
            # Lock the referee's row before its matches, as its own reports do.
            if referee_id is not None:
                registration.suspend_referee(agent_id=referee_id, problem="no sign of life")
            of_referee = late.filter(referee_id=referee_id)
            # A student's referee may be alive, and have had all the time that a match may take.
            ours = of_referee.filter(referee__site_key=True).exists()
            why = note(Code.NO_SIGN_OF_LIFE if ours else Code.NO_RESULT_IN_TIME)
            lost_here = lose_attempt(matches=of_referee, why=why)
            # Roll the suspension back if a heartbeat came in the last moment.
            transaction.set_rollback(not lost_here)
        lost += lost_here
    return lost
