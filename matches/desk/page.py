"""The desk of a league in the admin: the page, its live part, and everything that its buttons do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from matches.desk import overview
from matches.desk.access import LeagueAccess
from matches.desk.acting import LEAGUE, Subject
from matches.desk.actions import ACTIONS
from matches.desk.forms import PlanForm, first_error
from matches.desk.targets import FINDERS
from matches.league import making
from matches.models import League
from matches.view import roles


class DeskPages(LeagueAccess):
    """Mixed into the admin of leagues: the change page is the desk, the settings have a page of their own."""

    changeform_view: Callable[..., HttpResponse]

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("<path:object_id>/now/", wrap(never_cache(self.now_view)), name="matches_league_now"),
            path("<path:object_id>/settings/", wrap(self.settings_view), name="matches_league_settings"),
            *(
                path(
                    f"<path:object_id>/{subject.address}<slug:verb>/",
                    wrap(self.act),
                    {"subject": subject},
                    name=f"matches_league_{subject.name}",
                )
                for subject in FINDERS
            ),
            *super().get_urls(),  # type: ignore[misc]
        ]

    # Pages ---------------------------------------------------------------------------------------

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """The desk; a POST is the settings, as the admin sends them."""
        if request.method == "POST":
            return self.settings_view(request, object_id)
        league = self.league_for(request, object_id, roles.Action.WATCH)
        return self.desk_page(request, "desk.html", league.display_name, **self._shown(request, league))

    def now_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What of the desk changes by itself; its script asks for it again and again."""
        league = self.league_for(request, object_id, roles.Action.WATCH)
        return render(request, "admin/matches/league/desk_now.html", self._shown(request, league))

    def _shown(self, request: HttpRequest, league: League) -> dict[str, Any]:
        everywhere = request.user.is_superuser
        allowed = roles.allowed(request.user, league.pk)
        found = overview.context(league, allowed, everywhere=everywhere, every_agent="all" in request.GET)
        return {**found, "league": league, "plan_form": PlanForm(auto_id="plan-%s")}

    def settings_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Name and settings, as the admin shows a row."""
        league = self.league_for(request, object_id, roles.Action.EDIT)
        shown = {"league": league, "title": _("Name and settings"), "show_save_and_add_another": False}
        return self.changeform_view(request, quote(league.pk), "", shown)

    # Buttons -------------------------------------------------------------------------------------

    def act(self, request: HttpRequest, object_id: str, verb: str, subject: Subject, **place: Any) -> HttpResponse:
        """Do what a button says: a row of the table of actions."""
        action = ACTIONS.get((subject, verb))
        click = action.click if action is not None else None
        # There is no page for what has no button; whoever sees the desk is told so.
        needs = (click and action and action.needs) or roles.Action.WATCH
        league = self.league_for(request, object_id, needs, in_demo=subject.in_demo)
        if action is None or click is None:
            raise Http404
        given, named = FINDERS[subject](request, league, action, **place)
        back = reverse(f"admin:matches_league_{subject.back}", args=[quote(league.pk)])
        if click.form is not None and request.method == "POST":
            form = click.form(request.POST)
            if not form.is_valid():
                self.message_user(request, first_error(form), messages.ERROR)
                return HttpResponseRedirect(back)
            given |= form.cleaned_data

        def said(done: Any) -> str:
            return _being_made(league, subject) or action.sentence(done, named)

        return self.desk_do(request, action, given, said, back)


def _being_made(league: League, subject: Subject) -> str:
    """Instead of what a button did: that the league's schedule is being made, which takes seconds if it is long."""
    if subject != LEAGUE:
        return ""
    league.refresh_from_db(fields=["state"])
    return _("Registration is closed: the schedule is being made.") if making.is_made(league) else ""
