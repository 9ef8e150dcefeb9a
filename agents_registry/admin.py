"""Agents in the admin: who has registered, whether they answer, who may judge."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents_registry import registration
from agents_registry.models import Agent
from agents_registry.words import answers


@admin.register(Agent)
class AgentAdmin(admin.ModelAdmin):
    """Facts are read-only; trust, readmission and the shown name are the instructor's."""

    list_display = ("code", "display_name", "kind", "league", "state", "trusted", "answer", "endpoint", "registered_at")
    list_display_links = ("code", "display_name")
    list_filter = ("kind", "league", "state", "trusted")
    list_select_related = ("league",)
    search_fields = ("code", "display_name", "endpoint")
    ordering = ("league", "kind", "pk")
    fields = (
        ("code", "kind", "league"),
        "display_name",
        ("trusted", "readmit"),
        ("state", "silences"),
        "answer",
        "endpoint",
        ("name", "version", "game_types"),
        ("dialect", "max_concurrent"),
        "notes",
        ("registered_at", "heard_at", "checked_at"),
    )
    actions = ("check_now", "let_judge", "do_not_let_judge", "let_register_again", "revoke_tokens", "bring_back")

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> tuple[str, ...]:
        editable = {"display_name", "trusted", "readmit"}
        named = [name for row in self.fields for name in ((row,) if isinstance(row, str) else row)]
        return tuple(name for name in named if name not in editable)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Agents register themselves."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """An agent that has a schedule cannot be taken out of it by deleting a row."""
        return False

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        registration.save_from_admin(obj)

    @admin.display(description=_("answers?"))
    def answer(self, agent: Agent) -> str:
        return answers(agent)

    @admin.action(description=_("Ask now whether they answer"))
    def check_now(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.want_check(agent_ids=queryset.values_list("pk", flat=True))
        count = queryset.count()
        sentence = ngettext(
            "%(count)d agent is being asked: reload this page in a few seconds.",
            "%(count)d agents are being asked: reload this page in a few seconds.",
            count,
        )
        self.message_user(request, sentence % {"count": count}, messages.SUCCESS)

    @admin.action(description=_("May judge"))
    def let_judge(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.trust(agent_ids=queryset.values_list("pk", flat=True), trusted=True)
        self.message_user(request, gettext("These referees may judge from now on."), messages.SUCCESS)

    @admin.action(description=_("May not judge"))
    def do_not_let_judge(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.trust(agent_ids=queryset.values_list("pk", flat=True), trusted=False)
        self.message_user(request, gettext("These referees are given no further match."), messages.SUCCESS)

    @admin.action(description=_("Let register again without proof, once"))
    def let_register_again(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.readmit(agent_ids=queryset.values_list("pk", flat=True))
        self.message_user(
            request, gettext("Their next registration is taken, wherever it comes from."), messages.SUCCESS
        )

    @admin.action(description=_("Revoke all tokens"))
    def revoke_tokens(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.revoke_tokens(agent_ids=list(queryset.values_list("pk", flat=True)))
        self.message_user(request, gettext("They have to register again to send anything."), messages.SUCCESS)

    @admin.action(description=_("Bring back after a shutdown"))
    def bring_back(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        registration.bring_back(agent_ids=queryset.values_list("pk", flat=True))
        self.message_user(request, gettext("They play the rounds that are still to come."), messages.SUCCESS)
