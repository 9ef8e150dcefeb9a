"""The screens of a league: what the instructor's phone tells every projector that shows them. All of it is our choice.

Steering a screen is not an event: it changes nothing that was played, and is not in the ledger.
"""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.isolating import isolated
from matches.league.effects import shown
from matches.league.errors import NotFound
from matches.league.leagues import get_league
from matches.models import League, Match
from matches.view.screens import Steering, steering


@transaction.atomic
def turn(*, league_id: str, scenes: int = 1) -> None:
    """Turn every screen by this many scenes, backwards if negative.

    Raises:
        NotFound: no such league.
    """
    now = _locked(league_id)
    _store(league_id, now._replace(turned=now.turned + scenes))


@transaction.atomic
def hold(*, league_id: str, held: bool = True) -> None:
    """Keep every screen at its scene, or let the scenes take turns again.

    Raises:
        NotFound: no such league.
    """
    _store(league_id, _locked(league_id)._replace(held=held))


@transaction.atomic
def feature(*, league_id: str, match_id: str) -> None:
    """Draw a match large on every screen, until its round is over.

    Raises:
        NotFound: no such league, or no such match in it.
    """
    now = _locked(league_id)
    storable_id = match_id.replace("\x00", "\ufffd")
    if not Match.objects.filter(league_id=league_id, match_id=storable_id).exists():
        raise NotFound(_("There is no match %(match)s in this league.") % {"match": isolated(storable_id[:40])})
    _store(league_id, now._replace(featured=storable_id))


@transaction.atomic
def automatic(*, league_id: str) -> None:
    """Let every screen go by itself: the scenes take turns, and the most interesting match is large.

    Raises:
        NotFound: no such league.
    """
    _store(league_id, Steering(turned=_locked(league_id).turned))


def _locked(league_id: str) -> Steering:
    """How the screens are steered now. The row stays locked, so that two phones that turn at once turn twice."""
    get_league(league_id)
    return steering(League.objects.select_for_update().only("screen").get(pk=league_id).screen)


def _store(league_id: str, now: Steering) -> None:
    League.objects.filter(pk=league_id).update(screen=now._asdict())
    shown(league_id)
