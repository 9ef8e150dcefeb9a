"""Checks in the admin: who is ready, a button that checks an agent, and the latest report.

The agents' own admin knows nothing of checks, as ``agents_registry`` stands below ``matches``; here it is
extended and takes the other's place.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents_registry.admin import AgentAdmin
from agents_registry.models import Agent
from matches import checks
from matches.readiness import Readiness, readiness

admin.site.unregister(Agent)


def _after(name: str, names: tuple[Any, ...], new: str) -> tuple[Any, ...]:
    """Names with a new one after a certain one."""
    at = names.index(name) + 1
    return (*names[:at], new, *names[at:])


@admin.register(Agent)
class CheckedAgentAdmin(AgentAdmin):
    """Agents, and whether they have passed the check."""

    list_display = _after("state", AgentAdmin.list_display, "ready")
    fields = _after("answer", AgentAdmin.fields, "ready_why")
    actions = ("check_whole", *AgentAdmin.actions)
    change_form_template = "admin/matches/agent_change_form.html"

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        # One query for the whole page; the same objects are shown afterwards.
        changes = super().get_changelist_instance(request)
        known = readiness(list(changes.result_list))
        for agent in changes.result_list:
            agent.readiness = known[agent.pk]
        return changes

    @admin.display(description=_("ready"))
    def ready(self, agent: Agent) -> str:
        known: Readiness = getattr(agent, "readiness", None) or readiness([agent])[agent.pk]
        if known.check_id is None:
            return known.label
        return format_html('<a href="{}">{}</a>', reverse("check_report", args=[known.check_id]), known.label)

    @admin.display(description=_("ready"))
    def ready_why(self, agent: Agent) -> str:
        agent.readiness = readiness([agent])[agent.pk]
        if not agent.readiness.why:
            return self.ready(agent)
        return format_html("{}: {}", self.ready(agent), agent.readiness.why)

    @admin.action(description=_("Check now: every message, with a report"))
    def check_whole(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        count = len(checks.ask_for_agents(agent_ids=queryset.values_list("pk", flat=True)))
        sentence = ngettext(
            "%(count)d agent is being checked: reload this page in a few seconds.",
            "%(count)d agents are being checked: reload this page in a few seconds.",
            count,
        )
        self.message_user(request, sentence % {"count": count}, messages.SUCCESS)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.check_one)
        return [path("<int:number>/check/", view, name="matches_agent_check"), *super().get_urls()]

    def check_one(self, request: HttpRequest, number: int) -> HttpResponse:
        """The button on an agent's page: leads to the report, which fills while one looks."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        agent = get_object_or_404(Agent, pk=number)
        if not self.has_change_permission(request, agent):
            raise PermissionDenied
        asked = checks.ask_for_agents(agent_ids=[agent.pk])
        if not asked:
            sentence = gettext("The site's own referees take matches from this site only: there is nothing to check.")
            self.message_user(request, sentence, messages.WARNING)
            return HttpResponseRedirect(reverse("admin:agents_registry_agent_change", args=[agent.pk]))
        return HttpResponseRedirect(reverse("check_report", args=[asked[0].pk]))
