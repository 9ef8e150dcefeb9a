"""Agents in the admin: who has registered, whether they answer, who may judge."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from agents_registry import credentials, registration, words
from agents_registry.models import Agent, Kind, RosterEntry


@admin.register(Agent)
class AgentAdmin(ModelAdmin):
    """Facts are read-only; trust, readmission, owner and the shown name are the instructor's.

    What somebody may do depends on the agent's league, which is known above this package: see ``matches.desk.checks``.
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
    actions = ("check_now", "let_judge", "do_not_let_judge", "let_register_again", "revoke_tokens", "bring_back")

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

    def has_ask_permission(self, request: HttpRequest) -> bool:
        """Whether the actions that only ask something of agents are offered."""
        return self.has_change_permission(request)

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        registration.save_from_admin(obj)

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
        return format_html_join(mark_safe("<br>"), "{}", ((note,) for note in agent.notes))

    @admin.display(description=_("how it came"))
    def came(self, agent: Agent) -> str:
        return gettext("added by hand") if agent.by_hand else gettext("registered by itself")

    @admin.display(description=_("answers?"))
    def answer(self, agent: Agent) -> str:
        return words.answers(agent)

    @admin.action(description=_("Ask now whether they answer"), permissions=["ask"])
    def check_now(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.want_check(agent_ids=queryset.values_list("pk", flat=True))
        count = queryset.count()
        sentence = ngettext(
            "%(count)d agent is being asked: reload this page in a few seconds.",
            "%(count)d agents are being asked: reload this page in a few seconds.",
            count,
        )
        self.message_user(request, sentence % {"count": count}, messages.SUCCESS)

    @admin.action(description=_("May judge"), permissions=["change"])
    def let_judge(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.trust(agent_ids=queryset.values_list("pk", flat=True), trusted=True)
        self.message_user(request, gettext("These referees may judge from now on."), messages.SUCCESS)

    @admin.action(description=_("May not judge"), permissions=["change"])
    def do_not_let_judge(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.trust(agent_ids=queryset.values_list("pk", flat=True), trusted=False)
        self.message_user(request, gettext("These referees are given no further match."), messages.SUCCESS)

    @admin.action(description=_("Let register again without proof, once"), permissions=["change"])
    def let_register_again(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.readmit(agent_ids=queryset.values_list("pk", flat=True))
        self.message_user(
            request, gettext("Their next registration is taken, wherever it comes from."), messages.SUCCESS
        )

    @admin.action(description=_("Revoke all tokens"), permissions=["change"])
    def revoke_tokens(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        credentials.revoke_tokens(agent_ids=list(queryset.values_list("pk", flat=True)))
        self.message_user(request, gettext("They have to register again to send anything."), messages.SUCCESS)

    @admin.action(description=_("Bring back after a shutdown"), permissions=["change"])
    def bring_back(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.bring_back(agent_ids=queryset.values_list("pk", flat=True))
        self.message_user(request, gettext("They play the rounds that are still to come."), messages.SUCCESS)
