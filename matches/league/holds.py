"""What becomes of a held match by itself: it is tried again, less and less often (ruling, section 8; our choice).

After three lost referees a match is HELD, for it might be the match that they die of. Mostly it is not: somebody
has pulled a plug, or one match has taken others down with it. So it is played once more as soon as nothing else is
being lost; one that is lost again waits twice as long, unless others were being lost then without it. A match that
kills its referees costs the site one of them now and then, and no league waits for a person who may have gone home.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState, MatchState
from matches.league.play import MAX_LOST_ATTEMPTS, let_go
from matches.models import Event, Match

FIRST_WAIT_S, LONGEST_WAIT_S = 3.0, 600.0
CALM_S = 3.0
"""Nothing has been lost anywhere for so long: a plug that was pulled is in again."""
TOGETHER_S, LATELY_S = 2.0, 15.0
MOST_LOSSES = 200


def wait_s(lost_attempts: int) -> float:
    """How long a match that has lost so many attempts is held before it is tried again, in seconds."""
    again = max(0, lost_attempts - MAX_LOST_ATTEMPTS)
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(again, 16))


def try_again(*, now: datetime) -> int:
    """HELD matches that have waited long enough to READY; the count of their lost attempts stays.

    Returns how many.
    """
    # What lies ahead was written before the clock was set back: that was not a moment ago either.
    due = [match for match in _held() if abs(now - match.held_at) >= timedelta(seconds=FIRST_WAIT_S)]
    losses = _losses() if due else []
    if any(abs(now - loss.at) < timedelta(seconds=CALM_S) for loss in losses):
        return 0
    due = [match for match in due if abs(now - match.held_at) >= timedelta(seconds=_wait_of(match, losses))]
    if not due:
        return 0
    with transaction.atomic():
        return sum(let_go(match, now=now) for match in due)


def _held() -> list[Match]:
    going = [LeagueState.RUNNING, LeagueState.COMPLETED]
    held = Match.objects.filter(state=MatchState.HELD, held_at__isnull=False)
    return list(held.filter(league__paused=False, league__state__in=going).order_by("pk"))


def _losses() -> list[Event]:
    lost = Event.objects.filter(kind__in=[EventKind.ATTEMPT_LOST, EventKind.MATCH_HELD])
    return list(lost.order_by("-pk")[:MOST_LOSSES])


def _wait_of(match: Match, losses: list[Event]) -> float:
    """The first wait again for a match that was lost in bad weather: it says nothing against it.

    What is lost together with it is no weather: it may have taken that down.
    """
    own = [one.at for one in losses if (one.league_id, one.data["match_id"]) == (match.league_id, match.match_id)]
    together, lately = timedelta(seconds=TOGETHER_S), timedelta(seconds=LATELY_S)
    for one in losses:
        alone = all(abs(one.at - moment) > together for moment in own)
        if alone and match.held_at - lately < one.at < match.held_at + together:
            return FIRST_WAIT_S
    return wait_s(match.lost_attempts)
