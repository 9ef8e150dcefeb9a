"""A league among others: cloned, archived, deleted (our choice)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.models import RosterEntry
from agents_registry.rosters import roster
from league_sdk.protocol.states import LeagueState
from league_sdk.protocol.transcript import storable
from matches.league import removing, series, staffing
from matches.league.effects import changed
from matches.league.errors import ActionRefused, Invalid
from matches.league.leagues import get_league, named, refuse_demo
from matches.models import League
from storage import clock

OVER = (LeagueState.COMPLETED, LeagueState.STOPPED)
_CODE = "registration_code"


@transaction.atomic
def archive(*, league_id: str) -> League:
    """Put a league that is over aside: lists leave it out, its pages stay, and nothing in it can be changed.

    Raises:
        NotFound: no such league.
        ActionRefused: it is not over, or it is the demo.
    """
    league = get_league(league_id)
    refuse_demo(league)
    if not League.objects.filter(pk=league.pk, state__in=OVER).update(archived_at=clock.now()):
        raise ActionRefused(_("%(league)s is not over: stop it first, or let it end.") % named(league))
    changed(league.pk)
    return league


@transaction.atomic
def take_back(*, league_id: str) -> League:
    """Take a league out of the archive.

    Raises:
        NotFound: no such league.
    """
    league = get_league(league_id)
    League.objects.filter(pk=league.pk).update(archived_at=None)
    changed(league.pk)
    return league


def refuse_archived(league_id: str, agent_ids: Iterable[int]) -> None:
    """Refuse a change of a league in the archive, or of an agent of one.

    Raises:
        ActionRefused: it is in the archive.
    """
    archived = League.objects.filter(archived_at__isnull=False)
    # The id may be any text that a script has sent.
    found = archived.filter(pk=storable(league_id)).first() if league_id else None
    ids = list(agent_ids)
    if found is None and ids:
        found = archived.filter(agents__pk__in=ids).first()
    if found is not None:
        raise ActionRefused(_("%(league)s is in the archive: take it out first to change anything.") % named(found))


def clone(  # noqa: PLR0913 - what the new league is called, what is taken along, and who opens it
    *,
    league_id: str,
    wanted_id: str,
    display_name: str = "",
    with_settings: bool = True,
    with_roster: bool = True,
    with_codes: bool = False,
    with_series: bool = False,
    by: Any = None,
) -> League:
    """Open a new league with the game of another one and, if asked, its settings and the people on its roster.

    No results and no agents are copied.

    Args:
        league_id: the league to clone.
        wanted_id, display_name: of the new league; without a name it has its id.
        with_codes: keep the class code, if the settings are taken along, and the personal codes. Otherwise everybody
            on the roster gets a new code, and the new league has no class code of the old one.
        with_series: put it into the same series, at its end.
        by: who becomes its instructor; None for a script with the API key.

    Raises:
        NotFound: no such league.
        Invalid: the id or the name cannot be used.
        ActionRefused: the id is taken, it is the demo, the person may not open leagues, or the series is full or
            somebody else's.
    """
    if by is not None and not by.has_perm("matches.add_league"):
        raise ActionRefused(_("You may not open leagues: ask a superuser."))
    with transaction.atomic():
        old = get_league(league_id)
        refuse_demo(old)
        settings = {name: value for name, value in old.settings.items() if with_codes or name != _CODE}
        people = [
            RosterEntry(name=person.name, email=person.email, code=person.code if with_codes else roster.new_code())
            for person in (old.roster.order_by("pk") if with_roster else ())
        ]
        made = staffing.open_league(
            by=by,
            league_id=wanted_id,
            display_name=display_name,
            game_type=old.game_type,
            settings=settings if with_settings else {},
            people=people,
        )
        if with_series and old.series_id is not None:
            series.put(league_id=made.pk, series_id=old.series_id, by=by)
        return made


@transaction.atomic
def delete(*, league_id: str, typed: str) -> None:
    """Delete a league that is not being played, with everything in it: what was played, its agents, its roster.

    Nobody sees it from now on; the conductor deletes its rows (``matches.league.removing``). The log of who did what
    stays. The conductor removes the league's files from the folder SHARED afterwards
    (docs/shared.md).

    Args:
        typed: the league's id as the instructor typed it, so that nobody deletes a league by a slip.

    Raises:
        NotFound: no such league.
        Invalid: something else was typed.
        ActionRefused: it is being played, or it is the demo.
    """
    league = get_league(league_id)
    refuse_demo(league)
    if typed.strip() != league.pk:
        raise Invalid(_("Type the id of the league, %(id)s, to delete it.") % {"id": league.pk}, field="typed")
    if league.state == LeagueState.RUNNING:
        raise ActionRefused(_("%(league)s is being played: stop it first.") % named(league))
    removing.hide(league)
    series.drop_empty()
    changed(league.pk)
