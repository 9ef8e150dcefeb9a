"""Pages of the desk: the roles in a league, its roster, and agents that are added by hand."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents_registry.rosters import files as roster_files
from agents_registry.rosters import roster
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS, MAX_NAME_CHARS
from league_sdk.protocol.states import LeagueState
from matches.desk import names
from matches.desk.access import LeagueAccess
from matches.desk.acting import LEAGUE, ROLE, ROSTER
from matches.desk.actions import ACTIONS
from matches.desk.forms import RoleForm, chooser
from matches.desk.shown import carried
from matches.league.leagues import named
from matches.models import League
from matches.view import roles


class ImportForm(forms.Form):
    """A roster as a CSV file or as pasted text; with a new one, how many agents each person may bring."""

    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        required=False,
        widget=chooser(".csv,.txt,text/csv,text/plain", roster_files.MAX_CSV_BYTES),
    )
    text = forms.CharField(
        label=gettext_lazy("or paste it here"),
        required=False,
        max_length=roster_files.MAX_CSV_CHARS,
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 5, "cols": 60, "placeholder": "name,email,code\nDana Levi,dana@example.org,", "dir": "auto"}
        ),
    )

    agents_per_person = forms.IntegerField(
        label=gettext_lazy("Agents that one personal code may register"),
        help_text=gettext_lazy("Empty: as it is in the settings of the league."),
        required=False,
        min_value=1,
        max_value=1000,
    )

    def clean(self) -> dict[str, Any]:
        """Put the text of the file, or the pasted text, into ``text``."""
        cleaned = super().clean() or self.cleaned_data
        file = cleaned.pop("file", None)
        if file is not None:
            if file.size > roster_files.MAX_CSV_BYTES:
                raise forms.ValidationError(_("The file is too large for a roster."))
            try:
                cleaned["text"] = roster_files.decode(file.read())
            except roster_files.RosterRefused as refused:
                raise forms.ValidationError(refused.problems) from None
        elif not cleaned.get("text") and not self.errors:
            raise forms.ValidationError(_("Choose a file, or paste the lines of one."))
        return cleaned


class PlayerForm(forms.Form):
    """Adds an agent that never registers by itself."""

    league = forms.ModelChoiceField(
        label=gettext_lazy("League"),
        queryset=League.objects.none(),
        help_text=gettext_lazy("Leagues that are open for registration."),
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=MAX_NAME_CHARS)
    endpoint = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=MAX_ENDPOINT_CHARS,
        help_text=gettext_lazy("As this server reaches it, such as http://192.168.1.20:8101/mcp."),
        widget=forms.TextInput(attrs={"size": 60, "dir": "ltr"}),
    )
    wanted_id = forms.CharField(
        label=gettext_lazy("Id"),
        required=False,
        max_length=32,
        help_text=gettext_lazy("Only if the agent calls itself by one, such as P07. Empty: the next free one."),
    )

    def __init__(self, user: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = roles.leagues(user, roles.Permission.EDIT)
        open_ones = own.filter(state=LeagueState.REGISTRATION, demo=False)
        chosen = self.fields["league"]
        if isinstance(chosen, forms.ModelChoiceField):
            chosen.queryset = open_ones.order_by("-created_at")

    def clean(self) -> dict[str, Any]:
        """Replace the league by ``league_id``."""
        cleaned = super().clean() or self.cleaned_data
        league = cleaned.pop("league", None)
        return cleaned | {"league_id": league.pk} if league is not None else cleaned


def _mark(people: list[Any], strangers: list[Any]) -> None:
    """Set ``resembles`` on people of the roster and on all players: the others whose names look like theirs, as text.

    Args:
        people: the people on the roster.
        strangers: the players without an owner.
    """
    players = [*(agent for person in people for agent in person.agents.all()), *strangers]
    for rows, marks in ((people, names.people_marks(people)), (players, names.marks(players))):
        for row in rows:
            row.resembles = marks.get(row.pk, "")


class PeoplePages(LeagueAccess):
    """Mixed into the admin of leagues."""

    pages = {
        "add_player": "add-player/",
        "roster": "<path:object_id>/roster/",
        "roster_file": "<path:object_id>/roster.csv",
        "people": "<path:object_id>/people/",
    }

    # Who runs the league --------------------------------------------------------------------------

    def roles_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """List instructors and assistants, with a form that gives a role."""
        league = self.league_for(request, object_id, roles.Permission.EDIT, in_demo=False)
        form = RoleForm(request.POST if request.method == "POST" else None)
        if self.desk_form(request, form, ACTIONS[ROLE, "give"], league_id=league.pk):
            return HttpResponseRedirect(reverse("admin:matches_league_people", args=[quote(league.pk)]))
        held = list(league.roles.select_related("user").order_by("-name", "user__username"))
        shown = carried(["roles"], league)
        title = _("Who runs %(league)s") % named(league)
        return self.desk_page(request, "roles.html", title, league=league, form=form, held=held, shown=shown)

    people_page = roles_page
    """The URL kept its name and path from the time when the page was called after people."""

    # The roster -----------------------------------------------------------------------------------

    def roster_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the roster with its agents, and import a roster."""
        league = self.league_for(request, object_id, roles.Permission.EDIT, in_demo=False)
        sent = request.POST if request.method == "POST" else None
        # A new roster offers 1; a league that has one keeps what it has.
        offered = league.rules.agents_per_person if roster.exists(league.pk) else 1
        form = ImportForm(sent, request.FILES or None, initial={"agents_per_person": offered})
        problems: list[str] = []
        try:
            if self.desk_form(request, form, ACTIONS[ROSTER, "import"], league_id=league.pk):
                return HttpResponseRedirect(reverse("admin:matches_league_roster", args=[quote(league.pk)]))
        except roster_files.RosterRefused as refused:
            problems = refused.problems
        people = list(roster.people(league.pk))
        strangers = list(roster.without_owner(league.pk))
        _mark(people, strangers)
        return self.desk_page(
            request,
            "roster.html",
            _("Roster of %(league)s") % named(league),
            league=league,
            form=form,
            problems=problems,
            shown=carried(["roster"], league),
            people=people,
            people_with_agent=sum(1 for person in people if person.agents.all()),
            strangers=strangers,
        )

    def roster_file_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Download the roster with its personal codes."""
        league = self.league_for(request, object_id, roles.Permission.EDIT, in_demo=False)
        disposition = {"Content-Disposition": f'attachment; filename="roster-{league.pk}.csv"'}
        return HttpResponse(roster.export_csv(league.pk), "text/csv; charset=utf-8", headers=disposition)

    def add_player_page(self, request: HttpRequest) -> HttpResponse:
        """Add an agent that never registers by itself; ``?league=`` preselects the league."""
        if not roles.leagues(request.user, roles.Permission.EDIT).exists():
            raise PermissionDenied
        initial = {"league": request.GET.get("league", "").replace("\x00", "")}
        form = PlayerForm(request.user, request.POST if request.method == "POST" else None, initial=initial)
        agent = self.desk_form(request, form, ACTIONS[LEAGUE, "add_player"])
        if agent is not None:
            return HttpResponseRedirect(reverse("admin:matches_league_change", args=[quote(agent.league_id)]))
        return self.desk_page(request, "add_player.html", _("Add an agent by hand"), form=form)
