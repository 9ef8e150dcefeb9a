"""READS: what stands in the way of a league, each with its cause and with what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.utils import quote
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.models import Agent, Kind
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import AgentState, LeagueState, MatchState, RoundState
from matches.desk import names, shared
from matches.desk.acting import AGENT, LEAGUE, PLAN, Button, button
from matches.desk.actions import ACTIONS
from matches.desk.facts import Facts
from matches.league.corrections import plans
from matches.models import Event, Match
from matches.view.roles import Action

REMEDIES = 3
"""Links of one kind beside a problem; the form that they lead to has the other matches, too."""

Problem = dict[str, Any]
"""``text``: what is wrong. ``causes``: the same in detail. ``remedies``: buttons and links. Some have an ``id`` that
other parts of the page lead to."""


def problems(facts: Facts) -> list[Problem]:
    """Everything that stands in the way now, the worst first."""
    found = [
        *_failed_start(facts),
        *_no_referee(facts),
        *_held(facts),
        *_not_excused(facts),
        *_too_few(facts),
        *_silent(facts),
        *_not_ready(facts),
        *_lost_referees(facts),
        *_shut_down(facts),
        *names.problems(facts),
        *shared.problems(facts),
    ]
    return [] if facts.over else found


def _problem(text: str, *remedies: Button | None, causes: Sequence[Any] = ()) -> Problem:
    return {"text": text, "causes": list(causes), "remedies": [one for one in remedies if one is not None]}


def _link(facts: Facts, needs: Action, label: str, name: str, *args: object) -> Button | None:
    return Button(label, reverse(name, args=args)) if needs in facts.allowed else None


def _ask_again(facts: Facts) -> Button | None:
    return button(facts, ACTIONS[LEAGUE, "check"])


def _failed_start(facts: Facts) -> list[Problem]:
    about = (EventKind.START_FAILED, EventKind.START_PLANNED, EventKind.START_CALLED_OFF, EventKind.ROUND_STARTED)
    last = Event.objects.filter(league=facts.league, kind__in=about).order_by("-seq").first()
    if last is None or last.kind != EventKind.START_FAILED:
        return []
    at = datetime.fromisoformat(last.data["at"])
    text = _("The start that was planned for %(time)s UTC was refused: %(why)s") % {
        "time": f"{at:%Y-%m-%d %H:%M}",
        "why": last.data["why"],
    }
    return [
        _problem(
            text,
            button(facts, ACTIONS[LEAGUE, "start"], label=_("Start now"), warnings=()),
            button(facts, ACTIONS[PLAN, "forget"]),
        )
    ]


def _no_referee(facts: Facts) -> list[Problem]:
    if facts.able:
        return []
    text = _("No referee may judge %(game)s now: start one (manage.py referee), or tick “may judge” at one below.")
    waiting = [one for one in facts.around if one.kind == Kind.REFEREE and not one.trusted]
    own = [one for one in waiting if one.league_id == facts.league.pk]
    trusting = [_to_agent(facts, "let_judge", one) for one in own]
    return [_problem(text % {"game": facts.league.game_type}, _ask_again(facts), *trusting)]


def _to_agent(facts: Facts, name: str, agent: Agent) -> Button | None:
    return button(facts, ACTIONS[AGENT, name], agent.pk, named={"id": agent.code})


def _held(facts: Facts) -> list[Problem]:
    held = [match for match in facts.matches if match.state == MatchState.HELD]
    if not held:
        return []
    text = ngettext(
        "%(count)d match is held after three lost referees. It is tried again by itself, or decide now.",
        "%(count)d matches are held after three lost referees. They are tried again by themselves, or decide now.",
        len(held),
    ) % {"count": len(held)}
    why = _why_lost(facts, [match.match_id for match in held])
    to_matches = Button(_("Decide"), "#desk-held")
    return [_problem(text, to_matches, causes=[f"{match.match_id}: {why.get(match.match_id, '')}" for match in held])]


def _not_excused(facts: Facts) -> list[Problem]:
    """Matches of the last two rounds in which this side failed once more than is excused (ruling, section 12)."""
    begun = [one.pk for one in facts.rounds if one.state != RoundState.PENDING][-2:]
    rows = Match.objects.filter(league=facts.league, round__in=begun).exclude(excused=[]).order_by("pk")
    evidence: dict[str, list[str]] = {}
    finished = []
    for match_id, state, excused in rows.values_list("match_id", "state", "excused"):
        told = [
            f"{match_id}: {one.get('player_id', '')}, {one.get('message_type', '')}: {one.get('evidence', '')}"
            for one in excused
            if one.get("counted") == "yes"
        ]
        if told:
            evidence[match_id] = told
            finished += [match_id] if state == MatchState.FINISHED else []
    if not evidence:
        return []
    text = ngettext(
        "In %(count)d match the referee's own machine failed once more than is excused, and that try counted. "
        "Look at the evidence: you may have it played again.",
        "In %(count)d matches the referee's own machine failed once more than is excused, and those tries counted. "
        "Look at the evidence: you may have them played again.",
        len(evidence),
    ) % {"count": len(evidence)}
    again = [_play_again(facts, match_id) for match_id in finished[:REMEDIES]]
    return [_problem(text, *again, causes=[one for told in evidence.values() for one in told])]


def _play_again(facts: Facts, match_id: str) -> Button | None:
    """The form that shows what playing a match again would change, before anything does."""
    label = _("Play %(match)s again…") % {"match": match_id}
    found = _link(facts, Action.RERUN, label, "admin:matches_league_correct", quote(facts.league.pk))
    asked = urlencode({"kind": plans.REPLAY, "match": match_id})
    return found and replace(found, url=f"{found.url}?{asked}")


def _why_lost(facts: Facts, match_ids: list[str]) -> dict[str, str]:
    """Why the last referee of each match lost it."""
    wanted = Q(data__match_id__in=match_ids, kind=EventKind.MATCH_HELD)
    events = Event.objects.filter(wanted, league=facts.league).order_by("seq")
    return {event.data["match_id"]: event.data["why"] for event in events}


def _too_few(facts: Facts) -> list[Problem]:
    least, here = facts.league.rules.min_players, len(facts.players)
    if facts.league.state != LeagueState.REGISTRATION or here >= least or facts.league.demo:
        return []
    text = _("%(count)d of at least %(least)d players have registered: give your students the address of this league.")
    add = _link(facts, Action.EDIT, _("Add an agent by hand"), "admin:matches_league_add_player")
    if add is not None:
        add = replace(add, url=f"{add.url}?league={facts.league.pk}")
    given = _link(facts, Action.WATCH, _("Join page for students"), "join", facts.league.pk)
    return [_problem(text % {"count": here, "least": least}, given, add)]


def _silent(facts: Facts) -> list[Problem]:
    if not facts.silent:
        return []
    text = _("These players did not answer the last time: %(players)s. They would lose by starting now.")
    if facts.active is not None:
        text = _("These players did not answer the last time: %(players)s. They lose what they do not answer in time.")
    listed = ", ".join(agent.code for agent in facts.silent)
    return [
        _problem(
            text % {"players": listed},
            _ask_again(facts),
            causes=[f"{agent.code} {agent.display_name}: {agent.problem}" for agent in facts.silent],
        )
    ]


def _not_ready(facts: Facts) -> list[Problem]:
    if not facts.waiting_for_check:
        return []
    text = _("These players have not passed the check and would be left out by closing now: %(players)s.")
    again = button(facts, ACTIONS[LEAGUE, "check_all"])
    causes = [f"{one.code}: {facts.known[one.pk].why}" for one in facts.players if facts.known[one.pk].why]
    return [_problem(text % {"players": ", ".join(facts.waiting_for_check)}, again, causes=causes)]


def _lost_referees(facts: Facts) -> list[Problem]:
    """Referees that may judge and are not heard of: where others are left, the league goes on without them."""
    lost = [one for one in facts.around if one.kind == Kind.REFEREE and one.trusted and _is_lost(one)]
    if not lost or not facts.able:
        return []
    text = _("These referees are given no match until they are heard of again: %(referees)s.")
    return [
        _problem(
            text % {"referees": ", ".join(one.code for one in lost)},
            _ask_again(facts),
            causes=[f"{one.code} {one.display_name}: {one.problem}" for one in lost if one.problem],
        )
    ]


def _is_lost(agent: Agent) -> bool:
    return agent.state == AgentState.SUSPENDED


def _shut_down(facts: Facts) -> list[Problem]:
    gone = {*facts.league.left_out, *facts.league.out}
    found = [one for one in facts.players if one.state == AgentState.SHUTDOWN and one.code not in gone]
    if not found:
        return []
    text = _("These players are shut down after too many silences and are not called any more: %(players)s.")
    back = [_to_agent(facts, "bring_back", one) for one in found]
    return [_problem(text % {"players": ", ".join(one.code for one in found)}, *back)]
