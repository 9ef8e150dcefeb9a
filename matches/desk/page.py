"""The desk of a league in the admin: the page, its live part, its settings, and the view behind every button."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from league_sdk.protocol.limits import MAX_NAME_CHARS
from matches.desk import overview
from matches.desk.access import LeagueAccess
from matches.desk.acting import LEAGUE, DeskAction, Subject
from matches.desk.actions import ACTIONS
from matches.desk.forms import PlanForm, first_error
from matches.desk.targets import FINDERS
from matches.league import entry, making
from matches.models import League
from matches.view import roles

MAKES_SCHEDULE = ("close", "start", "run_all")
"""The actions of a league that make its schedule if it has none."""


class DeskPages(LeagueAccess):
    """A mixin for the admin of leagues: the change page is the desk, and the settings have a page of their own."""

    pages = {
        "now": "<path:object_id>/now/",
        "settings": "<path:object_id>/settings/",
        "next_id": "next-id/",
    }

    def get_urls(self) -> list[URLPattern]:
        """Add a URL for the actions of each subject that has buttons."""
        act = self.admin_site.admin_view(self.act)
        actions = [
            path(
                f"<path:object_id>/{subject.address}<slug:action_name>/",
                act,
                {"subject": subject},
                name=f"matches_league_{subject.name}",
            )
            for subject in FINDERS
        ]
        return [*actions, *super().get_urls()]

    # Pages ---------------------------------------------------------------------------------------

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the desk; a POST saves the settings, as Django's admin sends it here."""
        if request.method == "POST":
            return self.settings_page(request, object_id)
        league = self.league_for(request, object_id, roles.Permission.WATCH)
        return self.desk_page(request, "desk.html", league.display_name, **self._context(request, league))

    def now_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the live part of the desk, which a script of the page fetches repeatedly."""
        league = self.league_for(request, object_id, roles.Permission.WATCH)
        return render(request, "admin/matches/league/desk_now.html", self._context(request, league))

    def next_id_page(self, request: HttpRequest) -> HttpResponse:
        """Answer, as plain text, with the id that a new league named ``?name=`` would get; its form shows the id."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        name = request.GET.get("name", "")[:MAX_NAME_CHARS]
        return HttpResponse(entry.id_from_name(name), content_type="text/plain")

    def _context(self, request: HttpRequest, league: League) -> dict[str, Any]:
        every_gateway = request.user.is_superuser
        allowed = roles.allowed(request.user, league.pk)
        context = overview.context(league, allowed, every_gateway=every_gateway, every_agent="all" in request.GET)
        return {**context, "league": league, "plan_form": PlanForm(auto_id="plan-%s")}

    def settings_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show name and settings on the admin's ordinary change form."""
        league = self.league_for(request, object_id, roles.Permission.EDIT)
        one_button = {"show_save_and_add_another": False, "show_save_and_continue": False}
        shown = {"league": league, "title": _("Name and settings"), **one_button}
        return self.changeform_view(request, quote(league.pk), "", shown)

    # Buttons -------------------------------------------------------------------------------------

    def act(
        self, request: HttpRequest, object_id: str, action_name: str, subject: Subject, **place: Any
    ) -> HttpResponse:
        """Carry out the action of a button."""
        action = ACTIONS.get((subject, action_name))
        click = action.click if action is not None else None
        # For an action without a button the answer is 404, but only to people who may see the desk.
        needs = (click and action and action.needs) or roles.Permission.WATCH
        league = self.league_for(request, object_id, needs, in_demo=subject.in_demo)
        if action is None or click is None:
            raise Http404
        arguments, named = FINDERS[subject](request, league, action, **place)
        back = reverse(f"admin:matches_league_{subject.back}", args=[quote(league.pk)])
        if click.form is not None and request.method == "POST":
            form = click.form(request.POST)
            if not form.is_valid():
                self.message_user(request, first_error(form), messages.ERROR)
                return HttpResponseRedirect(back)
            arguments |= form.cleaned_data

        def confirm(done: Any) -> str:
            return _schedule_sentence(league, action) or action.sentence(done, named)

        return self.desk_do(request, action, arguments, confirm, back)


def _schedule_sentence(league: League, action: DeskAction) -> str:
    """What is said instead of the usual sentence if the action has a long schedule made, which takes seconds."""
    if action.subject != LEAGUE or action.name not in MAKES_SCHEDULE:
        return ""
    league.refresh_from_db(fields=["state"])
    return _("Registration is closed: the schedule is being made.") if making.is_being_made(league) else ""
