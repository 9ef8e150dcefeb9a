"""The admin of agents, with their checks: the result of the last check, and a button that starts one.

``agents_registry.admin`` cannot know checks and leagues, as ``agents_registry`` may not import ``matches``; this module
extends it.
"""

from __future__ import annotations

import re
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agents_registry.admin import AgentAdmin
from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind
from matches.desk import acting
from matches.desk.access import OwnRows, do_and_say
from matches.desk.acting import AGENT, DeskAction
from matches.desk.actions import ACTIONS, listed
from matches.desk.merging import LocksRow, MergedForm
from matches.desk.shown import Values
from matches.desk.ticked import ListActions
from matches.view import roles
from matches.view.readiness import Readiness, readiness
from matches.view.roles import Permission


def _after(name: str, names: tuple[Any, ...], new: str) -> tuple[Any, ...]:
    """A tuple of names with a new one inserted after ``name``."""
    at = names.index(name) + 1
    return (*names[:at], new, *names[at:])


def _ready(known: Readiness, why: str = "") -> str:
    url = reverse("check_report", args=[known.check_id]) if known.check_id is not None else ""
    return render_to_string("admin/matches/ready.html", {"url": url, "word": known.label, "why": why})


@admin.register(Agent)
class CheckedAgentAdmin(LocksRow, ListActions, OwnRows, AgentAdmin):
    """The agents of the leagues in which a person has a role.

    A referee that belongs to no league judges in all of them: everybody with a role sees it and may have it asked and
    checked, but only superusers change it. The same holds for players in the lobby, for whoever may open a league.
    """

    form = MergedForm
    list_display = _after("condition", AgentAdmin.list_display, "ready")
    fields = _after("answer", AgentAdmin.fields, "ready_why")
    subject = AGENT
    change_form_template = "admin/matches/agent_change_form.html"

    # Who may see and change what -------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        return self._within(request, super().get_queryset(request), Permission.WATCH)

    def _within(self, request: HttpRequest, agents: QuerySet[Agent], permission: Permission) -> QuerySet[Agent]:
        """The agents of a queryset for which a person has a permission."""
        agents = agents.filter(league__remove_at=None)
        if request.user.is_superuser:
            return agents
        theirs = Q(league__in=roles.leagues(request.user, permission).values("pk"))
        if permission in (Permission.WATCH, Permission.RERUN):
            if roles.opens_leagues(request.user):
                theirs |= Q(league__isnull=True)
            elif roles.leagues(request.user, permission).exists():
                theirs |= Q(league__isnull=True, kind=Kind.REFEREE)
        return agents.filter(theirs)

    def may(self, request: HttpRequest, row: Agent | None, permission: Permission) -> bool:
        """Whether a person has a permission for an agent, or, without an agent, in at least one league."""
        if row is None:
            return super().may(request, None, permission)
        return self._within(request, Agent.objects.filter(pk=row.pk), permission).exists()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.may(request, None, Permission.EDIT)

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Agent], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """Carry out an action of the list, if the person has the permission for every ticked agent."""
        # A request may have several "action" fields, and Django uses one of them: the person needs permission for all.
        offered = listed(self.subject)
        needed = {
            offered[name].needs if name in offered else Permission.EDIT for name in request.POST.getlist("action")
        }
        theirs = self._within(request, queryset, Permission.RERUN if needed <= {Permission.RERUN} else Permission.EDIT)
        ticked = [int(pk) for pk in request.POST.getlist("_selected_action") if re.fullmatch("[0-9]{1,18}", pk)]
        if queryset.filter(pk__in=ticked).count() != theirs.filter(pk__in=ticked).count():
            raise PermissionDenied
        return super().response_action(request, theirs, *args, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        """Hide the owner from people who may not see the roster."""
        hidden = obj is not None and not self.has_change_permission(request, obj)
        return [name for name in super().get_fields(request, obj) if not (hidden and name == "owner")]

    def get_search_fields(self, request: HttpRequest) -> Any:
        both = (Permission.WATCH, Permission.EDIT)
        watched, editable = (roles.leagues(request.user, permission).count() for permission in both)
        return [name for name in super().get_search_fields(request) if watched == editable or "owner" not in name]

    # What is shown ---------------------------------------------------------------------------

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        # The checks of all rows are read with one query and kept on the objects that are shown.
        change_list = super().get_changelist_instance(request)
        known = readiness(list(change_list.result_list))
        for agent in change_list.result_list:
            agent.readiness = known[agent.pk]
        return change_list

    @admin.display(description=_("ready"))
    def ready(self, agent: Agent) -> str:
        known: Readiness = getattr(agent, "readiness", None) or readiness([agent])[agent.pk]
        return _ready(known)

    @admin.display(description=_("ready"))
    def ready_why(self, agent: Agent) -> str:
        known = readiness([agent])[agent.pk]
        return _ready(known, known.why)

    # What is done ----------------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        acting.carry_out(ACTIONS[AGENT, "edit"], by=request.user, agent=obj, changed=form.changed_data)

    def row_name(self, row: Agent) -> str:
        """An agent's id and name, with its league: ids are alike in all leagues."""
        name = f"{row.code} {isolated(row.display_name)}"
        return f"{name} ({isolated(row.league.display_name)})" if row.league is not None else name

    def do_to_rows(self, action: DeskAction, request: HttpRequest, queryset: QuerySet[Agent], shown: Values) -> None:
        """Carry out an action on the ticked agents: on all of them, or on none."""
        numbers = list(queryset.values_list("pk", flat=True))

        def confirm(done: Any) -> str:
            sentence = action.listed.done if action.listed is not None else ""
            if callable(sentence):
                sentence = sentence(len(numbers if done is None else done))
            return str(sentence) or action.sentence(done, {})

        do_and_say(self, request, action, confirm, shown=shown, agent_ids=numbers)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.check_one)
        return [path("<int:number>/check/", view, name="matches_agent_check"), *super().get_urls()]

    def check_one(self, request: HttpRequest, number: int) -> HttpResponse:
        """The button on an agent's page: start a check and show its report, which is updated live."""
        agent = get_object_or_404(Agent, pk=number)
        if not self.may(request, agent, Permission.RERUN):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        queued = acting.carry_out(ACTIONS[AGENT, "check"], by=request.user, agent_ids=[agent.pk])
        if not queued:
            sentence = gettext("The site's own referees take matches from this site only: there is nothing to check.")
            self.message_user(request, sentence, messages.WARNING)
            return HttpResponseRedirect(reverse("admin:agents_registry_agent_change", args=[agent.pk]))
        return HttpResponseRedirect(reverse("check_report", args=[queued[0].pk]))
