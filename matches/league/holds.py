"""A held match is retried by itself, less and less often (ruling, section 8; our choice).

After three lost attempts a match is HELD, because it may be the match that crashes its referees. Usually it is not: a
machine lost its power, or another match crashed the referee that played both. So it is retried as soon as no other
match is being lost. If it is lost again, it waits twice as long, unless unrelated matches were lost at the same time.
A match that does crash its referees costs the site one of them now and then; no league waits for the instructor.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState, MatchState
from matches.league.play import MAX_LOST_ATTEMPTS, release_held
from matches.models import Event, Match

MIN_BACKOFF_S, MAX_BACKOFF_S = 3.0, 600.0
QUIET_S = 3.0
"""Retry only when no attempt was lost in any league for this long: then what had failed is likely to work again."""
SIMULTANEOUS_S = 2.0
"""Attempts lost within this time of each other may have one cause."""
RECENT_S = 15.0
"""If other matches were lost at most so long before a match was held, the match probably did not cause its own loss."""
MAX_LOSSES_READ = 200


def backoff_s(lost_attempts: int) -> float:
    """Seconds that a match with this many lost attempts is held before it is retried."""
    lost_retries = max(0, lost_attempts - MAX_LOST_ATTEMPTS)
    return min(MAX_BACKOFF_S, MIN_BACKOFF_S * 2.0 ** min(lost_retries, 16))


def retry_held(*, now: datetime) -> int:
    """Move HELD matches that have waited long enough to READY; the count of their lost attempts stays.

    Returns how many.
    """
    # The absolute value: a time in the future was written before the clock was set back.
    due = [(match, since) for match, since in _held() if abs(now - since) >= timedelta(seconds=MIN_BACKOFF_S)]
    losses = _losses() if due else []
    if any(abs(now - loss.at) < timedelta(seconds=QUIET_S) for loss in losses):
        return 0
    ready = [match for match, since in due if abs(now - since) >= timedelta(seconds=_backoff_of(match, since, losses))]
    if not ready:
        return 0
    with transaction.atomic():
        return sum(release_held(match, now=now) for match in ready)


def _held() -> list[tuple[Match, datetime]]:
    """The held matches that may be retried, each with the time since when it is held."""
    states = [LeagueState.RUNNING, LeagueState.COMPLETED]
    held = Match.objects.filter(state=MatchState.HELD, league__paused=False, league__state__in=states).order_by("pk")
    return [(match, match.held_at) for match in held if match.held_at is not None]


def _losses() -> list[Event]:
    lost = Event.objects.filter(kind__in=[EventKind.ATTEMPT_LOST, EventKind.MATCH_HELD])
    return list(lost.order_by("-pk")[:MAX_LOSSES_READ])


def _backoff_of(match: Match, held_at: datetime, losses: list[Event]) -> float:
    """The backoff of a held match in seconds; the shortest one if unrelated matches were lost shortly before.

    A match that was lost at the same moment as this one is not unrelated: this one may have crashed their referee.
    """
    own_times = [
        loss.at for loss in losses if (loss.league_id, loss.data["match_id"]) == (match.league_id, match.match_id)
    ]
    simultaneous, recent = timedelta(seconds=SIMULTANEOUS_S), timedelta(seconds=RECENT_S)
    for loss in losses:
        is_unrelated = all(abs(loss.at - own_time) > simultaneous for own_time in own_times)
        if is_unrelated and held_at - recent < loss.at < held_at + simultaneous:
            return MIN_BACKOFF_S
    return backoff_s(match.lost_attempts)
