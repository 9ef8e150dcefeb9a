"""What the buttons of the desk do about names that look like another's (decision 16)."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from agents_registry.models import NameRefused
from matches.desk.access import LeagueAccess
from matches.desk.names import NAME_ACTIONS
from matches.league import names
from matches.view import roles


class NamePages(LeagueAccess):
    """Mixed into the admin of leagues: adds ``…/name/NUMBER/VERB/``."""

    def get_urls(self) -> list[URLPattern]:
        there = "<path:object_id>/name/<int:number>/<slug:verb>/"
        return [
            path(there, self.admin_site.admin_view(self.do_to_name), name="matches_league_name"),
            *super().get_urls(),  # type: ignore[misc]
        ]

    def do_to_name(self, request: HttpRequest, object_id: str, number: int, verb: str) -> HttpResponse:
        """Let a refused name in, or keep it out."""
        league = self.league_for(request, object_id, NAME_ACTIONS.get(verb, roles.Action.WATCH))
        if verb not in NAME_ACTIONS:
            raise Http404
        row = NameRefused.objects.filter(pk=number).first()
        if row is not None and row.league_id is None and not request.user.is_superuser:
            # A referee of the site judges in every league.
            raise PermissionDenied
        back = reverse("admin:matches_league_change", args=[quote(league.pk)])
        if verb == "put-aside":
            done = _("It stays out. If it comes again, it is shown here again.")
            return self.desk_do(request, lambda: names.put_aside(league_id=league.pk, number=number), done, back)
        return self.desk_do(request, *self._letting_in(league.pk, number, row), back)

    @staticmethod
    def _letting_in(
        league_id: str, number: int, row: NameRefused | None
    ) -> tuple[Callable[[], None], Callable[[], str]]:
        came: list[bool] = []

        def action() -> None:
            came[:] = [names.let_in(league_id=league_id, number=number)]

        def done() -> str:
            name = {"name": row.name if row is not None else ""}
            if came == [True]:
                return _("“%(name)s” is in.") % name
            return _("“%(name)s” is let in when it registers again from the same address.") % name

        return action, done
