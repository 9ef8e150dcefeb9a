"""Leagues and matches in the admin: lists, settings, who may see which. The desk itself is in ``matches.desk.page``."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

import matches.desk.checks  # noqa: F401 - the admin of agents
from matches.desk import acting, busy, overview
from matches.desk.access import ListActions, OwnRows
from matches.desk.acting import DeskAction, Subject
from matches.desk.actions import ACTIONS
from matches.desk.corrections import CorrectionPages
from matches.desk.page import DeskPages
from matches.desk.papers import PaperPages
from matches.desk.people import PeoplePages
from matches.desk.settings_form import GROUPS, LeagueForm
from matches.league import entry, names
from matches.league.errors import ActionRefused
from matches.models import League, Match
from matches.view import roles
from matches.view.roles import Action
from matches.words import states


@admin.register(League)
class LeagueAdmin(CorrectionPages, PaperPages, PeoplePages, DeskPages, ListActions, OwnRows, ModelAdmin):
    """Leagues: the ones a person has a role in. Each has its desk; name and settings are a page of their own."""

    form = LeagueForm
    list_display = ("display_name", "league_id", "game_type", "how", "now", "board")
    list_filter = ("state", "game_type")
    search_fields = ("league_id", "display_name")
    ordering = ("demo", "-created_at")
    change_form_template = "admin/matches/league/change_form.html"
    subject = acting.LEAGUE

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

    # Who may see and change what -------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[League]:
        return super().get_queryset(request).filter(pk__in=roles.leagues(request.user, Action.WATCH).values("pk"))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: League | None = None) -> bool:
        if obj is not None:
            return roles.may(request.user, Action.WATCH, obj.pk)
        return self.has_add_permission(request) or roles.leagues(request.user, Action.WATCH).exists()

    def has_change_permission(self, request: HttpRequest, obj: League | None = None) -> bool:
        if obj is not None:
            return roles.may(request.user, Action.EDIT, obj.pk)
        return roles.leagues(request.user, Action.EDIT).exists()

    def has_delete_permission(self, request: HttpRequest, obj: League | None = None) -> bool:
        """History is kept; a league that should not go on is stopped."""
        return False

    # Creating and changing -------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: League, form: Any, change: bool) -> None:
        like = names.leagues_like(obj.pk, obj.display_name)
        if like and (not change or "display_name" in form.changed_data):
            warning = _("People will take this league for another, as the names look alike: %(others)s.")
            self.message_user(request, warning % {"others": ", ".join(like[:5])}, messages.WARNING)
        if change:
            self._carry_out(request, obj, (acting.LEAGUE, "edit"))
            return
        made = self._carry_out(request, obj, (acting.SITE, "open"), game_type=obj.game_type)
        obj.created_at = made.created_at

    def _carry_out(self, request: HttpRequest, obj: League, row: tuple[Subject, str], **given: Any) -> Any:
        given |= {"league_id": obj.pk, "display_name": obj.display_name, "settings": obj.settings}
        return acting.carry_out(ACTIONS[row], by=request.user, **given)

    def response_post_save_add(self, request: HttpRequest, obj: League) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:matches_league_change", args=[quote(obj.pk)]))

    response_post_save_change = response_post_save_add

    # The list --------------------------------------------------------------------------------

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def how(self, league: League) -> str:
        state = states.league_state(league.state)
        return _("%(state)s, paused") % {"state": state} if league.paused else state

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The rows with what is happening in each, for as many queries as one takes."""
        shown = super().get_changelist_instance(request)
        headlines = overview.headlines(list(shown.result_list))
        for league in shown.result_list:
            league.headline = headlines[league.pk]
        return shown

    @admin.display(description=gettext_lazy("now"))
    def now(self, league: Any) -> str:
        return str(league.headline)

    @admin.display(description=gettext_lazy("board"))
    def board(self, league: League) -> str:
        return _opens(reverse("board", args=[league.pk]))

    # The same from the list ------------------------------------------------------------------

    def do_to_rows(self, action: DeskAction, request: HttpRequest, queryset: QuerySet[League]) -> None:
        """Do to each league that is ticked what a row of the table says, and say for each what came of it."""
        theirs = set(roles.leagues(request.user, action.needs).values_list("pk", flat=True))
        if not theirs.issuperset(league.pk for league in queryset):
            raise PermissionDenied
        for league in queryset:
            do = partial(acting.carry_out, action, by=request.user, league_id=league.pk)
            try:
                sentence = action.sentence(busy.once_more(do), {})
                self.message_user(request, f"{league.display_name}: {sentence}", messages.SUCCESS)
            except ActionRefused as refusal:
                self.message_user(request, str(refusal), messages.ERROR)
            except busy.AWAY as error:
                self.message_user(request, f"{league.display_name}: {busy.sentence(error)}", messages.ERROR)


@admin.register(Match)
class MatchAdmin(OwnRows, ModelAdmin):
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
    list_filter = (("league", admin.RelatedOnlyFieldListFilter), "state", "status")
    list_select_related = ("league", "player_a", "player_b", "winner", "referee")
    search_fields = ("match_id",)
    list_display_links = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Match]:
        theirs = roles.leagues(request.user, Action.WATCH).values("pk")
        return super().get_queryset(request).filter(league__in=theirs)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Match | None = None) -> bool:
        if obj is not None:
            return roles.may(request.user, Action.WATCH, obj.league_id)
        return roles.leagues(request.user, Action.WATCH).exists()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Match | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Match | None = None) -> bool:
        return False

    @admin.display(description=gettext_lazy("transcript"))
    def page(self, match: Match) -> str:
        return _opens(reverse("match", args=[match.league_id, match.match_id]))


def _opens(url: str) -> str:
    return render_to_string("admin/matches/link.html", {"url": url, "text": _("open")})
