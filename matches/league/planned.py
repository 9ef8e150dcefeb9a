"""A start at a time that was chosen beforehand: made, called off, and carried out when it is due."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState
from matches.league import lifecycle, making, outbox
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused, Invalid
from matches.models import League

LATEST = timedelta(minutes=10)
"""A start that was missed by more, as the site did not run then, is not made up for: nobody expects it any more."""
FARTHEST = timedelta(days=366)


def plan_start(*, league_id: str, at: datetime, all_rounds: bool, now: datetime) -> None:
    """Start the next round, and with ``all_rounds`` every one after it, at a certain time.

    Registration that is open then is closed, as a click on the start would do. Changes: the league's plan (one that
    was made before is replaced) and an event, which the public does not see. A pause and any other start clear it.

    Args:
        at: with its zone.
        now: what the time is compared with.

    Raises:
        NotFound: no such league.
        Invalid: the time is over, or more than a year ahead.
        ActionRefused: the league is over, paused, or the demo.
    """
    with transaction.atomic():
        league = lifecycle.get_league(league_id)
        named = {"league": league.display_name}
        if league.state in (LeagueState.COMPLETED, LeagueState.STOPPED):
            raise ActionRefused(_("%(league)s is over: create a new league to play again.") % named)
        if league.demo:
            raise ActionRefused(_("%(league)s starts by itself.") % named)
        if league.paused:
            raise ActionRefused(_("%(league)s is paused: resume it first.") % named)
        if at <= now:
            raise Invalid(_("This time is over: choose a later one."), field="when")
        if at > now + FARTHEST:
            raise Invalid(_("This is more than a year ahead: choose an earlier time."), field="when")
        League.objects.filter(pk=league.pk).update(starts_at=at, starts_all=all_rounds)
        record(league.pk, EventKind.START_PLANNED, at=at.isoformat(), all_rounds=all_rounds)
        changed(league.pk)


def call_off(*, league_id: str) -> None:
    """Forget a planned start.

    Raises:
        ActionRefused: none is planned.
    """
    with transaction.atomic():
        league = lifecycle.get_league(league_id)
        if not League.objects.filter(pk=league.pk, starts_at__isnull=False).update(starts_at=None, starts_all=False):
            raise ActionRefused(_("No start of %(league)s is planned.") % {"league": league.display_name})
        record(league.pk, EventKind.START_CALLED_OFF)
        changed(league.pk)


def forget_failure(*, league_id: str) -> None:
    """The desk has read that a planned start was refused: it is a problem no longer."""
    with transaction.atomic():
        record(lifecycle.get_league(league_id).pk, EventKind.START_CALLED_OFF)
        changed(league_id)


def begin_due(now: datetime) -> int:
    """Carry out the planned starts whose time has come, each once; the conductor calls this at every look.

    A start that is refused is recorded as ``start_failed`` with why, for the desk to show; it is not tried again. One
    for which there is no referee waits for one until it is too late: a site that was started a moment ago hears of
    its own referees seconds after this has looked.

    Returns how many leagues were due.
    """
    due = list(League.objects.filter(starts_at__lte=now).order_by("starts_at", "pk"))
    for league in due:
        if making.is_made(league):
            continue
        if now - league.starts_at <= LATEST and not outbox.referees_of(league):
            continue
        with transaction.atomic():
            # Whoever takes the plan off the row carries it out: two conductors start nothing twice.
            taken = League.objects.filter(pk=league.pk, starts_at=league.starts_at)
            if taken.update(starts_at=None, starts_all=False):
                _begin(league, league.starts_at, now)
    return len(due)


def _begin(league: League, at: datetime, now: datetime) -> None:
    try:
        if now - at > LATEST:
            raise ActionRefused(_("the site was not running at that time"))
        with transaction.atomic():
            (lifecycle.run_all if league.starts_all else lifecycle.start_league)(league_id=league.pk)
    except ActionRefused as refusal:
        record(league.pk, EventKind.START_FAILED, at=at.isoformat(), why=str(refusal))
        changed(league.pk)
