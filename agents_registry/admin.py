"""Agents in the admin: who has registered, whether they answer, who may judge."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.forms import ModelChoiceField
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from agents_registry import words
from agents_registry.filters import by_words
from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind, RosterEntry
from league_sdk.protocol.states import AgentState

AgentStates = by_words(_("state"), "state", lambda: [(state, words.state(state)) for state in AgentState])

if TYPE_CHECKING:
    _PersonChoice = ModelChoiceField[RosterEntry]
else:
    _PersonChoice = ModelChoiceField


class _PersonField(_PersonChoice):
    """Chooses a person of the roster."""

    def label_from_instance(self, obj: RosterEntry) -> str:
        return f"{isolated(obj.name)} <{obj.email}>"


class AgentAdmin(ModelAdmin):
    """Agents, read-only except for trust, readmission, owner and shown name.

    ``matches.desk.checks`` adds the actions and permissions and registers this class with the admin site.
    """

    list_display = ("code", "display_name", "kind", "league", "condition", "judges", "answer", "endpoint", "registered")
    list_display_links = ("code", "display_name")
    list_filter = ("kind", ("league", admin.RelatedOnlyFieldListFilter), AgentStates, "trusted", "by_hand")
    list_select_related = ("league",)
    search_fields = ("code", "display_name", "endpoint", "owner__name", "owner__email")
    ordering = ("league", "kind", "pk")
    fields = (
        ("code", "kind", "league"),
        "display_name",
        "owner",
        ("trusted", "readmit"),
        ("condition", "silences"),
        "answer",
        "endpoint",
        ("name", "version"),
        "games",
        ("speaks", "max_concurrent"),
        "understands",
        "remarks",
        "how_added",
        ("registered", "heard_from", "pinged"),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> tuple[str, ...]:
        editable = {"display_name", "trusted", "readmit", "owner"}
        names = [name for row in self.fields for name in ((row,) if isinstance(row, str) else row)]
        return tuple(name for name in names if name not in editable)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Only people on the roster of the agent's league can be its owner."""
        if db_field.name == "owner":
            number = request.resolver_match.kwargs.get("object_id", "") if request.resolver_match else ""
            agent = Agent.objects.filter(pk=number).first() if number.isdigit() else None
            people = RosterEntry.objects.filter(league_id=agent.league_id) if agent else RosterEntry.objects.none()
            kwargs |= {"queryset": people.order_by("name"), "form_class": _PersonField}
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and db_field.name == "owner":
            # People are edited on the league's roster page.
            field.widget.can_add_related = field.widget.can_change_related = field.widget.can_view_related = False
        return field

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Add a player by hand on a page of the leagues' admin: agents usually register themselves."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("admin:matches_league_add_player"))

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """Agents are never deleted here: their matches are on the schedule."""
        return False

    @admin.display(description=_("registered"), ordering="registered_at")
    def registered(self, agent: Agent) -> str:
        return _time(agent.registered_at)

    @admin.display(description=_("last heard"), ordering="heard_at")
    def heard_from(self, agent: Agent) -> str:
        return _time(agent.heard_at)

    @admin.display(description=_("last asked"), ordering="pinged_at")
    def pinged(self, agent: Agent) -> str:
        return _time(agent.pinged_at)

    @admin.display(description=_("state"), ordering="state")
    def condition(self, agent: Agent) -> str:
        return words.state(agent.state)

    @admin.display(description=_("dialect"))
    def speaks(self, agent: Agent) -> str:
        return format_html("<code>{}</code>", agent.dialect)

    @admin.display(description=_("may judge"), ordering="trusted")
    def judges(self, agent: Agent) -> str:
        if agent.kind != Kind.REFEREE:
            return "–"
        return gettext("yes") if agent.trusted else gettext("no")

    @admin.display(description=_("games"))
    def games(self, agent: Agent) -> str:
        return ", ".join(agent.game_types) or gettext("every game")

    @admin.display(description=_("understands"))
    def understands(self, agent: Agent) -> str:
        return words.understands(agent)

    @admin.display(description=_("what was odd at registration"))
    def remarks(self, agent: Agent) -> str:
        if not agent.notes:
            return gettext("nothing")
        return render_to_string("admin/agents_registry/remarks.html", {"notes": words.remarks(agent)})

    @admin.display(description=_("how it came"))
    def how_added(self, agent: Agent) -> str:
        return gettext("added by hand") if agent.by_hand else gettext("registered by itself")

    @admin.display(description=_("answers?"))
    def answer(self, agent: Agent) -> str:
        return words.answers(agent)


def _time(at: datetime | None) -> str:
    """A time that the page shows in the reader's time zone and in UTC."""
    return render_to_string("admin/time.html", {"at": at}) if at is not None else "–"
