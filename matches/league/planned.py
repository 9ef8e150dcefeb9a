"""Planned starts: plan one for a certain time, cancel it, carry it out when it is due."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from league_sdk.ledger.kinds import EventKind
from matches.league import lifecycle, making, outbox
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused, Invalid
from matches.league.leagues import get_league, named, refuse_over, refuse_paused
from matches.models import League

MAX_DELAY = timedelta(minutes=10)
"""A start that is late by more than this is not carried out: nobody expects it any more. It is late if the site was
down, or waited for a referee."""
MAX_AHEAD = timedelta(days=366)


@transaction.atomic
def plan_start(*, league_id: str, at: datetime, all_rounds: bool, now: datetime) -> None:
    """Plan to start the next round, and with ``all_rounds`` every later one, at a certain time.

    The start will close registration if it is open then. Changes: the league's planned start, replacing an earlier
    one, and an event that the public does not see. A pause and any other start cancel the plan.

    Args:
        at: the time, with its zone.
        now: the present.

    Raises:
        NotFound: no such league.
        Invalid: the time is past, or more than a year ahead.
        ActionRefused: the league is over, paused, or the demo.
    """
    league = get_league(league_id)
    refuse_over(league)
    if league.demo:
        raise ActionRefused(_("%(league)s starts by itself.") % named(league))
    refuse_paused(league)
    if at <= now:
        raise Invalid(_("This time is over: choose a later one."), field="when")
    if at > now + MAX_AHEAD:
        raise Invalid(_("This is more than a year ahead: choose an earlier time."), field="when")
    League.objects.filter(pk=league.pk).update(starts_at=at, starts_all=all_rounds)
    record(league.pk, EventKind.START_PLANNED, at=at.isoformat(), all_rounds=all_rounds)
    changed(league.pk)


@transaction.atomic
def call_off(*, league_id: str) -> None:
    """Cancel a planned start.

    Raises:
        ActionRefused: none is planned.
    """
    league = get_league(league_id)
    if not League.objects.filter(pk=league.pk, starts_at__isnull=False).update(starts_at=None, starts_all=False):
        raise ActionRefused(_("No start of %(league)s is planned.") % named(league))
    record(league.pk, EventKind.START_CALLED_OFF)
    changed(league.pk)


@transaction.atomic
def forget_failure(*, league_id: str) -> None:
    """Stop showing at the desk that a planned start was refused."""
    # The desk shows the last event about planned starts: this one takes the place of START_FAILED.
    record(get_league(league_id).pk, EventKind.START_CALLED_OFF)
    changed(league_id)


def begin_due(now: datetime) -> int:
    """Carry out the planned starts that are due, each once. The conductor calls this at each look.

    A start that is refused is recorded as ``start_failed`` with the reason, for the desk, and not retried. Without a
    referee a start waits, for at most ``MAX_DELAY``: the referees of a site that has just been started register
    seconds later.

    Returns how many leagues were due.
    """
    due = list(League.objects.filter(starts_at__lte=now).order_by("starts_at", "pk"))
    for league in due:
        planned_at = league.starts_at
        if planned_at is None or making.is_being_made(league):
            continue
        if now - planned_at <= MAX_DELAY and not outbox.referees_of(league):
            continue
        with transaction.atomic():
            # Compare-and-swap: of two conductors the one that clears the plan carries it out.
            unchanged = League.objects.filter(pk=league.pk, starts_at=planned_at)
            if unchanged.update(starts_at=None, starts_all=False):
                _begin(league, planned_at, now)
    return len(due)


def _begin(league: League, at: datetime, now: datetime) -> None:
    try:
        if now - at > MAX_DELAY:
            raise ActionRefused(
                _("the site was not running at that time, or no referee was there in the ten minutes after it")
            )
        with transaction.atomic():
            (lifecycle.run_all if league.starts_all else lifecycle.start_league)(league_id=league.pk)
    except ActionRefused as refusal:
        record(league.pk, EventKind.START_FAILED, at=at.isoformat(), why=str(refusal))
        changed(league.pk)
