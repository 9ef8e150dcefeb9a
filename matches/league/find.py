"""A league by its id, or a sentence that there is none."""

from __future__ import annotations

from django.utils.translation import gettext as _

from matches.league.errors import NotFound
from matches.models import League
from storage.prepared import Prepared

_SELDOM = ("frozen", "starts_at", "started_at", "completed_at")
LEAGUE = Prepared(lambda *, pk: League.objects.filter(pk=pk).defer(*_SELDOM), pk=str)
"""A league by its id, for a call of an agent; what is seldom needed is fetched when it is asked for."""


def get_league(league_id: str) -> League:
    """A league by its id.

    Raises:
        NotFound: there is none.
    """
    # No id holds a NUL, and PostgreSQL would not even look for one.
    league = League.objects.filter(pk=league_id.replace("\x00", "\ufffd")).first()
    if league is None:
        raise NotFound(_("There is no league %(id)s.") % {"id": league_id})
    return league
