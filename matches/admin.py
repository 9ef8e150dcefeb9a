"""Leagues in the admin: create, watch, close registration, start, pause, resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

import matches.check_admin  # noqa: F401 - agents with their checks take the place of agents
from agents_registry import registration
from agents_registry.models import Kind
from matches import checks, desk
from matches.forms import GROUPS, LeagueForm
from matches.league import entry, lifecycle, play, results
from matches.league.errors import ActionRefused
from matches.models import League, Match
from matches.people_admin import PeoplePages


def _check_agents(*, league_id: str) -> None:
    league = lifecycle.get_league(league_id)
    registration.want_check(agent_ids=[agent.pk for agent in desk.agents(league)])


def _check_players(*, league_id: str) -> None:
    league = lifecycle.get_league(league_id)
    checks.ask_for_agents(agent_ids=league.agents.filter(kind=Kind.PLAYER).values_list("pk", flat=True))


VERBS: dict[str, tuple[Callable[..., Any], Any]] = {
    "close": (lifecycle.close_registration, gettext_lazy("Registration is closed, the schedule is made.")),
    "start": (lifecycle.start_league, gettext_lazy("The round is started.")),
    "run_all": (lifecycle.run_all, gettext_lazy("All rounds are played now, one after the other.")),
    "pause": (lifecycle.pause, gettext_lazy("Paused: matches in play finish, no other starts.")),
    "resume": (lifecycle.resume, gettext_lazy("The league goes on.")),
    "stop": (lifecycle.stop, gettext_lazy("The league is stopped for good.")),
    "check_all": (_check_players, gettext_lazy("The players are being checked: reload this page in a few seconds.")),
    "check": (_check_agents, gettext_lazy("The agents are being asked: reload this page in a few seconds.")),
}
"""What the buttons do, and the sentence that confirms it."""


@admin.register(League)
class LeagueAdmin(PeoplePages, admin.ModelAdmin):
    """A league's settings, and above them its state and what can be done now."""

    form = LeagueForm
    list_display = ("display_name", "league_id", "game_type", "state", "paused", "now", "board")
    list_filter = ("state", "game_type")
    search_fields = ("league_id", "display_name")
    ordering = ("demo", "-created_at")
    change_form_template = "admin/matches/league/change_form.html"
    actions = ("start_next_round", "play_all_rounds", "pause_leagues", "resume_leagues")

    def get_fieldsets(self, request: HttpRequest, obj: League | None = None) -> Any:
        settings = [(title, {"fields": (names,), "classes": ("collapse",)}) for title, names in GROUPS]
        return [(None, {"fields": ("display_name", "league_id", "game_type")}), *settings]

    def get_form(self, request: HttpRequest, obj: League | None = None, change: bool = False, **kwargs: Any) -> Any:
        # The settings are fields of the form, not of the model: Django must not look for them there.
        return super().get_form(request, obj, change=change, **kwargs | {"fields": self._model_fields(obj)})

    def _model_fields(self, obj: League | None) -> tuple[str, ...]:
        return ("display_name",) if obj else ("display_name", "league_id", "game_type")

    def get_readonly_fields(self, request: HttpRequest, obj: League | None = None) -> tuple[str, ...]:
        return ("league_id", "game_type") if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"league_id": entry.next_league_id(), **super().get_changeform_initial_data(request)}

    def has_delete_permission(self, request: HttpRequest, obj: League | None = None) -> bool:
        """History is kept; a league that should not go on is stopped."""
        return False

    def save_model(self, request: HttpRequest, obj: League, form: Any, change: bool) -> None:
        if change:
            lifecycle.edit_league(league_id=obj.pk, display_name=obj.display_name, settings=obj.settings)
            return
        made = lifecycle.create_league(
            league_id=obj.pk, display_name=obj.display_name, game_type=obj.game_type, settings=obj.settings
        )
        obj.created_at = made.created_at

    @admin.display(description=gettext_lazy("now"))
    def now(self, league: League) -> str:
        return desk.headline(league)

    @admin.display(description=gettext_lazy("board"))
    def board(self, league: League) -> str:
        return format_html('<a href="{}">{}</a>', reverse("board", args=[league.pk]), _("open"))

    # The desk above the form -----------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        return [
            path(
                "<path:object_id>/do/<slug:verb>/", self.admin_site.admin_view(self.do_verb), name="matches_league_do"
            ),
            path(
                "<path:object_id>/match/<slug:match_id>/<slug:verb>/",
                self.admin_site.admin_view(self.do_to_match),
                name="matches_league_match",
            ),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # The admin writes ids with a "_" in a spelling of its own.
        league = League.objects.filter(pk=unquote(object_id)).first()
        shown = desk.context(league) if league is not None else {}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **shown})

    def do_verb(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """One button of the desk."""
        if verb not in VERBS:
            raise Http404
        action, done = VERBS[verb]
        league_id = unquote(object_id)
        return self._do(request, league_id, lambda: action(league_id=league_id), str(done))

    def do_to_match(self, request: HttpRequest, object_id: str, match_id: str, verb: str) -> HttpResponse:
        """Release or cancel a held match."""
        league_id = unquote(object_id)
        if verb == "release":
            done = _("%(match)s is played again.") % {"match": match_id}
            return self._do(request, league_id, lambda: play.release(league_id=league_id, match_id=match_id), done)
        if verb == "cancel":
            why = _("cancelled by the instructor")
            done = _("%(match)s is cancelled and counts nowhere.") % {"match": match_id}
            return self._do(
                request, league_id, lambda: results.cancel(league_id=league_id, match_id=match_id, why=why), done
            )
        raise Http404

    def _do(self, request: HttpRequest, league_id: str, action: Callable[[], Any], done: str) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_change_permission(request):
            raise PermissionDenied
        try:
            action()
            self.message_user(request, done, messages.SUCCESS)
        except ActionRefused as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        return HttpResponseRedirect(reverse("admin:matches_league_change", args=[quote(league_id)]))

    # The same from the list ------------------------------------------------------------------

    @admin.action(description=gettext_lazy("Start the next round"))
    def start_next_round(self, request: HttpRequest, queryset: QuerySet[League]) -> None:
        self._do_to_all(request, queryset, "start")

    @admin.action(description=gettext_lazy("Run all rounds"))
    def play_all_rounds(self, request: HttpRequest, queryset: QuerySet[League]) -> None:
        self._do_to_all(request, queryset, "run_all")

    @admin.action(description=gettext_lazy("Pause"))
    def pause_leagues(self, request: HttpRequest, queryset: QuerySet[League]) -> None:
        self._do_to_all(request, queryset, "pause")

    @admin.action(description=gettext_lazy("Resume"))
    def resume_leagues(self, request: HttpRequest, queryset: QuerySet[League]) -> None:
        self._do_to_all(request, queryset, "resume")

    def _do_to_all(self, request: HttpRequest, queryset: QuerySet[League], verb: str) -> None:
        action, done = VERBS[verb]
        for league in queryset:
            try:
                action(league_id=league.pk)
                self.message_user(request, f"{league.display_name}: {done}", messages.SUCCESS)
            except ActionRefused as refusal:
                self.message_user(request, str(refusal), messages.ERROR)


@admin.register(Match)
class MatchAdmin(admin.ModelAdmin):
    """Matches to look up; what can be done to them stands on the league's page."""

    list_display = (
        "match_id",
        "league",
        "player_a",
        "player_b",
        "state",
        "status",
        "winner",
        "referee",
        "attempt",
        "page",
    )
    list_filter = ("league", "state", "status")
    list_select_related = ("league", "player_a", "player_b", "winner", "referee")
    search_fields = ("match_id",)
    list_display_links = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Match | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Match | None = None) -> bool:
        return False

    @admin.display(description=gettext_lazy("transcript"))
    def page(self, match: Match) -> str:
        return format_html('<a href="{}">{}</a>', reverse("match", args=[match.league_id, match.match_id]), _("open"))
