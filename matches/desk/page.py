"""The desk of a league in the admin: the page, its live part, and everything that its buttons do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from agents_registry import registration
from agents_registry.models import Agent, Kind
from matches.checks import asking
from matches.desk import overview
from matches.desk.access import LeagueAccess
from matches.desk.controls import MATCH_ACTIONS, VERB_ACTIONS
from matches.desk.forms import FreezeForm, PlanForm, first_error
from matches.desk.problems import AGENT_ACTIONS
from matches.desk.shared import GATEWAY_ACTIONS
from matches.league import curtain, gateways, lifecycle, making, opening, planned, play, results
from matches.models import League
from matches.push.nudge import nudge
from matches.view import roles


def _check_agents(*, league_id: str) -> None:
    league = lifecycle.get_league(league_id)
    _ask(overview.agents(league))


def _ask(agents: Iterable[Agent]) -> None:
    """Have agents asked whether they answer, at once: the conductor is woken."""
    registration.want_check(agent_ids=[agent.pk for agent in agents])
    nudge()


def _check_players(*, league_id: str) -> None:
    league = lifecycle.get_league(league_id)
    asking.ask_for_agents(agent_ids=league.agents.filter(kind=Kind.PLAYER).values_list("pk", flat=True))


VERBS: dict[str, tuple[Callable[..., Any], Any]] = {
    "close": (opening.close_registration, gettext_lazy("Registration is closed, the schedule is made.")),
    "start": (lifecycle.start_league, gettext_lazy("The round is started.")),
    "run_all": (lifecycle.run_all, gettext_lazy("All rounds are played now, one after the other.")),
    "pause": (lifecycle.pause, gettext_lazy("Paused: matches in play finish, no other starts.")),
    "resume": (lifecycle.resume, gettext_lazy("The league goes on.")),
    "stop": (lifecycle.stop, gettext_lazy("The league is stopped for good.")),
    "check_all": (_check_players, gettext_lazy("The players are being checked: the results appear on this page.")),
    "check": (_check_agents, gettext_lazy("The agents are being asked: their answers appear on this page.")),
}
"""What the buttons do, and the sentence that confirms it; who may is in ``desk.controls.VERB_ACTIONS``."""


def _said(league: League, done: Any) -> str:
    """That a verb is done; or that its league's schedule is still being made, which takes seconds if it is long."""
    league.refresh_from_db(fields=["state"])
    return _("Registration is closed: the schedule is being made.") if making.is_made(league) else str(done)


TO_AGENTS: dict[str, tuple[Callable[[Agent], Any], Any]] = {
    "ask": (
        lambda agent: _ask([agent]),
        gettext_lazy("%(agent)s is being asked: its answer appears on this page."),
    ),
    "bring_back": (
        lambda agent: registration.bring_back(agent_ids=[agent.pk]),
        gettext_lazy("%(agent)s plays the rounds that are still to come."),
    ),
    "let_judge": (
        lambda agent: registration.trust(agent_ids=[agent.pk], trusted=True),
        gettext_lazy("%(agent)s may judge from now on."),
    ),
}


class DeskPages(LeagueAccess):
    """Mixed into the admin of leagues: the change page is the desk, the settings have a page of their own."""

    changeform_view: Callable[..., HttpResponse]

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("<path:object_id>/now/", wrap(never_cache(self.now_view)), name="matches_league_now"),
            path("<path:object_id>/settings/", wrap(self.settings_view), name="matches_league_settings"),
            path("<path:object_id>/do/<slug:verb>/", wrap(self.do_verb), name="matches_league_do"),
            path(
                "<path:object_id>/match/<slug:match_id>/<slug:verb>/",
                wrap(self.do_to_match),
                name="matches_league_match",
            ),
            path(
                "<path:object_id>/agent/<int:number>/<slug:verb>/", wrap(self.do_to_agent), name="matches_league_agent"
            ),
            path("<path:object_id>/gateway/<slug:verb>/", wrap(self.do_gateway), name="matches_league_gateway"),
            path("<path:object_id>/plan/<slug:verb>/", wrap(self.do_plan), name="matches_league_plan"),
            path("<path:object_id>/freeze/<slug:verb>/", wrap(self.do_freeze), name="matches_league_freeze"),
            *super().get_urls(),  # type: ignore[misc]
        ]

    # Pages ---------------------------------------------------------------------------------------

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """The desk; a POST is the settings, as the admin sends them."""
        if request.method == "POST":
            return self.settings_view(request, object_id)
        league = self.league_for(request, object_id, roles.Action.WATCH)
        return self.desk_page(request, "desk.html", league.display_name, **self._shown(request, league))

    def now_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What of the desk changes by itself; its script asks for it again and again."""
        league = self.league_for(request, object_id, roles.Action.WATCH)
        return render(request, "admin/matches/league/desk_now.html", self._shown(request, league))

    def _shown(self, request: HttpRequest, league: League) -> dict[str, Any]:
        everywhere = request.user.is_superuser
        found = overview.context(league, roles.allowed(request.user, league.pk), everywhere=everywhere)
        return {**found, "league": league, "plan_form": PlanForm(auto_id="plan-%s")}

    def settings_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Name and settings, as the admin shows a row."""
        league = self.league_for(request, object_id, roles.Action.EDIT)
        shown = {"league": league, "title": _("Name and settings"), "show_save_and_add_another": False}
        return self.changeform_view(request, quote(league.pk), "", shown)

    # Buttons -------------------------------------------------------------------------------------

    def do_verb(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """One button of the desk."""
        league = self._league_for_verb(request, object_id, VERB_ACTIONS, verb)
        action, done = VERBS[verb]
        return self._do(request, league, lambda: action(league_id=league.pk), lambda: _said(league, done))

    def do_to_match(self, request: HttpRequest, object_id: str, match_id: str, verb: str) -> HttpResponse:
        """Release or cancel an open match."""
        league = self._league_for_verb(request, object_id, MATCH_ACTIONS, verb)
        where = {"league_id": league.pk, "match_id": match_id}
        if verb == "release":
            done = _("%(match)s is played again.") % {"match": match_id}
            return self._do(request, league, lambda: play.release(**where), done)
        why = _("cancelled by the instructor")
        done = _("%(match)s is cancelled and counts nowhere.") % {"match": match_id}
        return self._do(request, league, lambda: results.cancel(**where, why=why), done)

    def do_to_agent(self, request: HttpRequest, object_id: str, number: int, verb: str) -> HttpResponse:
        """Ask an agent of this league, bring it back, let it judge."""
        league = self._league_for_verb(request, object_id, AGENT_ACTIONS, verb)
        agent = next((one for one in overview.agents(league) if one.pk == number), None)
        if agent is None:
            raise Http404
        if agent.league_id is None and AGENT_ACTIONS[verb] != roles.Action.RERUN and not request.user.is_superuser:
            # A referee of the site judges in every league.
            raise PermissionDenied
        action, done = TO_AGENTS[verb]
        return self._do(request, league, lambda: action(agent), str(done) % {"agent": agent.code})

    def do_gateway(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Mark hosts as gateways, or take their marks back."""
        league = self._league_for_verb(request, object_id, GATEWAY_ACTIONS, verb)
        hosts = request.POST.get("host", "").split(",")

        @transaction.atomic
        def action() -> None:
            for host in hosts:
                gateways.mark(host=host, gateway=verb == "mark", league_id=league.pk, by=request.user)

        done = _("%(host)s is marked as a gateway: under each path there is a program of its own.")
        if verb != "mark":
            done = _("%(host)s is no gateway any more: at each port there is one program, whatever the path.")
        return self._do(request, league, action, done % {"host": ", ".join(hosts)})

    def do_plan(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Plan a start, call it off, or put the report of one that failed aside."""
        offered = dict.fromkeys(("start", "call-off", "forget"), roles.Action.RUN)
        league = self._league_for_verb(request, object_id, offered, verb)
        if verb == "forget":
            done = _("Put aside.")
            return self._do(request, league, lambda: planned.forget_failure(league_id=league.pk), done)
        if verb == "call-off":
            done = _("The planned start is called off.")
            return self._do(request, league, lambda: planned.call_off(league_id=league.pk), done)
        return self._plan_start(request, league)

    def _plan_start(self, request: HttpRequest, league: League) -> HttpResponse:
        form = PlanForm(request.POST)
        if request.method == "POST" and not form.is_valid():
            return self._refused(request, league, first_error(form))

        def action() -> None:
            given = form.cleaned_data
            planned.plan_start(league_id=league.pk, at=given["at"], all_rounds=given["all_rounds"], now=timezone.now())

        done = _("The start is planned. A pause, or a start by hand before it, calls it off.")
        return self._do(request, league, action, done)

    def do_freeze(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Choose the first hidden round, call the freeze off, unveil a place, show everything."""
        offered = dict.fromkeys(("plan", "call-off", "unveil", "lift"), roles.Action.RUN)
        league = self._league_for_verb(request, object_id, offered, verb)
        if verb == "plan":
            return self._plan_freeze(request, league)
        action, done = {
            "call-off": (
                lambda: curtain.plan(league_id=league.pk, from_round=None),
                _("The board will not be frozen."),
            ),
            "unveil": (lambda: curtain.unveil(league_id=league.pk), _("One more place is shown.")),
            "lift": (lambda: curtain.lift(league_id=league.pk), _("Everybody sees everything.")),
        }[verb]
        return self._do(request, league, action, done)

    def _plan_freeze(self, request: HttpRequest, league: League) -> HttpResponse:
        form = FreezeForm(request.POST)
        if request.method == "POST" and not form.is_valid():
            return self._refused(request, league, first_error(form))
        done = _("The public sees no results of that round and of the ones after it.")
        return self._do(
            request,
            league,
            lambda: curtain.plan(league_id=league.pk, from_round=form.cleaned_data["from_round"]),
            done,
        )

    def _league_for_verb(
        self, request: HttpRequest, object_id: str, offered: dict[str, roles.Action], verb: str
    ) -> League:
        """The league, for someone who may do this; there is no page for a verb that is not offered."""
        league = self.league_for(request, object_id, offered.get(verb, roles.Action.WATCH))
        if verb not in offered:
            raise Http404
        return league

    def _do(
        self, request: HttpRequest, league: League, action: Callable[[], Any], done: str | Callable[[], str]
    ) -> HttpResponse:
        return self.desk_do(request, action, done, self._desk_of(league))

    def _refused(self, request: HttpRequest, league: League, sentence: str) -> HttpResponse:
        self.message_user(request, sentence, messages.ERROR)
        return HttpResponseRedirect(self._desk_of(league))

    def _desk_of(self, league: League) -> str:
        return reverse("admin:matches_league_change", args=[quote(league.pk)])
