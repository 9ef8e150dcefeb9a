"""Agents in the admin: who has registered, whether they answer, who may judge."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from agents_registry import words
from agents_registry.models import Agent, Kind, RosterEntry


class AgentAdmin(ModelAdmin):
    """Facts are read-only; trust, readmission, owner and the shown name are the instructor's.

    What can be done to an agent, and by whom, is known above this package: ``matches.desk.checks`` completes it.
    """

    list_display = ("code", "display_name", "kind", "league", "state", "judges", "answer", "endpoint", "registered_at")
    list_display_links = ("code", "display_name")
    list_filter = ("kind", ("league", admin.RelatedOnlyFieldListFilter), "state", "trusted", "by_hand")
    list_select_related = ("league",)
    search_fields = ("code", "display_name", "endpoint", "owner__name", "owner__email")
    ordering = ("league", "kind", "pk")
    fields = (
        ("code", "kind", "league"),
        "display_name",
        "owner",
        ("trusted", "readmit"),
        ("state", "silences"),
        "answer",
        "endpoint",
        ("name", "version"),
        "games",
        ("dialect", "max_concurrent"),
        "understands",
        "remarks",
        "came",
        ("registered_at", "heard_at", "checked_at"),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> tuple[str, ...]:
        editable = {"display_name", "trusted", "readmit", "owner"}
        named = [name for row in self.fields for name in ((row,) if isinstance(row, str) else row)]
        return tuple(name for name in named if name not in editable)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """An owner is somebody of the roster of the agent's own league."""
        if db_field.name == "owner":
            number = request.resolver_match.kwargs.get("object_id", "") if request.resolver_match else ""
            shown = Agent.objects.filter(pk=number).first() if number.isdigit() else None
            people = RosterEntry.objects.filter(league_id=shown.league_id) if shown else RosterEntry.objects.none()
            kwargs["queryset"] = people.order_by("name")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "owner":
            # People are edited on the league's roster page.
            field.widget.can_add_related = field.widget.can_change_related = field.widget.can_view_related = False
        return field

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Agents register themselves; those that never do are added on a page of the leagues' admin."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("admin:matches_league_add_player"))

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """An agent that has a schedule cannot be taken out of it by deleting a row."""
        return False

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
        return render_to_string("admin/agents_registry/remarks.html", {"notes": agent.notes})

    @admin.display(description=_("how it came"))
    def came(self, agent: Agent) -> str:
        return gettext("added by hand") if agent.by_hand else gettext("registered by itself")

    @admin.display(description=_("answers?"))
    def answer(self, agent: Agent) -> str:
        return words.answers(agent)
