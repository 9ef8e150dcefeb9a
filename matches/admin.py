"""The admin of leagues and matches: lists, settings, permissions. The desk itself is in ``matches.desk.page``."""

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

import matches.desk.audit
import matches.desk.checks  # noqa: F401 - the admin of agents
from agents_registry.isolating import isolated
from matches.desk import acting, lists, overview
from matches.desk.access import OwnRows, do_and_say
from matches.desk.acting import DeskAction, Subject
from matches.desk.actions import ACTIONS
from matches.desk.compatibility import CompatibilityPages
from matches.desk.corrections import CorrectionPages
from matches.desk.facts import Facts
from matches.desk.merging import LocksRow
from matches.desk.page import DeskPages
from matches.desk.papers import PaperPages
from matches.desk.people import PeoplePages
from matches.desk.remote import RemotePages
from matches.desk.seasons import SeasonPages
from matches.desk.settings_form import GROUPS, LeagueForm
from matches.desk.shown import Values
from matches.desk.ticked import ListActions
from matches.league import entry, names
from matches.models import League, Match
from matches.view import roles
from matches.view.roles import Permission
from matches.words import states


@admin.register(League)
class LeagueAdmin(
    LocksRow,
    CorrectionPages,
    PaperPages,
    PeoplePages,
    RemotePages,
    CompatibilityPages,
    SeasonPages,
    DeskPages,
    ListActions,
    OwnRows,
    ModelAdmin,
):
    """The leagues that a user has a role in. The page of a league is its desk; name and settings have another page."""

    form = LeagueForm
    list_display = ("display_name", "league_id", "game_type", "state_word", "now", "board")
    list_filter = (lists.LeagueStates, lists.Games, lists.Archive)
    search_fields = ("league_id", "display_name")
    ordering = ("demo", "-created_at")
    change_form_template = "admin/matches/league/change_form.html"
    subject = acting.LEAGUE
    league_field = "pk"

    def get_fieldsets(self, request: HttpRequest, obj: League | None = None) -> Any:
        settings = [(title, {"fields": (names,)}) for title, names in GROUPS]
        return [(None, {"fields": ("display_name", "league_id", "game_type")}), *settings]

    def get_form(self, request: HttpRequest, obj: League | None = None, change: bool = False, **kwargs: Any) -> Any:
        # The settings are fields of the form, not of the model: Django must not look for them in the model.
        fields = ("display_name",) if obj else ("display_name", "league_id", "game_type")
        return super().get_form(request, obj, change=change, **kwargs | {"fields": fields})

    def get_readonly_fields(self, request: HttpRequest, obj: League | None = None) -> tuple[str, ...]:
        return ("league_id", "game_type") if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        # Players in the lobby were told the id of the next league, so it is filled in; the instructor may change it.
        league_id = entry.next_league_id() if entry.is_promised() else ""
        game_type = League._meta.get_field("game_type").get_default()
        given = super().get_changeform_initial_data(request)
        return {"league_id": league_id, "game_type": game_type, **given}

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        # One button to save: the desk of the new league opens next.
        one_button = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, one_button | (extra_context or {}))

    # Who may see and change what -------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[League]:
        return super().get_queryset(request).filter(pk__in=roles.leagues(request.user, Permission.WATCH).values("pk"))

    # Creating and changing -------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: League, form: Any, change: bool) -> None:
        similar = names.leagues_like(obj.pk, obj.display_name)
        if similar and (not change or "display_name" in form.changed_data):
            warning = _("People will take this league for another, as the names look alike: %(others)s.")
            self.message_user(request, warning % {"others": ", ".join(similar[:5])}, messages.WARNING)
        if change:
            self._carry_out(request, obj, (acting.LEAGUE, "edit"))
            return
        made = self._carry_out(request, obj, (acting.SITE, "open"), game_type=obj.game_type)
        obj.created_at = made.created_at

    def _carry_out(self, request: HttpRequest, obj: League, row: tuple[Subject, str], **given: Any) -> Any:
        given |= {"league_id": obj.pk, "display_name": obj.display_name, "settings": obj.settings}
        return acting.carry_out(ACTIONS[row], by=request.user, **given)

    def response_post_save_add(self, request: HttpRequest, obj: League) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse("admin:matches_league_change", args=[quote(obj.pk)]))

    response_post_save_change = response_post_save_add

    # The list --------------------------------------------------------------------------------

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def state_word(self, league: League) -> str:
        state = states.league_state(league.state)
        return _("%(state)s, paused") % {"state": state} if league.paused else state

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Add to each row what is happening in the league, with as many queries as for one league."""
        change_list = super().get_changelist_instance(request)
        headlines = overview.headlines(list(change_list.result_list))
        for league in change_list.result_list:
            league.headline = headlines[league.pk]
        return change_list

    @admin.display(description=gettext_lazy("now"))
    def now(self, league: Any) -> str:
        return str(league.headline)

    @admin.display(description=gettext_lazy("board"))
    def board(self, league: League) -> str:
        return _opens(reverse("board", args=[league.pk]))

    # Actions on ticked rows ------------------------------------------------------------------

    def check_rows(self, action: DeskAction, request: HttpRequest, queryset: QuerySet[League]) -> None:
        """Refuse an action unless the person may do it in every ticked league."""
        if action.needs is None:
            raise PermissionDenied
        theirs = set(roles.leagues(request.user, action.needs).values_list("pk", flat=True))
        if not theirs.issuperset(league.pk for league in queryset):
            raise PermissionDenied

    def about(self, request: HttpRequest, row: League) -> Facts:
        """The facts of a ticked league. They cost some queries for each, as the action itself does."""
        return Facts(row, roles.allowed(request.user, row.pk))

    def do_to_rows(self, action: DeskAction, request: HttpRequest, queryset: QuerySet[League], shown: Values) -> None:
        """Carry out an action on each ticked league, and show the result of each."""
        confirm = partial(action.sentence, named={})
        for league in queryset:
            of = f"{isolated(league.display_name)}: "
            do_and_say(self, request, action, confirm, of=of, shown=shown, league_id=league.pk)


@admin.register(Match)
class MatchAdmin(OwnRows, ModelAdmin):
    """A read-only list of matches; actions on them are on the league's desk.

    It is sorted by columns with an index only: there may be millions of matches, and the database ends what takes long.
    """

    list_display = (
        *("number", "league_name", "first", "second", "state_word", "result", "won_by", "judged_by", "attempt_number"),
        "page",
    )
    list_filter = (("league", lists.OneLeague), lists.MatchStates, lists.Results)
    list_select_related = ("league", "player_a", "player_b", "winner", "referee")
    search_fields = ("match_id",)
    list_display_links = None
    # Only these columns are shown: other fields, such as the seed of a match in play, are for referees only.
    fields = list_display

    def get_queryset(self, request: HttpRequest) -> QuerySet[Match]:
        theirs = roles.leagues(request.user, Permission.WATCH).values("pk")
        return super().get_queryset(request).filter(league__in=theirs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Match | None = None) -> bool:
        return False

    @admin.display(description=gettext_lazy("Match"), ordering="pk")
    def number(self, match: Match) -> str:
        return match.match_id

    @admin.display(description=gettext_lazy("league"), ordering="league")
    def league_name(self, match: Match) -> str:
        return match.league.display_name

    @admin.display(description=gettext_lazy("Player A"), ordering="player_a")
    def first(self, match: Match) -> str:
        return str(match.player_a)

    @admin.display(description=gettext_lazy("Player B"), ordering="player_b")
    def second(self, match: Match) -> str:
        return str(match.player_b)

    @admin.display(description=gettext_lazy("state"))
    def state_word(self, match: Match) -> str:
        return states.match_state(match.state)

    @admin.display(description=gettext_lazy("Result"))
    def result(self, match: Match) -> str:
        return lists.result_word(match.status)

    @admin.display(description=gettext_lazy("Winner"))
    def won_by(self, match: Match) -> str:
        return str(match.winner or "–")

    @admin.display(description=gettext_lazy("Referee"))
    def judged_by(self, match: Match) -> str:
        return str(match.referee or "–")

    @admin.display(description=gettext_lazy("Attempt"))
    def attempt_number(self, match: Match) -> int:
        return match.attempt

    @admin.display(description=gettext_lazy("transcript"))
    def page(self, match: Match) -> str:
        return _opens(reverse("match", args=[match.league_id, match.match_id]))


def _opens(url: str) -> str:
    return render_to_string("admin/matches/link.html", {"url": url, "text": _("open")})
