"""Page of the desk: a league is put into a series, cloned, or deleted once the page has said what would go."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.utils import quote
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents_registry.models import Kind
from league_sdk.protocol.limits import MAX_ID_CHARS, MAX_NAME_CHARS
from league_sdk.protocol.states import LeagueState
from matches.desk.access import LeagueAccess
from matches.desk.acting import LEAGUE
from matches.desk.actions import ACTIONS
from matches.league import entry
from matches.league.leagues import named
from matches.models import League, Message
from matches.view import roles

CLONE, DELETE, PUT, LEAVE = "clone", "delete", "put_in_series", "leave_series"


class CloneForm(forms.Form):
    """A new league like this one."""

    display_name = forms.CharField(
        label=gettext_lazy("Name of the new league"),
        max_length=MAX_NAME_CHARS,
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    wanted_id = forms.CharField(
        label=gettext_lazy("Its id; left empty, it is made from the name"),
        max_length=MAX_ID_CHARS,
        required=False,
        widget=forms.TextInput(attrs={"dir": "ltr", "autocomplete": "off"}),
    )
    with_settings = forms.BooleanField(label=gettext_lazy("with the same settings"), required=False, initial=True)
    with_roster = forms.BooleanField(
        label=gettext_lazy("with the same people on the roster"), required=False, initial=True
    )
    with_series = forms.BooleanField(label=gettext_lazy("in the same series"), required=False, initial=True)
    with_codes = forms.BooleanField(
        label=gettext_lazy("with the same codes: otherwise everybody gets a new personal code"), required=False
    )

    def clean(self) -> dict[str, Any]:
        """Make the id if none was given."""
        cleaned = super().clean() or self.cleaned_data
        cleaned["wanted_id"] = cleaned.get("wanted_id") or entry.id_for_new_name(cleaned.get("display_name", ""))
        return cleaned


class SeriesForm(forms.Form):
    """The series that a league is put into."""

    series_id = forms.CharField(
        label=gettext_lazy("Id of the series"),
        max_length=MAX_ID_CHARS,
        widget=forms.TextInput(attrs={"dir": "ltr", "autocomplete": "off"}),
    )
    series_name = forms.CharField(
        label=gettext_lazy("Its name, if it is new or is to change"),
        max_length=MAX_NAME_CHARS,
        required=False,
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )


class DeletionForm(forms.Form):
    """The id of the league once more."""

    typed = forms.CharField(
        label=gettext_lazy("Type the id of the league"),
        max_length=MAX_ID_CHARS,
        widget=forms.TextInput(attrs={"dir": "ltr", "autocomplete": "off"}),
    )


class SeasonPages(LeagueAccess):
    """Mixed into the admin of leagues."""

    pages = {"season": "<path:object_id>/season/"}

    def season_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the forms of series, clone and deletion; a POST carries one of them out."""
        league = self.league_for(request, object_id, roles.Permission.EDIT, in_demo=False)
        do = request.POST.get("do", "")
        offered = {CLONE: CloneForm, PUT: SeriesForm, LEAVE: forms.Form, DELETE: DeletionForm}
        shown = {
            name: form(request.POST if do == name else None, auto_id=f"{name}-%s") for name, form in offered.items()
        }
        if do in shown:
            done = self.desk_form(request, shown[do], ACTIONS[LEAGUE, do], league_id=league.pk)
            if shown[do].is_valid():
                if do == DELETE:
                    return HttpResponseRedirect(reverse("admin:matches_league_changelist"))
                page, of_league = ("change", done) if do == CLONE else ("season", league)
                return HttpResponseRedirect(reverse(f"admin:matches_league_{page}", args=[quote(of_league.pk)]))
        return self.desk_page(
            request,
            "season.html",
            _("Series, clone and end of %(league)s") % named(league),
            league=league,
            clone=shown[CLONE] if request.user.has_perm("matches.add_league") else None,
            series=shown[PUT],
            deletion=shown[DELETE] if league.state != LeagueState.RUNNING else None,
            counted=counted(league),
        )


def counted(league: League) -> dict[str, int]:
    """READ: what would be deleted with a league, in words, and how many."""
    players = league.agents.filter(kind=Kind.PLAYER).count()
    return {
        _("players"): players,
        _("other agents"): league.agents.count() - players,
        _("people on the roster"): league.roster.count(),
        _("rounds"): league.rounds.count(),
        _("matches"): league.matches.count(),
        _("messages of matches"): Message.objects.filter(match__league=league).count(),
        _("events"): league.events.count(),
        _("corrections"): league.corrections.count(),
        _("notices"): league.notices.count(),
    }
