"""Leagues are put into series, which have a common table (``matches.view.series``; our choice)."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from agents_registry.isolating import isolated, without_controls
from league_sdk.protocol.limits import MAX_NAME_CHARS
from league_sdk.protocol.transcript import is_storable, storable
from matches.league.effects import changed
from matches.league.errors import ActionRefused, Invalid
from matches.league.leagues import get_league, refuse_demo
from matches.models import League, Series
from matches.view import roles
from storage import clock

MAX_LEAGUES = 40
"""How many leagues a series may have: its page reads the table of each."""


@transaction.atomic
def put(*, league_id: str, series_id: str, series_name: str = "", by: Any = None) -> Series:
    """Put a league at the end of a series; the league leaves the series that it was in.

    A series that does not exist yet is made.

    Args:
        series_name: the name of a new series, or a new name for an existing one. Empty: a new series is named by its
            id, and an existing one keeps its name.
        by: who does it; None for a script with the API key. To add to a series, a user must be allowed to edit one of
            its leagues.

    Raises:
        NotFound: no such league.
        Invalid: the id or the name cannot be used.
        ActionRefused: the series is somebody else's, or full; or the league is the demo.
    """
    league = get_league(league_id)
    refuse_demo(league)
    series = Series.objects.select_for_update(no_key=True).filter(pk=storable(series_id)).first()
    if series is None:
        series = _create(series_id, series_name)
    else:
        _refuse_strangers(series, by)
        if series_name and series_name != series.display_name:
            series.display_name = _checked_name(series_name)
            Series.objects.filter(pk=series.pk).update(display_name=series.display_name)
    others = series.leagues.exclude(pk=league.pk)
    if others.count() >= MAX_LEAGUES:
        raise ActionRefused(_("This series is full: begin another one."))
    last = others.aggregate(last=Max("series_place"))["last"] or 0
    League.objects.filter(pk=league.pk).update(series=series, series_place=last + 1)
    drop_empty()
    changed(league.pk)
    return series


@transaction.atomic
def leave(*, league_id: str) -> League:
    """Take a league out of its series; a series without leagues is deleted.

    Raises:
        NotFound: no such league.
    """
    league = get_league(league_id)
    League.objects.filter(pk=league.pk).update(series=None, series_place=None)
    drop_empty()
    changed(league.pk)
    return league


def drop_empty() -> None:
    """Delete series that have no league any more."""
    Series.objects.filter(leagues__isnull=True).delete()


def _refuse_strangers(series: Series, by: Any) -> None:
    if by is not None and not roles.leagues(by, roles.Permission.EDIT).filter(series=series).exists():
        named = {"series": isolated(series.display_name)}
        raise ActionRefused(_("%(series)s is another instructor's series: choose another id.") % named)


def _create(series_id: str, series_name: str) -> Series:
    series = Series(series_id=series_id, created_at=clock.now())
    try:
        series.clean_fields(exclude=["display_name", "created_at"])
    except ValidationError as error:
        raise Invalid(str(error.message_dict["series_id"][0]), field="series_id") from None
    series.display_name = _checked_name(series_name or series_id)
    series.save(force_insert=True)
    return series


def _checked_name(name: str) -> str:
    cleaned = without_controls(name)
    if not is_storable(cleaned) or not 0 < len(cleaned) <= MAX_NAME_CHARS:
        raise Invalid(_("This name cannot be used."), field="series_name")
    return cleaned
