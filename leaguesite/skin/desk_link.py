"""The link from a public page to the desk, for users who are logged in."""

from __future__ import annotations

from django.contrib.admin.utils import quote
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from matches.view import roles


def desk_url(request: HttpRequest) -> dict[str, object]:
    """A context processor of Django's templates: ``desk_url``, empty for users without a desk.

    It is looked up only if a template uses it, so that other pages need no query for it.
    """
    return {"desk_url": SimpleLazyObject(lambda: _find(request))}


def _find(request: HttpRequest) -> str:
    user = getattr(request, "user", None)
    if user is None or not (user.is_active and user.is_staff):
        return ""
    place = request.resolver_match
    league_id = place.kwargs.get("league_id") if place is not None else None
    if league_id is not None and roles.may(user, roles.Permission.WATCH, league_id):
        return reverse("admin:matches_league_change", args=[quote(league_id)])
    return reverse("admin:index")
